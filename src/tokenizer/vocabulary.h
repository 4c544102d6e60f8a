#pragma once
// Tokens by id, and ids by token.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace poslens {

constexpr std::int32_t kNoToken = -1;

class Vocabulary {
 public:
  // Room for the ids below `size`; none is taken.
  explicit Vocabulary(std::size_t size) : texts_(size), taken_(size) {}
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = delete;

  std::int64_t size() const { return std::ssize(texts_); }
  bool has(std::int64_t id) const {
    return id >= 0 && id < size() && taken_[static_cast<std::size_t>(id)];
  }
  // has(id)
  const std::string& text(std::int32_t id) const { return texts_[static_cast<std::size_t>(id)]; }

  // The id is below size and not taken.
  void put(std::int32_t id, std::string text) {
    texts_[static_cast<std::size_t>(id)] = std::move(text);
    taken_[static_cast<std::size_t>(id)] = true;
  }
  // Lets find(text of id) be id. false when another token of the same text is found already.
  bool index(std::int32_t id) { return ids_.emplace(text(id), id).second; }
  // Of the tokens that are indexed; kNoToken when there is none.
  std::int32_t find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? kNoToken : found->second;
  }

 private:
  std::vector<std::string> texts_;
  std::vector<bool> taken_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // into texts_, which never move
};

}  // namespace poslens
