#pragma once
// Models in the local cache that huggingface_hub keeps. Nothing is ever downloaded.

#include <filesystem>
#include <string>

namespace poslens {

// Where a model is. What exists as a path is that path. Otherwise `org/name` (`name` for the few
// old models that have no org), with `@revision` (a branch, a tag or a commit; `main` by default)
// behind it where wanted, is looked for in the cache:
//   <cache>/models--org--name/refs/<revision>     names the commit, unless it is one,
//   <cache>/models--org--name/snapshots/<commit>  is the model's folder.
// <cache> is $HF_HUB_CACHE, else $HF_HOME/hub, else ~/.cache/huggingface/hub (with $XDG_CACHE_HOME
// in place of ~/.cache where it is set, as in huggingface_hub). Throws Error saying where it
// looked.
std::filesystem::path find_model(const std::string& model);

// The `org/name` that a folder of such a cache belongs to; empty for any other folder.
std::string hub_name(const std::filesystem::path& folder);

}  // namespace poslens
