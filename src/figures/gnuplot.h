#pragma once

#include <filesystem>

namespace poslens {

// Runs gnuplot on a script, without a shell, in the folder where the script is. Throws Error naming
// the Debian package when there is no gnuplot, and with what gnuplot said when it fails.
void run_gnuplot(const std::filesystem::path& script);

}  // namespace poslens
