# cmake -DIN=FILE -DOUT=FILE.c -DNAME=symbol -P Embed.cmake: the bytes of a file as a C array, NAME[] and NAME_size.
file(READ ${IN} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUT} "#include <stddef.h>\nconst char ${NAME}[] = {${bytes}};\nconst size_t ${NAME}_size = ${size};\n")
