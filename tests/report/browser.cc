#include "report/browser.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "support/temporary_folder.h"

namespace poslens {
namespace {

constexpr const char* kBrowser = "chromium";

std::string content(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    group = group << 6U | static_cast<unsigned>(digits.find(c));
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> static_cast<unsigned>(bits) & 255U);
    }
  }
  return bytes;
}

// The page that also listens to its own errors, and that does the steps of the visit whose number
// its address ends in.
std::string with_steps(const std::string& page, const std::vector<Visit>& visits) {
  const std::string listen =
      "<script>const problems = [];\n"
      "addEventListener('error', event => problems.push(event.message));\n"
      "addEventListener('unhandledrejection', event => problems.push(String(event.reason)));\n"
      "addEventListener('securitypolicyviolation', event => problems.push(event.blockedURI));\n"
      "</script>\n";
  const std::size_t head = page.find("<title>");
  const std::size_t end = page.rfind("</body>");
  if (head == std::string::npos || end == std::string::npos) {
    throw std::runtime_error("the page has no <title> or no </body>");
  }
  Json steps = Json::array();
  for (const Visit& one : visits) steps.push_back(one.steps);
  return fmt::format("{}{}{}<script>const STEPS = {}[location.search.slice(1)];\n{}</script>\n{}",
                     page.substr(0, head), listen, page.substr(head, end - head), steps.dump(),
                     content(std::filesystem::path(POSLENS_TEST_DATA) / "browser.js"),
                     page.substr(end));
}

// Shows page.html in one frame after the other and collects what they send. Chromium's own windows
// are never narrower than 500 pixels; a frame is.
std::string frames(const std::vector<Visit>& visits) {
  Json widths = Json::array();
  for (const Visit& one : visits) widths.push_back(one.width);
  return fmt::format(
      "<!DOCTYPE html><body><script>\n"
      "const widths = {}, all = [], frame = document.createElement('iframe');\n"
      "Object.assign(frame, {{height: 1000, style: 'border: 0'}});\n"
      "document.body.append(frame);\n"
      "const open = () => {{\n"
      "  frame.width = widths[all.length];\n"
      "  frame.src = `page.html?${{all.length}}`;\n"
      "}};\n"
      "addEventListener('message', event => {{\n"
      "  all.push(event.data);\n"
      "  if (all.length < widths.length) return open();\n"
      "  const pre = document.createElement('pre');\n"
      "  pre.id = 'browser-result';\n"
      "  pre.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(all))));\n"
      "  document.body.append(pre);\n"
      "}});\n"
      "open();\n</script></body>",
      widths.dump());
}

}  // namespace

bool has_browser() {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", kBrowser).c_str()) == 0;
}

std::vector<Seen> visit(const std::string& page, const std::vector<Visit>& visits) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "page.html", std::ios::binary) << with_steps(page, visits);
  std::ofstream(folder.path() / "frames.html", std::ios::binary) << frames(visits);
  const std::string command = fmt::format(
      "HOME='{0}' timeout 200 {1} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
      "--hide-scrollbars --user-data-dir='{0}/profile' --window-size=1800,1100 "
      "--virtual-time-budget=30000 --enable-logging=stderr --dump-dom 'file://{0}/frames.html' "
      ">'{0}/dom' 2>'{0}/log' </dev/null",
      folder.path().string(), kBrowser);
  const int status = std::system(command.c_str());
  const std::string log = content(folder.path() / "log");
  const std::string text = content(folder.path() / "dom");
  const std::string_view dom = text;
  constexpr std::string_view start = "<pre id=\"browser-result\">";
  const std::size_t from = dom.rfind(start);
  if (status != 0 || from == std::string::npos) {
    throw std::runtime_error(fmt::format("chromium failed ({}): {}", status, log.substr(0, 2000)));
  }
  const std::size_t first = from + start.size();
  const Json results = Json::parse(from_base64(dom.substr(first, dom.find('<', first) - first)));
  std::vector<Seen> seen;
  for (const Json& one : results) {
    seen.push_back({one.at("results"), one.at("width"), one.at("problems")});
  }
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("CONSOLE") == std::string::npos) continue;
    for (Seen& one : seen) one.problems.push_back(line);
  }
  return seen;
}

}  // namespace poslens
