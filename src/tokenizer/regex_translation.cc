// From Oniguruma's syntax to PCRE2's. What both write alike is copied; what they read differently
// (\s, \w, \d, \v, nested classes, {,n}) is written out; the rest is refused.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <vector>

#include "poslens/error.h"
#include "tokenizer/characters.h"
#include "tokenizer/regex.h"

namespace poslens {
namespace {

constexpr std::size_t kLongest = 16384;  // bytes
constexpr int kDeepest = 16;             // nested classes

// Members of classes. White space as Unicode defines the property; PCRE2's \s has U+180E too.
constexpr std::string_view kSpace = "\\p{Z}\\x{9}-\\x{d}\\x{85}";
constexpr std::string_view kWord =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}";
constexpr std::string_view kAny = "[\\x{0}-\\x{10ffff}]";

std::string character(std::int32_t code) { return fmt::format("\\x{{{:x}}}", code); }

// A set of characters: members, together with the complements of other sets.
struct Set {
  std::string members;
  std::vector<std::string> complements;  // each an expression for one character

  void add(const Set& other) {
    members += other.members;
    complements.insert(complements.end(), other.complements.begin(), other.complements.end());
  }
  std::string expression() const {
    if (complements.empty()) return fmt::format("[{}]", members);
    std::string text = members.empty() ? "(?:" : fmt::format("(?:[{}]|", members);
    for (std::size_t i = 0; i < complements.size(); ++i) {
      text.append(i == 0 ? "" : "|").append(complements[i]);
    }
    return text + ")";
  }
  std::string complement() const {
    if (complements.empty()) return fmt::format("[^{}]", members);
    return fmt::format("(?:(?!{}){})", expression(), kAny);
  }
};

// What an escape stands for: one character, or a set.
struct Escape {
  std::int32_t code = -1;
  Set set{};
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) step();
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(fmt::format("{} at byte {}", what, at_));
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  std::int32_t take_character() {
    if (at_ >= pattern_.size()) refuse("an unfinished class");
    const Character found = character_at(pattern_, at_);
    if (found.bytes == 0) refuse("no UTF-8");
    at_ += found.bytes;
    return found.code;
  }

  void step() {
    switch (peek()) {
      case '\\':
        anchor_or_escape();
        break;
      case '[':
        ++at_;
        result_ += class_body(0);
        break;
      case '(':
        group();
        break;
      case '{':
        interval();
        break;
      default:
        result_ += pattern_[at_++];
    }
  }

  void anchor_or_escape() {
    if (take("\\A")) {
      result_ += "\\A";
    } else if (take("\\z")) {
      result_ += "\\z";
    } else {
      const Escape escape = take_escape();
      result_ += escape.code >= 0 ? character(escape.code) : escape.set.expression();
    }
  }

  void group() {
    constexpr std::string_view kAlike[] = {"(?:", "(?=",  "(?!",   "(?<=", "(?<!",
                                           "(?>", "(?i:", "(?-i:", "(?i)", "(?-i)"};
    for (const std::string_view start : kAlike) {
      if (take(start)) {
        result_ += start;
        return;
      }
    }
    if (peek(1) == '?') refuse("an unknown kind of group");
    ++at_;
    result_ += "(?:";  // nothing is captured
  }

  void interval() {
    std::size_t end = at_ + 1;
    while (end < pattern_.size() &&
           (std::isdigit(static_cast<unsigned char>(pattern_[end])) != 0 || pattern_[end] == ',')) {
      ++end;
    }
    const std::string_view inside = pattern_.substr(at_ + 1, end - at_ - 1);
    const bool closed = end < pattern_.size() && pattern_[end] == '}';
    if (!closed || inside.empty() || inside == "," || std::ranges::count(inside, ',') > 1) {
      result_ += "\\{";
      ++at_;
      return;
    }
    result_ += fmt::format("{{{}{}}}", inside.front() == ',' ? "0" : "", inside);
    at_ = end + 1;
    if (peek() == '+') refuse("an interval with '+' behind it");
  }

  // Behind '['; reads the closing one.
  std::string class_body(int depth) {
    bool negated = false;
    const Set set = class_set(depth, negated);
    return negated ? set.complement() : set.expression();
  }

  Set class_set(int depth, bool& negated) {
    if (depth > kDeepest) refuse("classes nested too deep");
    negated = take("^");
    if (peek() == ']') refuse("an empty class");
    Set set;
    while (!take("]")) {
      if (at_ >= pattern_.size()) refuse("an unfinished class");
      if (pattern_.substr(at_).starts_with("[:")) refuse("a POSIX class");
      if (pattern_.substr(at_).starts_with("&&")) refuse("an intersection of classes");
      if (take("[")) {
        bool inner_negated = false;
        const Set inner = class_set(depth + 1, inner_negated);
        if (inner_negated) {
          set.complements.push_back(inner.complement());
        } else {
          set.add(inner);
        }
      } else {
        class_member(set);
      }
    }
    return set;
  }

  // One character, a range or an escape.
  void class_member(Set& set) {
    const Escape first = peek() == '\\' ? take_escape() : Escape{take_character()};
    if (first.code < 0) {
      set.add(first.set);
      return;
    }
    set.members += character(first.code);
    if (peek() != '-' || peek(1) == ']') return;
    ++at_;
    if (peek() == '[') refuse("a range without an end");
    const Escape last = peek() == '\\' ? take_escape() : Escape{take_character()};
    if (last.code < first.code) refuse("a range without an end");
    set.members.append("-").append(character(last.code));
  }

  Escape take_escape() {
    ++at_;  // the backslash
    const char kind = peek();
    const auto known = [&](Escape escape) {
      ++at_;
      return escape;
    };
    const auto not_in = [](std::string_view members) {
      return Escape{-1, Set{{}, {fmt::format("[^{}]", members)}}};
    };
    switch (kind) {
      case 's':
        return known({-1, {std::string(kSpace), {}}});
      case 'S':
        return known(not_in(kSpace));
      case 'w':
        return known({-1, {std::string(kWord), {}}});
      case 'W':
        return known(not_in(kWord));
      case 'd':
        return known({-1, {"\\p{Nd}", {}}});
      case 'D':
        return known({-1, {"\\P{Nd}", {}}});
      case 't':
        return known({'\t'});
      case 'n':
        return known({'\n'});
      case 'v':
        return known({'\v'});
      case 'f':
        return known({'\f'});
      case 'r':
        return known({'\r'});
      case 'p':
      case 'P':
        return property();
      case 'x':
      case 'u':
        return hexadecimal();
      default:
        break;
    }
    if (std::ispunct(static_cast<unsigned char>(kind)) == 0) refuse("an unknown escape");
    return known({kind});
  }

  // \p{Lu}, \P{Lu}, \p{^Lu}; \p{Han}, which in PCRE2 would take in the script's extensions.
  Escape property() {
    bool negated = peek() == 'P';
    ++at_;
    if (!take("{")) refuse("an unknown property");
    if (take("^")) negated = !negated;
    const std::size_t end = std::min(pattern_.find('}', at_), pattern_.size());
    const std::string_view name = pattern_.substr(at_, end - at_);
    const bool letters = !name.empty() && std::ranges::all_of(name, [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
    });
    if (!letters || end == pattern_.size()) refuse("an unknown property");
    at_ = end + 1;
    return {
        -1,
        {fmt::format("\\{}{{{}{}}}", negated ? 'P' : 'p', name.size() > 2 ? "sc:" : "", name), {}}};
  }

  // \x41, \x{1f600}, \u00e9
  Escape hexadecimal() {
    const bool short_form = peek() == 'x';
    ++at_;
    const bool braces = short_form && take("{");
    const std::size_t most = braces ? 8 : short_form ? 2 : 4;
    std::int32_t code = -1;
    const std::string_view digits = pattern_.substr(at_, most);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    const auto length = static_cast<std::size_t>(end - digits.data());
    if (error != std::errc() || code < 0 || code > 0x10ffff || (!short_form && length != 4)) {
      refuse("no character");
    }
    at_ += length;
    if (braces && !take("}")) refuse("no character");
    return {code};
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::string translate_regex(std::string_view oniguruma) {
  if (oniguruma.size() > kLongest) {
    throw Error(fmt::format("{} bytes, more than {}", oniguruma.size(), kLongest));
  }
  return Translator(oniguruma).run();
}

}  // namespace poslens
