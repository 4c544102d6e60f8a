#include "report/model_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "poslens/hub_cache.h"
#include "poslens/map_figure.h"
#include "report/model_claims.h"
#include "report/words.h"

namespace poslens {
namespace {

constexpr std::int64_t kPublishedLength = 1024;
constexpr double kPublishedDivisor = 50;  // of the sums in Figures 11 to 16
constexpr std::int64_t kLeastGroups = 3;  // for standard errors
constexpr std::int64_t kGroups = 8;

CorpusOptions corpus_of(const ModelFigure& figure, const ReproduceModels& language) {
  CorpusOptions corpus = language.corpus;
  corpus.length = language.length.value_or(kPublishedLength);
  corpus.sequences = language.sequences.value_or(figure.sequences);
  return corpus;
}

std::int64_t groups_of(const ReproduceModels& language, std::int64_t sequences) {
  return language.groups.value_or(std::min(kGroups, sequences));
}

DecoderOptions decoder_of(const ModelFigure& figure, const ReproduceModels& language,
                          const ModelSpec& spec) {
  DecoderOptions decoder = language.decoder;
  if (decoder.layers.empty()) {
    decoder.layers = figure.layers;
    std::erase_if(decoder.layers, [&](int layer) { return layer >= std::ssize(spec.layers); });
  }
  decoder.groups = groups_of(language, corpus_of(figure, language).sequences);
  decoder.loss = false;
  return decoder;
}

// The models a figure shows, by place.
std::vector<std::size_t> models_of(const ModelFigure& figure, std::size_t given) {
  std::vector<std::size_t> places;
  if (figure.model) {
    places.push_back(given == 1 ? 0 : *figure.model);
  } else {
    for (std::size_t place = 0; place < given; ++place) places.push_back(place);
  }
  return places;
}

bool has_rotary(const LayerSpec& layer) { return layer.attention.rotary.has_value(); }

// Its first words, as far as they fit over a panel.
std::string short_name(const std::string& model) {
  constexpr std::size_t kLongest = 18;
  if (model.size() <= kLongest) return model;
  const std::size_t blank = model.rfind(' ', kLongest);
  return blank == std::string::npos ? model : model.substr(0, blank);
}

}  // namespace

const std::vector<ModelFigure>& model_figures() {
  static const std::vector<ModelFigure> figures = [] {
    const char* models[] = {"Llama-3.1-8B", "Phi-4", "Qwen3-8B"};
    std::vector<ModelFigure> all = {{"fig5",
                                     "diagonal-normalised mean scores of the first layers",
                                     "Llama-3.1-8B, Phi-4, Qwen3-8B",
                                     std::nullopt,
                                     {0, 1, 2, 3},
                                     true,
                                     1000,
                                     "fig5"}};
    // Six figures show three models in two ways; that they go in this order is not known here.
    for (std::size_t model = 0; model < 3; ++model) {
      const std::size_t number = 11 + 2 * model;
      const std::string stem = fmt::format("fig{}-{}", number, number + 1);
      all.push_back({fmt::format("fig{}", number),
                     "mean scores of every layer",
                     models[model],
                     model,
                     {},
                     false,
                     20,
                     stem});
      all.push_back({fmt::format("fig{}", number + 1),
                     "diagonal-normalised mean scores of every layer",
                     models[model],
                     model,
                     {},
                     true,
                     20,
                     stem});
    }
    return all;
  }();
  return figures;
}

std::string ModelFigure::title() const {
  return fmt::format("Figure {}: {} of a language model (published: {})", name.substr(3), what,
                     published_models);
}

const ModelFigure* find_model_figure(const std::string& name) {
  const auto found = std::find_if(model_figures().begin(), model_figures().end(),
                                  [&](const ModelFigure& figure) { return figure.name == name; });
  return found == model_figures().end() ? nullptr : &*found;
}

void validate_models(const ReproduceOptions& options) {
  const ReproduceModels& language = options.language;
  bool any = false, any_single = false;
  for (const std::string& name : options.targets) {
    const ModelFigure* figure = find_model_figure(name);
    if (figure == nullptr) continue;
    any = true;
    any_single = any_single || figure->model.has_value();
    if (language.models.empty()) {
      throw UsageError(fmt::format(
          "reproduce {}: expected --model FILE|DIR|ID, any language model (published: {})", name,
          figure->published_models));
    }
    if (language.models.size() > 1 && figure->model && *figure->model >= language.models.size()) {
      throw UsageError(
          fmt::format("reproduce {}: expected one --model for all, or {} of which it shows the "
                      "last (published: "
                      "{}), found {}",
                      name, *figure->model + 1, figure->published_models, language.models.size()));
    }
    const CorpusOptions corpus = corpus_of(*figure, language);
    corpus.validate();
    const std::int64_t groups = groups_of(language, corpus.sequences);
    if (groups < kLeastGroups || groups > corpus.sequences) {
      throw UsageError(
          fmt::format("reproduce {}: --groups {} of --sequences {}: expected {} or more groups, "
                      "and no more than "
                      "sequences: standard errors come from leaving groups out",
                      name, groups, corpus.sequences, kLeastGroups));
    }
    if (corpus.length < 5) {
      throw UsageError(fmt::format("--length {}: expected at least 5", corpus.length));
    }
  }
  const bool given =
      !language.models.empty() || !language.corpus.text.empty() || !language.corpus.tokens.empty();
  if (!any && given) {
    throw UsageError(
        "reproduce: --model, --text and --tokens: expected with one or more of fig5 and fig11 to "
        "fig16, which are of language models");
  }
  if (language.reference_compat && !any_single) {
    throw UsageError("reproduce: --reference-compat: expected with one or more of fig11 to fig16");
  }
}

ModelFigures::ModelFigures(const ReproduceOptions& options) : options_(options) {
  const ReproduceModels& language = options.language;
  for (const std::string& model : language.models) {
    models_.push_back(load_model(find_model(model)));
    std::string name = plain_name(models_.back().spec.name);
    if (std::find(file_names_.begin(), file_names_.end(), name) != file_names_.end()) {
      name += fmt::format("-{}", models_.size());
    }
    file_names_.push_back(std::move(name));
  }
  for (const std::string& name : options.targets) {
    const ModelFigure* figure = find_model_figure(name);
    if (figure == nullptr) continue;
    for (const std::size_t model : models_of(*figure, models_.size())) {
      const ModelSpec& spec = models_[model].spec;
      decoder_of(*figure, language, spec).validate(spec);
    }
  }
}

const ModelFigures::Run& ModelFigures::run_of(const ModelFigure& figure, std::size_t model) {
  // Figures of every layer of one model show the same run.
  const auto same = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) {
    return run.model == model && run.result.figures.starts_with("fig5") == !figure.model;
  });
  if (same != runs_.end()) {
    same->result.figures += " " + figure.name;
    return *same;
  }
  const LoadedModel& loaded = models_[model];
  const Corpus corpus = read_corpus(loaded, corpus_of(figure, options_.language), {});
  ProbeOptions probe_options;
  probe_options.decoder = decoder_of(figure, options_.language, loaded.spec);
  Run run{figure.stem, model, probe(loaded, corpus, probe_options), {}};
  run.map.provenance.command_line = options_.command_line;
  run.result = {figure.name,
                loaded.spec.name,
                corpus.batch.length,
                corpus.batch.sequences(),
                run.map.groups,
                measure(run.map),
                {}};
  run.result.rotary = std::any_of(loaded.spec.layers.begin(), loaded.spec.layers.end(), has_rotary);
  run.result.claims = model_claims(run.result.layers);
  run.map.groups = 0;
  run.map.scores_groups = {};
  const std::string stem = fmt::format("{}-{}", run.stem, file_names_[model]);
  save(run.map, options_.folder / (stem + ".npz"));
  write_text_atomically(options_.folder / (stem + ".csv"), model_measures_csv(run.result));
  runs_.push_back(std::move(run));
  return runs_.back();
}

void ModelFigures::make(const ModelFigure& figure) {
  const bool every_layer = figure.model.has_value();
  const bool as_published = every_layer && options_.language.reference_compat;
  MapFigureOptions what;
  what.diagonal_normalised = figure.diagonal_normalised;
  std::vector<Panel> panels;
  std::string names, averaging;
  std::size_t columns = 1;
  for (const std::size_t model : models_of(figure, models_.size())) {
    const Run& run = run_of(figure, model);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", run.result.model);
    averaging =
        fmt::format("{} {} sequences of {} tokens{}", as_published ? "sum over" : "mean of",
                    run.result.sequences, run.result.length, as_published ? ", divided by 50" : "");
    std::vector<Panel> row = map_panels(run.map, what);
    columns = std::max(columns, std::min<std::size_t>(row.size(), every_layer ? 8 : 4));
    for (Panel& panel : row) {
      if (!every_layer && models_.size() > 1) {
        panel.title = fmt::format("{}, {}", short_name(run.result.model), panel.title);
      }
      if (as_published) {
        const auto factor = static_cast<double>(run.result.sequences) / kPublishedDivisor;
        for (float& value : panel.values.values()) value *= static_cast<float>(factor);
      }
      panels.push_back(std::move(panel));
    }
  }
  FigureOptions drawing;
  drawing.columns = static_cast<int>(columns);
  if (every_layer) drawing.panel = 84;
  drawing.title =
      fmt::format("Figure {}: {}, {} ({})", figure.name.substr(3), figure.what, names, averaging);
  for (const char* extension : {".svg", ".png"}) {
    draw_heat_maps(panels, drawing, options_.folder / (figure.name + extension));
  }
}

std::vector<ModelRun> ModelFigures::take_runs() {
  std::vector<ModelRun> results;
  for (Run& run : runs_) results.push_back(std::move(run.result));
  runs_.clear();
  return results;
}

}  // namespace poslens
