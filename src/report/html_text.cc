#include <fmt/format.h>

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

std::string prose(std::string_view text) {
  const std::string escaped = escape_html(text);
  constexpr const char* kSpace = "\u00a0";
  const auto is_digit = [&](std::size_t at) {
    return at < escaped.size() && escaped[at] >= '0' && escaped[at] <= '9';
  };
  const std::string_view whole = escaped;
  std::string html;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const std::string_view rest = whole.substr(at);
    const bool starts = at == 0 || escaped[at - 1] == ' ' || escaped[at - 1] == '(';
    if (rest.starts_with(" ± ")) {
      html += fmt::format("{0}±{0}", kSpace);
      at += std::string_view(" ± ").size() - 1;
    } else if (rest.starts_with(" %") && at > 0 && is_digit(at - 1)) {
      html += kSpace;
    } else if (rest.starts_with(" - ")) {
      html += fmt::format("{0}−{0}", kSpace);
      at += 2;
    } else if (escaped[at] == '-' && starts && is_digit(at + 1)) {
      html += "−";
    } else {
      html += escaped[at];
    }
  }
  return html;
}

std::string format_estimate(const Estimate& estimate) {
  return std::isfinite(estimate.value) ? with_error(estimate) : kDash;
}

std::string format_share(const Estimate& share) {
  return std::isfinite(share.value) ? percent(share) : kDash;
}

}  // namespace poslens
