#include "model/reference_decoder.h"

#include <algorithm>
#include <cmath>

namespace poslens {
namespace {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

Rows read_matrix(const Checkpoint& checkpoint, const std::string& name) {
  const TensorEntry* tensor = checkpoint.find(name);
  const std::int64_t width = tensor->shape.back();
  const std::int64_t count = tensor->elements() / width;
  Rows rows;
  std::vector<float> row(at(width));
  for (std::int64_t r = 0; r < count; ++r) {
    expand_rows(*tensor, r, 1, row);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

// W x + b for every row x.
Rows linear(const Checkpoint& checkpoint, const LinearNames& names, const Rows& inputs) {
  const Rows weight = read_matrix(checkpoint, names.weight);
  const Vector bias =
      names.bias.empty() ? Vector(weight.size()) : read_matrix(checkpoint, names.bias)[0];
  Rows outputs;
  for (const Vector& x : inputs) {
    Vector y = bias;
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o][i] * x[i];
    }
    outputs.push_back(y);
  }
  return outputs;
}

Rows rms_norm(const Checkpoint& checkpoint, const std::string& name, double epsilon,
              const Rows& inputs) {
  const Vector weight = read_matrix(checkpoint, name)[0];
  Rows outputs = inputs;
  for (Vector& x : outputs) {
    double sum = 0;
    for (const double v : x) sum += v * v;
    const double root = std::sqrt(sum / static_cast<double>(x.size()) + epsilon);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= weight[i] / root;
  }
  return outputs;
}

// Head h of a row that holds several.
Vector head_of(const Vector& row, int h, int head_dim) {
  return {row.begin() + h * head_dim, row.begin() + (h + 1) * head_dim};
}

// Rotates one head in place of its pairs, at a position.
Vector rotate(const AttentionSpec& attention, Vector head, double position) {
  if (!attention.rotary) return head;
  const Vector inverse = inverse_frequencies(*attention.rotary);
  for (std::size_t k = 0; k < inverse.size(); ++k) {
    const bool neighbours = attention.rotary_pairs == RotaryPairs::interleaved;
    double& a = neighbours ? head[2 * k] : head[k];
    double& b = neighbours ? head[2 * k + 1] : head[k + inverse.size()];
    const double angle = position * inverse[k];
    const double turned = a * std::cos(angle) - b * std::sin(angle);
    b = a * std::sin(angle) + b * std::cos(angle);
    a = turned;
  }
  return head;
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Sequence {
 public:
  Sequence(const Checkpoint& checkpoint, const ModelSpec& spec, std::int64_t length)
      : checkpoint_(checkpoint), spec_(spec), length_(length) {}

  void run(std::span<const std::int32_t> ids, ReferenceResult& result) {
    const Rows embedding = read_matrix(checkpoint_, spec_.embedding);
    for (const std::int32_t id : ids) stream_.push_back(embedding[at(id)]);
    for (std::size_t layer = 0; layer < spec_.layers.size(); ++layer) {
      result.scores[layer].emplace_back();
      result.probabilities[layer].emplace_back();
      attend(spec_.layers[layer], result.scores[layer].back(), result.probabilities[layer].back());
      feed_forward(spec_.layers[layer]);
    }
    const Rows logits =
        linear(checkpoint_, {spec_.head, ""},
               rms_norm(checkpoint_, spec_.final_norm, spec_.norm_epsilon, stream_));
    result.loss.emplace_back();
    for (std::size_t p = 0; p + 1 < logits.size(); ++p) {
      double sum = 0;
      for (const double logit : logits[p]) sum += std::exp(logit);
      result.loss.back().push_back(std::log(sum) - logits[p][at(ids[p + 1])]);
    }
  }

 private:
  void attend(const LayerSpec& layer, std::vector<Vector>& scores,
              std::vector<Vector>& probabilities) {
    const AttentionSpec& attention = layer.attention;
    const Rows normed = rms_norm(checkpoint_, layer.attention_norm, spec_.norm_epsilon, stream_);
    const Rows queries = linear(checkpoint_, attention.query, normed);
    const Rows keys = linear(checkpoint_, attention.key, normed);
    const Rows values = linear(checkpoint_, attention.value, normed);
    const int d = attention.head_dim;
    Rows outputs(at(length_), Vector(at(attention.query_heads * d)));
    for (int h = 0; h < attention.query_heads; ++h) {
      const int kv = h / (attention.query_heads / attention.key_value_heads);
      Vector score(at(length_ * length_));
      Vector probability(score.size());
      for (std::int64_t i = 0; i < length_; ++i) {
        const auto position = [&](std::int64_t p) {
          return static_cast<double>(spec_.first_position + p);
        };
        const Vector query = rotate(attention, head_of(queries[at(i)], h, d), position(i));
        double sum = 0;
        for (std::int64_t j = 0; j < length_; ++j) {
          const Vector key = rotate(attention, head_of(keys[at(j)], kv, d), position(j));
          score[at(i * length_ + j)] = attention.scale * dot(query, key);
          if (!attention.mask.visible(i, j)) continue;
          probability[at(i * length_ + j)] = std::exp(score[at(i * length_ + j)]);
          sum += probability[at(i * length_ + j)];
        }
        for (std::int64_t j = 0; j < length_; ++j) {
          probability[at(i * length_ + j)] /= sum;
          const Vector value = head_of(values[at(j)], kv, d);
          for (int c = 0; c < d; ++c) {
            outputs[at(i)][at(h * d + c)] += probability[at(i * length_ + j)] * value[at(c)];
          }
        }
      }
      scores.push_back(score);
      probabilities.push_back(probability);
    }
    add_to_stream(linear(checkpoint_, attention.output, outputs));
  }

  void feed_forward(const LayerSpec& layer) {
    const Rows normed = rms_norm(checkpoint_, layer.feed_forward_norm, spec_.norm_epsilon, stream_);
    Rows inner = linear(checkpoint_, layer.feed_forward.gate, normed);
    const Rows up = linear(checkpoint_, layer.feed_forward.up, normed);
    for (std::size_t r = 0; r < inner.size(); ++r) {
      for (std::size_t i = 0; i < inner[r].size(); ++i) {
        inner[r][i] = inner[r][i] / (1 + std::exp(-inner[r][i])) * up[r][i];
      }
    }
    add_to_stream(linear(checkpoint_, layer.feed_forward.down, inner));
  }

  void add_to_stream(const Rows& rows) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t i = 0; i < rows[r].size(); ++i) stream_[r][i] += rows[r][i];
    }
  }

  const Checkpoint& checkpoint_;
  const ModelSpec& spec_;
  std::int64_t length_;
  Rows stream_;
};

}  // namespace

ReferenceResult run_reference(const Checkpoint& checkpoint, const ModelSpec& spec,
                              const TokenBatch& batch) {
  ReferenceResult result;
  result.scores.resize(spec.layers.size());
  result.probabilities.resize(spec.layers.size());
  for (std::int64_t s = 0; s < batch.sequences(); ++s) {
    Sequence(checkpoint, spec, batch.length)
        .run(std::span(batch.ids).subspan(at(s * batch.length), at(batch.length)), result);
  }
  return result;
}

}  // namespace poslens
