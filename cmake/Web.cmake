# The pages of web/, bundled by esbuild into one C source, the table of src/api/web_bundle.h. Packages are installed
# where the lock file is newer than they are; nothing runs while web/ stays as it is.
if(WEB)
  find_program(NODE node)
  find_program(NPM npm)
  if(NOT NODE OR NOT NPM)
    message(FATAL_ERROR "node (18 or newer) or npm is not here: install nodejs and npm, or build without pages: -DWEB=OFF")
  endif()
  set(web_dir ${CMAKE_SOURCE_DIR}/web)
  set(web_packages ${web_dir}/node_modules/.package-lock.json)
  set(web_bundle ${CMAKE_BINARY_DIR}/embed/web_bundle.c)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web_dir}/src/*)
  add_custom_command(
    OUTPUT ${web_packages}
    COMMAND ${web_dir}/packages
    DEPENDS ${web_dir}/package-lock.json ${web_dir}/package.json VERBATIM)
  add_custom_command(
    OUTPUT ${web_bundle}
    COMMAND ${NODE} ${web_dir}/build.mjs ${web_bundle}
    DEPENDS ${web_sources} ${web_dir}/build.mjs ${web_dir}/bundle.mjs ${web_dir}/tsconfig.json ${web_packages} VERBATIM)
  add_custom_target(pages DEPENDS ${web_bundle})
endif()

# module_web(): the bundle becomes part of the module's library.
function(module_web name)
  set_source_files_properties(${web_bundle} PROPERTIES COMPILE_OPTIONS -w GENERATED TRUE)
  target_sources(${name} PRIVATE ${web_bundle})
  add_dependencies(${name} pages)
endfunction()
