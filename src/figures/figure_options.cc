#include <fmt/format.h>

#include <algorithm>

#include "poslens/error.h"
#include "poslens/figure.h"

namespace poslens {
namespace {

void check(const char* option, double value, double low, double high, const char* unit = "") {
  if (value >= low && value <= high) return;
  throw UsageError(fmt::format("{} {:g}{}: expected {:g}{} to {:g}{}", option, value, unit, low,
                               unit, high, unit));
}

// Nothing that ends a font's name, in gnuplot or in an .svg.
bool is_in_font_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
         (c >= 'a' && c <= 'z') || c == ' ' || c == '-' || c == '_' || c == '.';
}

}  // namespace

void FigureOptions::validate() const {
  check("--columns", columns, 1, 64);
  check("--panel", panel, 20, 2000, "pt");
  if (width) check("--width", *width, 40, 8000, "pt");
  check("--font-size", font_size, 3, 48, "pt");
  check("--dpi", dpi, 36, 1200);
  check("--contours", contours, 0, 32);
  if (!std::all_of(font.begin(), font.end(), is_in_font_name)) {
    throw UsageError("--font " + font +
                     ": expected one font's name, of letters, digits, blanks, '-', '_' and '.'");
  }
  const auto [low, high] = quantiles;
  if (!(low >= 0 && low < high && high <= 1)) {
    throw UsageError(
        fmt::format("--quantiles {:g}:{:g}: expected A:B with 0 <= A < B <= 1", low, high));
  }
}

}  // namespace poslens
