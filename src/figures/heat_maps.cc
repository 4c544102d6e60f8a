#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <sstream>
#include <system_error>

#include "figures/axis.h"
#include "figures/colours.h"
#include "figures/gnuplot.h"
#include "figures/heat_map_script.h"
#include "figures/layout.h"
#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "poslens/figure.h"
#include "poslens/pooling.h"

namespace poslens {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "panels are written as they lie");

// Values per side of a panel, which a screen can show: 140 to the inch.
std::size_t largest_side(const Layout& layout) {
  return static_cast<std::size_t>(std::clamp(layout.panel * 256 / 132, 64.0, 4096.0));
}

// A folder beside the figure in which it is made; goes away with the object.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& beside) : path_(beside) {
    path_ += ".tmp" + std::to_string(getpid());
    std::error_code error;
    fs::remove_all(path_, error);
    fs::create_directory(path_, error);
    if (error) throw Error(beside.string() + ": cannot be written: " + error.message());
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The round values inside of the range that the values lie on both sides of.
std::vector<double> contour_levels(const Matrix<float>& values, std::pair<double, double> range,
                                   int wanted) {
  std::vector<double> levels;
  if (wanted == 0) return levels;
  const auto crossed = [&](double level) {
    const auto is = [&](const auto& condition) {
      return std::any_of(values.values().begin(), values.values().end(), condition);
    };
    return is([&](float value) { return value < level; }) &&
           is([&](float value) { return value > level; });
  };
  for (const double level : round_ticks(range.first, range.second, wanted)) {
    if (level > range.first && level < range.second && crossed(level)) levels.push_back(level);
  }
  return levels;
}

ScriptPanel write_panel(const Panel& panel, std::pair<double, double> range, std::size_t index,
                        const FigureOptions& options, const Layout& layout,
                        const std::string& data_folder, const fs::path& folder) {
  const std::size_t extent = std::max(panel.values.rows(), panel.values.columns());
  ScriptPanel result;
  result.title = panel.title;
  result.block = block_for(extent, largest_side(layout));
  result.range = range;
  result.data_file = fmt::format("./{}/panel-{:02}.f32", data_folder, index + 1);
  const Matrix<float> values = pool_mean(panel.values.view(), result.block);
  result.rows = values.rows();
  result.columns = values.columns();
  result.contours = contour_levels(values, range, options.contours);
  std::ofstream file(folder / result.data_file, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.values().data()),
             static_cast<std::streamsize>(values.values().size() * sizeof(float)));
  file.close();
  if (!file) throw Error((folder / result.data_file).string() + ": cannot be written");
  return result;
}

void check_panels(const std::vector<Panel>& panels) {
  for (const Panel& panel : panels) {
    if (panel.values.rows() == 0 || panel.values.columns() == 0) {
      throw UsageError("panel '" + panel.title + "': has no values");
    }
    if (panel.range && !(panel.range->first < panel.range->second)) {
      throw UsageError(fmt::format("panel '{}': colour range {:g}..{:g}: expected low < high",
                                   panel.title, panel.range->first, panel.range->second));
    }
  }
}

// Browsers blur enlarged images unless told not to, and gnuplot does not tell them.
void keep_pixels_sharp(const fs::path& svg) {
  std::stringstream content;
  content << std::ifstream(svg).rdbuf();
  std::string text = content.str();
  constexpr std::string_view tag = "<image ";
  for (std::size_t at = 0; (at = text.find(tag, at)) != std::string::npos; at += tag.size()) {
    text.insert(at + tag.size(), "style='image-rendering:pixelated' ");
  }
  write_text_atomically(svg, text);
}

// Moves what is new over what was there; the figure itself comes last.
void put_in_place(const fs::path& from, const fs::path& file) {
  for (const std::string suffix : {".data", ".gnuplot", ""}) {
    fs::path target = file;
    target += suffix;
    std::error_code error;
    if (suffix == ".data") fs::remove_all(target, error);  // a folder cannot be renamed over one
    if (!error) fs::rename(from / target.filename(), target, error);
    if (error) throw Error(target.string() + ": cannot be written: " + error.message());
  }
}

}  // namespace

void check_figure_name(const fs::path& file) {
  const std::string name = file.filename().string();
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (std::any_of(name.begin(), name.end(), control)) {
    throw UsageError(file.string() + ": a figure's name must not hold control characters");
  }
  const std::string extension = file.extension().string();
  if (extension == ".svg" || extension == ".pdf" || extension == ".png") return;
  throw UsageError(file.string() + ": a figure's name must end in .svg, .pdf or .png");
}

void draw_heat_maps(const std::vector<Panel>& panels, const FigureOptions& options,
                    const fs::path& file) {
  check_figure_name(file);
  options.validate();
  if (panels.empty()) throw UsageError(file.string() + ": a figure needs at least one panel");
  check_panels(panels);
  const std::string terminal = file.extension().string().substr(1);
  const auto ranges = colour_ranges(panels, options);
  const bool shared_bar = std::all_of(ranges.begin(), ranges.end(),
                                      [&](const auto& range) { return range == ranges[0]; });
  const Layout layout = layout_of(panels.size(), shared_bar, options);
  const std::string name = file.filename().string();
  const WorkFolder work(file);
  fs::create_directory(work.path() / (name + ".data"));
  std::vector<ScriptPanel> script_panels;
  for (std::size_t index = 0; index < panels.size(); ++index) {
    script_panels.push_back(write_panel(panels[index], ranges[index], index, options, layout,
                                        name + ".data", work.path()));
  }
  const fs::path script = work.path() / (name + ".gnuplot");
  write_text_atomically(script, heat_map_script(script_panels, options, layout, terminal, name));
  run_gnuplot(script);
  if (!fs::exists(work.path() / name)) throw Error(file.string() + ": gnuplot drew nothing");
  if (terminal == "svg") keep_pixels_sharp(work.path() / name);
  put_in_place(work.path(), file);
}

}  // namespace poslens
