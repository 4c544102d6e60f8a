#include "report/result_files.h"

#include "report/html_report.h"
#include "report/measures_file.h"
#include "report/position_file.h"

namespace poslens {

std::span<const ResultFile> result_files() {
  static constexpr ResultFile kFiles[] = {
      {"measures.csv", measures_csv},
      {"effects.csv", effects_csv},
      {"loss.csv", loss_csv},
      {"decoding.csv", decoding_csv},
      {"curves.csv", curves_csv},
      {"measures.json", measures_json},
      {"report.html", [](const Analysis& analysis) { return html_report(analysis); }}};
  return kFiles;
}

}  // namespace poslens
