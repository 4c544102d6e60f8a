#pragma once

#include <string>
#include <string_view>

namespace poslens {

// As it can stand in a message: quoted, without control characters, cut after 60 bytes.
std::string printable(std::string_view text);

}  // namespace poslens
