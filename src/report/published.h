#pragma once
// Published values and how far a map is from them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "poslens/matrix.h"

namespace poslens {

struct PublishedScore {
  std::int64_t query = 0;
  std::int64_t key = 0;
  double score = 0;
};

struct PublishedPanel {
  std::string name;  // alpha=0.2;layer=1: layers from 1, as the paper counts
  std::vector<PublishedScore> scores;
};

// A recency probability and its panel.
struct PublishedRecency {
  std::string panel;
  double recency = 0;
};

// Reads "panel,query,key,score" lines under such a heading; see data/published. Panels come in the
// order of the file. Throws Error naming `origin` and the line that is wrong.
std::vector<PublishedPanel> parse_published(std::string_view csv, const std::string& origin);

// Reads "panel,recency" lines likewise; a recency probability lies in [0, 1].
std::vector<PublishedRecency> parse_published_recency(std::string_view csv,
                                                      const std::string& origin);

// The panel of that name. Throws Error when there is none.
const PublishedPanel& find_panel(const std::vector<PublishedPanel>& panels, std::string_view name);

// max |map(query, key) - score| over the panel; infinite when the panel is empty, or the map has no
// number at one of its pairs.
double largest_deviation(const PublishedPanel& panel, MatrixView<const float> map);

}  // namespace poslens
