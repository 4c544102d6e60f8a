#pragma once
// The paper's figures of language models, for any model.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poslens/probe.h"
#include "poslens/reproduce.h"

namespace poslens {

struct ModelFigure {
  std::string name;                  // fig5
  std::string what;                  // as titles say it
  std::string published_models;      // which models the paper shows
  std::optional<std::size_t> model;  // the only one it shows, by place; empty: all
  std::vector<int> layers;           // empty: all
  bool diagonal_normalised = false;
  std::int64_t sequences = 0;  // of the paper
  std::string stem;            // of artefacts: shared by the figures that show the same run

  std::string title() const;
};

const std::vector<ModelFigure>& model_figures();
const ModelFigure* find_model_figure(const std::string& name);

// Throws UsageError when a target needs a model or text that there is not, or none needs those
// given.
void validate_models(const ReproduceOptions& options);

// Runs models and draws their figures into options.folder.
class ModelFigures {
 public:
  // Opens every model that a target needs and checks what it is asked for.
  explicit ModelFigures(const ReproduceOptions& options);

  void make(const ModelFigure& figure);
  std::vector<ModelRun> take_runs();

 private:
  struct Run {
    std::string stem;
    std::size_t model;
    ScoreMap map;  // without groups
    ModelRun result;
  };
  const Run& run_of(const ModelFigure& figure, std::size_t model);

  const ReproduceOptions& options_;
  std::vector<LoadedModel> models_;
  std::vector<std::string> file_names_;  // of the models, each different
  std::vector<Run> runs_;
};

}  // namespace poslens
