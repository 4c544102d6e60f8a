#include "poslens/hub_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "poslens/error.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "models--";
constexpr std::string_view kSeparator = "--";

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return value == nullptr ? "" : value;
}

fs::path home() {
  const std::string home = environment("HOME");
  if (home.empty()) {
    throw Error("HOME: expected the home folder, where the cache of models is, found it unset");
  }
  return home;
}

// "~/x" in a variable means what it means to a shell.
fs::path expanded(const std::string& path) {
  return path.starts_with("~/") ? home() / path.substr(2) : fs::path(path);
}

fs::path cache_folder() {
  if (const auto cache = environment("HF_HUB_CACHE"); !cache.empty()) return expanded(cache);
  if (const auto base = environment("HF_HOME"); !base.empty()) return expanded(base) / "hub";
  const std::string caches = environment("XDG_CACHE_HOME");
  return (caches.empty() ? home() / ".cache" : expanded(caches)) / "huggingface" / "hub";
}

struct ModelId {
  std::vector<std::string> parts;  // org and name, or name
  std::string revision = "main";
};

// Letters, digits, '_', '-' and '.', as the hub allows them: no path can hide in it.
bool is_hub_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.front() != '-' &&
         name.find(kSeparator) == std::string_view::npos &&
         name.find("..") == std::string_view::npos && std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                  c == '.';
         });
}

// Branches may have slashes: "refs/pr/1".
bool is_revision(std::string_view revision) {
  while (true) {
    const auto slash = revision.find('/');
    if (!is_hub_name(revision.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    revision.remove_prefix(slash + 1);
  }
}

// Nothing when the text cannot be an id.
std::optional<ModelId> parse_id(const std::string& text) {
  ModelId id;
  std::string name = text;
  if (const auto at = text.find('@'); at != std::string::npos) {
    id.revision = text.substr(at + 1);
    name.resize(at);
  }
  const auto slash = name.find('/');
  if (slash != std::string::npos) id.parts.push_back(name.substr(0, slash));
  id.parts.push_back(slash == std::string::npos ? name : name.substr(slash + 1));
  const fs::path extension = fs::path(name).extension();
  if (!std::ranges::all_of(id.parts, is_hub_name) || !is_revision(id.revision) ||
      extension == ".gguf" || extension == ".safetensors") {
    return std::nullopt;
  }
  return id;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// What a file of refs/ says; nothing when there is none.
std::optional<std::string> read_reference(const fs::path& path) {
  std::ifstream file(path);
  std::string commit;
  if (!(file >> commit)) return std::nullopt;
  if (!is_hub_name(commit)) {
    throw Error(path.string() + ": expected the name of a commit, found something else");
  }
  return commit;
}

std::vector<std::string> folders_in(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (is_folder(entry.path())) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

fs::path find_snapshot(const std::string& model, const ModelId& id) {
  const fs::path cache = cache_folder();
  const fs::path folder = cache / fmt::format("{}{}", kPrefix, fmt::join(id.parts, kSeparator));
  if (!is_folder(folder)) {
    throw Error(
        fmt::format("{}: expected a file, a folder, or a model in the cache, found no such "
                    "path and no {}",
                    model, folder.string()));
  }
  const fs::path reference = folder / "refs" / id.revision;
  const std::string commit = read_reference(reference).value_or(id.revision);
  fs::path snapshot = folder / "snapshots" / commit;
  if (is_folder(snapshot)) return snapshot;
  const auto others = folders_in(folder / "snapshots");
  throw Error(fmt::format("{}: expected revision {} in the cache, found neither {} nor {}; {}",
                          model, id.revision, reference.string(), snapshot.string(),
                          others.empty() ? "there are no snapshots"
                                         : fmt::format("there is @{}", fmt::join(others, ", @"))));
}

}  // namespace

fs::path find_model(const std::string& model) {
  std::error_code ignored;
  if (fs::exists(model, ignored)) return model;
  if (const auto id = parse_id(model)) return find_snapshot(model, *id);
  throw Error(
      fmt::format("{}: expected a file, a folder, or the id of a model (org/name, "
                  "org/name@revision), found no such path",
                  model));
}

std::string hub_name(const fs::path& folder) {
  std::error_code error;
  const fs::path snapshots = fs::absolute(folder, error).parent_path();
  const std::string repository = snapshots.parent_path().filename().string();
  if (snapshots.filename() != "snapshots" || !repository.starts_with(kPrefix)) return "";
  std::string name = repository.substr(kPrefix.size());
  const auto separator = name.find(kSeparator);
  if (separator == std::string::npos) return name;
  return fmt::format("{}/{}", name.substr(0, separator),
                     name.substr(separator + kSeparator.size()));
}

}  // namespace poslens
