#pragma once
// Output files that are there whole or not at all.

#include <filesystem>
#include <functional>
#include <string_view>

namespace poslens {

// Throws Error when path exists and force is off, or when its folder does not exist: call it before
// the work whose result goes there.
void check_output(const std::filesystem::path& path, bool force);

// The same for a folder that several files go into; throws Error when it is a file, or when it
// holds something and force is off. It need not exist, but its parent must.
void check_output_folder(const std::filesystem::path& folder, bool force);

// Lets write(temporary) fill a new file beside path, then renames it to path. Whatever fails, the
// temporary file is removed and path keeps what it had.
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(const std::filesystem::path& temporary)>& write);

// The same for a text that is at hand.
void write_text_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace poslens
