#include <cmath>
#include <nlohmann/json.hpp>

#include "report/html_parts.h"
#include "report/words.h"

namespace poslens {
namespace {

constexpr const char* kDash = "–";

}  // namespace

std::string escape_html(std::string_view text) {
  // The JSON writer knows UTF-8; what it repaired is read back.
  const std::string quoted = nlohmann::json(std::string(text))
                                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string valid = nlohmann::json::parse(quoted).get<std::string>();
  std::string escaped;
  for (const char c : valid) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string format_estimate(const Estimate& estimate) {
  return std::isfinite(estimate.value) ? with_error(estimate) : kDash;
}

std::string format_share(const Estimate& share) {
  return std::isfinite(share.value) ? percent(share) : kDash;
}

}  // namespace poslens
