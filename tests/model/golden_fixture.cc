#include "model/golden_fixture.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "poslens/intervention.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

fs::path root() { return fs::path(POSLENS_TEST_DATA) / "golden"; }

std::vector<std::string> names_if(const char* file) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root())) {
    if (fs::exists(entry.path() / file)) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> GoldenFixture::names() { return names_if("expected.npz"); }
std::vector<std::string> GoldenFixture::names_with_gguf() { return names_if("model.gguf"); }

GoldenFixture::GoldenFixture(const std::string& name, Style style) {
  fs::path folder = root() / name;
  expected_ = read_npz(folder / "expected.npz");
  if (style == Style::v4) {
    const fs::path copy = copy_.path() / name;
    fs::copy(folder, copy);
    fs::copy_file(folder / "config_v4.json", copy / "config.json",
                  fs::copy_options::overwrite_existing);
    folder = copy;
  }
  checkpoint_ = Checkpoint::open(style == Style::gguf ? folder / "model.gguf" : folder);
  spec_ = read_model_spec(*checkpoint_);
  const Array& tokens = expected_.arrays.at("tokens");
  batch_ = {tokens.shape[1], tokens.values<std::int32_t>()};
}

std::vector<std::string> GoldenFixture::cases() const {
  constexpr std::string_view kEnd = " scores";
  std::vector<std::string> texts;
  for (const auto& [name, array] : expected_.arrays) {
    if (name.ends_with(kEnd)) texts.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  return texts;
}

ModelSpec GoldenFixture::changed(const std::string& text) const {
  std::vector<Intervention> interventions;
  std::istringstream words(text == "plain" ? "" : text);
  for (std::string word; words >> word;) interventions.push_back(parse_intervention(word));
  return poslens::apply(spec_, interventions);
}

std::vector<float> GoldenFixture::floats(const std::string& name) const {
  return expected_.arrays.at(name).values<float>();
}

std::vector<double> GoldenFixture::doubles(const std::string& name) const {
  return expected_.arrays.at(name).values<double>();
}

double GoldenFixture::deviation(const std::vector<float>& maps, const std::string& text,
                                const std::string& what, const ModelSpec& spec,
                                std::size_t layer) const {
  const std::vector<float> expected = floats(text + ' ' + what);
  if (maps.size() != expected.size()) return std::nan("");
  const std::int64_t n = batch_.length;
  const std::size_t size = maps.size() / spec.layers.size();
  double largest = 0;
  for (std::size_t at = layer * size; at < (layer + 1) * size; ++at) {
    const auto pair = static_cast<std::int64_t>(at) % (n * n);
    if (!spec.layers[layer].attention.mask.visible(pair / n, pair % n)) continue;
    const double deviation = std::abs(double{maps[at]} - expected[at]);
    if (!(deviation <= largest)) largest = deviation;  // NaN too
  }
  return largest;
}

double GoldenFixture::deviation(const ScoreMap& map, const std::string& text,
                                const ModelSpec& spec) const {
  double largest = 0;
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const double here = deviation(map.scores, text, "scores", spec, layer);
    if (!(here <= largest)) largest = here;
  }
  const std::vector<double> loss = doubles(text + " loss");
  for (std::size_t p = 0; p < loss.size(); ++p) {
    const double here = std::abs(map.loss.at(p) - loss[p]);
    if (!(here <= largest)) largest = here;
  }
  return largest;
}

double GoldenFixture::range(const std::string& text, const ModelSpec& spec,
                            std::size_t layer) const {
  const std::vector<float> expected = floats(text + " scores");
  const std::int64_t n = batch_.length;
  double low = INFINITY;
  double high = -INFINITY;
  for (std::int64_t pair = 0; pair < n * n; ++pair) {
    if (!spec.layers[layer].attention.mask.visible(pair / n, pair % n)) continue;
    const double score =
        expected[layer * static_cast<std::size_t>(n * n) + static_cast<std::size_t>(pair)];
    low = std::min(low, score);
    high = std::max(high, score);
  }
  return high - low;
}

}  // namespace poslens
