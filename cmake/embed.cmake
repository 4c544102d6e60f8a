# Writes FOLDER/SYMBOL.{h,cc}: the bytes of INPUT as the constant poslens::embedded::SYMBOL.
# Raw strings are no use here: compilers limit their length, and text may hold the delimiter.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${FOLDER}/${SYMBOL}.h "#pragma once
#include <string_view>
namespace poslens::embedded {
extern const std::string_view ${SYMBOL};
}
")
file(WRITE ${FOLDER}/${SYMBOL}.cc "#include \"${SYMBOL}.h\"
namespace poslens::embedded {
namespace {
const unsigned char bytes[] = {${bytes}0};
}
const std::string_view ${SYMBOL}{reinterpret_cast<const char*>(bytes), ${size}};
}
")
