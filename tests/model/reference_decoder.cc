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

// W x + b for every row x, W and b being the rows of the tensors that the map names.
Rows linear(const Checkpoint& checkpoint, const LinearSpec& spec, const Rows& inputs,
            std::int64_t outputs_wanted) {
  const Rows tensor = read_matrix(checkpoint, spec.weight);
  const Vector bias = spec.bias.empty() ? Vector() : read_matrix(checkpoint, spec.bias)[0];
  Rows outputs;
  for (const Vector& x : inputs) {
    Vector y(at(outputs_wanted));
    for (std::int64_t o = 0; o < outputs_wanted; ++o) {
      const std::int64_t block = spec.rows.block == 0 ? outputs_wanted : spec.rows.block;
      const std::size_t row = at(spec.rows.first + o / block * spec.rows.stride + o % block);
      if (!bias.empty()) y[at(o)] = bias[row];
      for (std::size_t i = 0; i < x.size(); ++i) {
        y[at(o)] += (spec.transposed ? tensor[i][row] : tensor[row][i]) * x[i];
      }
    }
    outputs.push_back(y);
  }
  return outputs;
}

Vector joined(const Checkpoint& checkpoint, const std::vector<std::string>& names) {
  Vector values;
  for (const std::string& name : names) {
    for (const Vector& row : read_matrix(checkpoint, name)) {
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  return values;
}

// Each consecutive `width` coordinates of a row are normed by themselves; weights repeat when there
// are fewer than coordinates.
Rows norm(const Checkpoint& checkpoint, const NormSpec& spec, const Rows& inputs,
          std::size_t width) {
  if (spec.kind == NormSpec::Kind::none) return inputs;
  const Vector weight = joined(checkpoint, spec.weight);
  const Vector bias = spec.bias.empty() ? Vector() : joined(checkpoint, {spec.bias});
  Rows outputs = inputs;
  for (Vector& x : outputs) {
    for (std::size_t first = 0; first < x.size(); first += width) {
      const auto n = static_cast<double>(width);
      double mean = 0;
      double square = 0;
      for (std::size_t i = first; i < first + width; ++i) {
        mean += x[i] / n;
        square += x[i] * x[i] / n;
      }
      if (spec.kind == NormSpec::Kind::rms) mean = 0;
      const double root = std::sqrt(square - mean * mean + spec.epsilon);
      for (std::size_t i = first; i < first + width; ++i) {
        const double w = weight.empty() ? 1 : weight[i % weight.size()] + (spec.adds_one ? 1 : 0);
        x[i] = w * (x[i] - mean) / root + (bias.empty() ? 0 : bias[i % bias.size()]);
      }
    }
  }
  return outputs;
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      break;
  }
  return x / (1 + std::exp(-x));
}

double capped(double x, double cap) { return cap == 0 ? x : cap * std::tanh(x / cap); }

// Head h of a row that holds several.
Vector head_of(const Vector& row, int h, int head_dim) {
  return {row.begin() + h * head_dim, row.begin() + (h + 1) * head_dim};
}

// Rotates one head in place of its pairs, at a position.
Vector rotate(const AttentionSpec& attention, Vector head, double position, std::int64_t length) {
  if (!attention.rotary) return head;
  const RotarySpec rotary = scaled(*attention.rotary, attention.rope_scaling, length);
  const Vector inverse = inverse_frequencies(rotary);
  for (std::size_t k = 0; k < inverse.size(); ++k) {
    const bool neighbours = attention.rotary_pairs == RotaryPairs::interleaved;
    double& a = neighbours ? head[2 * k] : head[k];
    double& b = neighbours ? head[2 * k + 1] : head[k + inverse.size()];
    const double angle = position * inverse[k];
    const double cosine = rotary.attention_factor * std::cos(angle);
    const double sine = rotary.attention_factor * std::sin(angle);
    const double turned = a * cosine - b * sine;
    b = a * sine + b * cosine;
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
    const Rows positions = spec_.learned_positions.empty()
                               ? Rows()
                               : read_matrix(checkpoint_, spec_.learned_positions);
    for (std::size_t p = 0; p < ids.size(); ++p) {
      Vector row = embedding[at(ids[p])];
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] *= spec_.embedding_scale;
        if (!positions.empty()) row[i] += positions[at(spec_.first_position) + p][i];
      }
      stream_.push_back(row);
    }
    stream_ = norm_rows(spec_.embedding_norm, stream_);
    result.hidden.emplace_back();
    result.hidden.back().push_back(stream_);
    for (std::size_t l = 0; l < spec_.layers.size(); ++l) {
      const LayerSpec& layer = spec_.layers[l];
      const Rows input = stream_;
      const Rows attention_input = norm_rows(layer.attention_norm, stream_);
      result.scores[l].emplace_back();
      result.probabilities[l].emplace_back();
      if (layer.residual == Residual::from_norm) stream_ = attention_input;
      add_to_stream(norm_rows(layer.attention_output_norm,
                              attend(layer.attention, attention_input, result.scores[l].back(),
                                     result.probabilities[l].back())));
      const Rows feed_forward_input = norm_rows(
          layer.feed_forward_norm, layer.residual == Residual::parallel ? input : stream_);
      if (layer.residual == Residual::from_norm) stream_ = feed_forward_input;
      add_to_stream(norm_rows(layer.feed_forward_output_norm,
                              feed_forward(layer.feed_forward, feed_forward_input)));
      result.hidden.back().push_back(stream_);
    }
    const Rows logits =
        linear(checkpoint_, spec_.head, norm_rows(spec_.final_norm, stream_), spec_.vocabulary);
    result.loss.emplace_back();
    for (std::size_t p = 0; p + 1 < logits.size(); ++p) {
      const auto value = [&](double logit) {
        return capped(logit * spec_.logit_scale, spec_.logit_softcap);
      };
      double sum = 0;
      for (const double logit : logits[p]) sum += std::exp(value(logit));
      result.loss.back().push_back(std::log(sum) - value(logits[p][at(ids[p + 1])]));
    }
  }

 private:
  Rows norm_rows(const NormSpec& spec, const Rows& rows) const {
    return norm(checkpoint_, spec, rows, rows[0].size());
  }

  // A projection to heads, cut and normed; d and heads as the attention has them.
  Rows project(const AttentionSpec& attention, const LinearSpec& spec, const NormSpec& head_norm,
               const Rows& inputs, int heads) const {
    Rows rows = linear(checkpoint_, spec, inputs, std::int64_t{heads} * attention.head_dim);
    for (Vector& row : rows) {
      for (double& x : row) {
        if (attention.clip != 0) x = std::clamp(x, -attention.clip, attention.clip);
      }
    }
    return norm(checkpoint_, head_norm, rows,
                attention.norm_spans_heads ? rows[0].size() : at(attention.head_dim));
  }

  Rows attend(const AttentionSpec& attention, const Rows& inputs, std::vector<Vector>& scores,
              std::vector<Vector>& probabilities) const {
    const Rows queries =
        project(attention, attention.query, attention.query_norm, inputs, attention.query_heads);
    const Rows keys =
        project(attention, attention.key, attention.key_norm, inputs, attention.key_value_heads);
    const Rows values = project(attention, attention.value, {}, inputs, attention.key_value_heads);
    const Matrix<float> bias = attention.alibi
                                   ? alibi_bias(*attention.alibi, attention.query_heads, length_)
                                   : Matrix<float>(at(attention.query_heads), at(length_));
    const int d = attention.head_dim;
    Rows outputs(at(length_), Vector(at(attention.query_heads * d)));
    for (int h = 0; h < attention.query_heads; ++h) {
      const int kv = h / (attention.query_heads / attention.key_value_heads);
      Vector score(at(length_ * length_));
      Vector probability(score.size());
      const auto rotated = [&](const Rows& rows, int head) {
        Rows turned;
        for (std::int64_t p = 0; p < length_; ++p) {
          turned.push_back(rotate(attention, head_of(rows[at(p)], head, d),
                                  static_cast<double>(spec_.first_position + p),
                                  spec_.first_position + length_));
        }
        return turned;
      };
      const Rows head_queries = rotated(queries, h);
      const Rows head_keys = rotated(keys, kv);
      for (std::int64_t i = 0; i < length_; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < length_; ++j) {
          const double product = attention.scale * dot(head_queries[at(i)], head_keys[at(j)]);
          score[at(i * length_ + j)] = capped(product, attention.softcap) + bias(at(h), at(j));
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
    return linear(checkpoint_, attention.output, outputs, spec_.hidden);
  }

  Rows feed_forward(const FeedForwardSpec& spec, const Rows& inputs) const {
    Rows inner = linear(checkpoint_, spec.gated() ? spec.gate : spec.up, inputs, spec.width);
    const Rows up = linear(checkpoint_, spec.up, inputs, spec.width);
    for (std::size_t r = 0; r < inner.size(); ++r) {
      for (std::size_t i = 0; i < inner[r].size(); ++i) {
        inner[r][i] = activate(spec.activation, inner[r][i]) * (spec.gated() ? up[r][i] : 1);
      }
    }
    return linear(checkpoint_, spec.down, inner, spec_.hidden);
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
