# One warning set for every target; WERROR is on in CI. gcc's C -Wconversion switches -Wsign-conversion
# on, hence the explicit -Wno-.
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wdouble-promotion -Wformat=2
  -Wundef -Wvla -Wcast-qual -Wcast-align -Wpointer-arith -Wwrite-strings -Wstrict-prototypes
  -Wmissing-prototypes -Wold-style-definition -Wredundant-decls -Wnested-externs
  -Wimplicit-fallthrough -Wnull-dereference)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(
    -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init -Wformat-signedness
    -Wformat-truncation=2 -Wformat-overflow=2 -Walloc-zero -Wrestrict)
else()
  add_compile_options(
    -Wmissing-variable-declarations -Wcomma -Wconditional-uninitialized -Wunreachable-code
    -Wextra-semi-stmt -Wshorten-64-to-32 -Wthread-safety -Wcast-function-type -Wunused-macros
    -Wno-gnu-zero-variadic-macro-arguments)
endif()
if(WERROR)
  add_compile_options(-Werror)
endif()
