# module_libraries(): reads src/LAYERS and creates the libraries.
# Every module is compiled with MODULE_NAME (log prefix) and MODULE_ID (allocation counters, base/mem.h).
set(MODULE_VENDOR_base m)
set(MODULE_VENDOR_yaml -lyaml) # not the target of that name
set(MODULE_VENDOR_io ssl crypto)
set(MODULE_VENDOR_coding z brotlidec zstd)
# What runs over every byte of every stream is worth its size: 6 % fewer instructions per event (bench/parse_cost).
set(MODULE_OPTIONS_wire $<$<CONFIG:Release>:-O3>)
set(MODULE_OPTIONS_dialect $<$<CONFIG:Release>:-O3>)
# The loops over columns of doubles are for the vectoriser.
set(MODULE_OPTIONS_promql $<$<CONFIG:Release>:-O3>)
set(MODULE_VENDOR_policy crypto)
set(MODULE_VENDOR_series pcre2-8)
set(MODULE_VENDOR_db sqlite3)
set(MODULE_VENDOR_tsdb zstd)
set(MODULE_VENDOR_store zstd)
set(MODULE_VENDOR_collect resolv)
set(MODULE_VENDOR_incident zstd)
set(MODULE_VENDOR_api crypto)
set(MODULE_VENDOR_web curl)
set(MODULE_VENDOR_alert jansson crypto)
set(MODULE_VENDOR_top jansson)
set(MODULE_VENDOR_cli jansson)
set(MODULE_VENDOR_export z protobuf-c)
set(MODULE_VENDOR_sim z)

# Optional libraries. What stands in for a module's files without one is named after it: kafka_none.c.
if(KAFKA)
  find_library(RDKAFKA rdkafka)
  if(NOT RDKAFKA)
    message(FATAL_ERROR "librdkafka is not here: install librdkafka-dev, or build without it: -DKAFKA=OFF")
  endif()
  list(APPEND MODULE_VENDOR_collect rdkafka)
  set(MODULE_WITHOUT_collect "/kafka_none\\.c$")
else()
  set(MODULE_WITHOUT_collect "/kafka(_ask|_check|_ends|_link)?\\.c$")
endif()

if(WEB)
  set(MODULE_WITHOUT_api "/web_bundle_none\\.c$")
endif()

if(NCURSES)
  find_library(NCURSESW ncursesw)
  if(NOT NCURSESW)
    message(FATAL_ERROR "ncurses is not here: install libncurses-dev, or build without it: -DNCURSES=OFF")
  endif()
  list(APPEND MODULE_VENDOR_top ncursesw tinfo)
  set(MODULE_WITHOUT_top "/screen_none\\.c$")
else()
  set(MODULE_WITHOUT_top "/screen\\.c$")
endif()

# module_protos(): compiles src/<module>/*.proto into the build directory and adds the result to the module's
# library. Generated code is not held to our warnings.
function(module_protos name)
  file(GLOB protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.proto)
  if(NOT protos)
    return()
  endif()
  find_program(PROTOC_C protoc-c REQUIRED)
  set(dir ${CMAKE_BINARY_DIR}/proto/${name})
  file(MAKE_DIRECTORY ${dir})
  foreach(proto IN LISTS protos)
    get_filename_component(stem ${proto} NAME_WE)
    add_custom_command(
      OUTPUT ${dir}/${stem}.pb-c.c ${dir}/${stem}.pb-c.h
      COMMAND ${PROTOC_C} --c_out=${dir} --proto_path=${CMAKE_SOURCE_DIR}/src/${name} ${proto}
      DEPENDS ${proto} VERBATIM)
    set_source_files_properties(${dir}/${stem}.pb-c.c PROPERTIES COMPILE_OPTIONS -w)
    target_sources(${name} PRIVATE ${dir}/${stem}.pb-c.c ${dir}/${stem}.pb-c.h)
  endforeach()
  target_include_directories(${name} SYSTEM PUBLIC ${dir})
endfunction()

# embed(): a file as an array of the module's library.
function(embed name file symbol)
  set(out ${CMAKE_BINARY_DIR}/embed/${symbol}.c)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DIN=${file} -DOUT=${out} -DNAME=${symbol} -P ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake VERBATIM)
  set_source_files_properties(${out} PROPERTIES COMPILE_OPTIONS -w)
  target_sources(${name} PRIVATE ${out})
endfunction()

# module_embeds(): src/<module>/*.html, *.css and *.js as arrays of the module's library: api_index_html[] of api/index.html.
function(module_embeds name)
  file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.html ${CMAKE_SOURCE_DIR}/src/${name}/*.css
    ${CMAKE_SOURCE_DIR}/src/${name}/*.js)
  foreach(page IN LISTS pages)
    get_filename_component(file ${page} NAME)
    string(REPLACE "." "_" symbol ${file})
    embed(${name} ${page} ${name}_${symbol})
  endforeach()
endfunction()

# module_rules(): deploy/rules/*.yml, and the table of them, builtin_rules[] (daemon/builtin_rules.h).
function(module_rules name)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/deploy/rules/*.yml)
  set(declared "")
  set(rows "")
  foreach(file IN LISTS files)
    get_filename_component(stem ${file} NAME_WE)
    embed(${name} ${file} builtin_rules_${stem})
    string(APPEND declared "extern const char builtin_rules_${stem}[];\nextern const size_t builtin_rules_${stem}_size;\n")
    string(APPEND rows "    {\"${stem}.yml\", builtin_rules_${stem}, &builtin_rules_${stem}_size},\n")
  endforeach()
  set(out ${CMAKE_BINARY_DIR}/embed/builtin_rules.c)
  file(CONFIGURE OUTPUT ${out} CONTENT [=[
#include "daemon/builtin_rules.h"
@declared@
const struct builtin_rules builtin_rules[] = {
@rows@};
const size_t builtin_rules_n = sizeof(builtin_rules) / sizeof(builtin_rules[0]);
]=] @ONLY)
  target_sources(${name} PRIVATE ${out})
endfunction()

function(module_libraries)
  file(STRINGS ${CMAKE_SOURCE_DIR}/src/LAYERS lines)
  set(id 0)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "#.*" "" line "${line}")
    string(STRIP "${line}" line)
    if(line STREQUAL "")
      continue()
    endif()
    string(REGEX MATCH "^([a-z]+):(.*)$" _ "${line}")
    set(name ${CMAKE_MATCH_1})
    string(STRIP "${CMAKE_MATCH_2}" deps)
    separate_arguments(deps)
    math(EXPR id "${id} + 1")
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
    list(FILTER sources EXCLUDE REGEX "/main\\.c$")
    if(MODULE_WITHOUT_${name})
      list(FILTER sources EXCLUDE REGEX ${MODULE_WITHOUT_${name}})
    endif()
    if(sources)
      add_library(${name} STATIC ${sources})
      set(scope PUBLIC)
      target_compile_definitions(${name} PRIVATE MODULE_NAME="${name}" MODULE_ID=${id})
      target_compile_options(${name} PRIVATE ${MODULE_OPTIONS_${name}})
      module_protos(${name})
      module_embeds(${name})
      if(name STREQUAL "daemon")
        module_rules(${name})
      endif()
      if(WEB AND name STREQUAL "api")
        module_web(${name})
      endif()
    else()
      add_library(${name} INTERFACE)
      set(scope INTERFACE)
    endif()
    target_include_directories(${name} ${scope} ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} ${scope} ${deps} ${MODULE_VENDOR_${name}})
    list(APPEND modules ${name})
  endforeach()
  set(MODULES ${modules} PARENT_SCOPE)
endfunction()
