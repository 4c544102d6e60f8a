#pragma once
// Numbers in running text.

#include <string>

#include "poslens/estimate.h"

namespace poslens {

// "23.4 ± 1.2 %": as many decimals as the standard error deserves; "23 %" when it is unknown;
// "unknown" for NaN.
std::string percent(const Estimate& share);

// "0.0123 ± 0.0004", in the same manner, for numbers of any size.
std::string with_error(const Estimate& estimate);

// A name that a file may have: of letters, digits, '.' and '-'; '_' stands for all else.
std::string plain_name(const std::string& text);

}  // namespace poslens
