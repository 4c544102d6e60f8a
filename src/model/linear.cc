#include "model/linear.h"

#include <fmt/format.h>

#include <bit>
#include <dnnl.hpp>
#include <map>
#include <span>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "poslens/error.h"

namespace poslens {
namespace {

using DataType = dnnl::memory::data_type;
using Layout = dnnl::memory::format_tag;

dnnl::engine& cpu() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

template <typename T>
constexpr DataType kType = std::is_same_v<T, float> ? DataType::f32 : DataType::bf16;

// How the right factor b [k, n] lies in memory.
enum class Order { rows, columns, packed };

struct Shape {
  std::int64_t m, n, k;
  Order b;
  bool accumulate;
  DataType type;

  auto tie() const { return std::tie(m, n, k, b, accumulate, type); }
  bool operator<(const Shape& other) const { return tie() < other.tie(); }
};

dnnl::matmul::primitive_desc describe(const Shape& shape, const dnnl::memory::desc& b) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  const dnnl::memory::desc a({shape.m, shape.k}, shape.type, Layout::ab);
  const dnnl::memory::desc c({shape.m, shape.n}, DataType::f32, Layout::ab);
  return {dnnl::matmul::desc(a, b, c), attributes, cpu()};
}

// Runs calls of the library and says in our words what it refuses.
template <typename Call>
void guarded(DataType type, const Call& call) try {
  call();
} catch (const dnnl::error& error) {
  const bool bf16 = type == DataType::bf16;
  throw Error(fmt::format("matrix product in {}: the matrix library refused it ({}){}",
                          bf16 ? "bf16" : "f32", error.what(),
                          bf16 ? "; bf16 needs a processor with AVX-512, f32 works on any" : ""));
}

// The layout that the library likes best; that for one number of rows serves all.
dnnl::memory::desc packed_layout(std::int64_t n, std::int64_t k, DataType type) {
  constexpr std::int64_t kRows = 256;
  thread_local std::map<std::tuple<std::int64_t, std::int64_t, DataType>, dnnl::memory::desc> known;
  dnnl::memory::desc& layout = known[{n, k, type}];
  if (!layout) {
    guarded(type, [&] {
      const dnnl::memory::desc any({k, n}, type, Layout::any);
      layout = describe({kRows, n, k, Order::packed, false, type}, any).weights_desc();
    });
  }
  return layout;
}

dnnl::memory::desc layout_of(const Shape& shape) {
  switch (shape.b) {
    case Order::rows:
      return {{shape.k, shape.n}, shape.type, Layout::ab};
    case Order::columns:
      return {{shape.k, shape.n}, shape.type, Layout::ba};
    case Order::packed:
      break;
  }
  return packed_layout(shape.n, shape.k, shape.type);
}

// The library takes what it reads and what it writes by the same type of pointer.
void* writable(const void* data) { return const_cast<void*>(data); }

bool has_tile_unit() {
  constexpr auto kTiles = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kTiles) == kTiles;
}

bool are_bf16(std::span<const float> values) {
  std::uint32_t bits = 0;
  for (const float value : values) bits |= std::bit_cast<std::uint32_t>(value);
  return (bits & 0xffff) == 0;
}

// A product compiled for one shape, and the handles it runs with.
class CompiledProduct {
 public:
  explicit CompiledProduct(const Shape& shape)
      : CompiledProduct(describe(shape, layout_of(shape))) {}

  std::size_t scratchpad_bytes() const { return scratchpad_.get_desc().get_size(); }

  void run(dnnl::stream& stream, const void* a, const void* b, float* c, void* scratchpad) {
    a_.set_data_handle(writable(a));
    b_.set_data_handle(writable(b));
    c_.set_data_handle(c);
    scratchpad_.set_data_handle(scratchpad);
    product_.execute(stream, arguments_);
  }

 private:
  explicit CompiledProduct(const dnnl::matmul::primitive_desc& compiled)
      : product_(compiled),
        a_(compiled.src_desc(), cpu(), nullptr),
        b_(compiled.weights_desc(), cpu(), nullptr),
        c_(compiled.dst_desc(), cpu(), nullptr),
        scratchpad_(compiled.scratchpad_desc(), cpu(), nullptr),
        arguments_{{DNNL_ARG_SRC, a_},
                   {DNNL_ARG_WEIGHTS, b_},
                   {DNNL_ARG_DST, c_},
                   {DNNL_ARG_SCRATCHPAD, scratchpad_}} {}

  dnnl::matmul product_;
  dnnl::memory a_, b_, c_, scratchpad_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

template <typename T>
T* WeightMatrix<T>::resize(std::int64_t outputs, std::int64_t inputs, CutAlong cut) {
  outputs_ = outputs;
  inputs_ = inputs;
  cut_ = cut;
  // Whole tiles, about as many columns as keep two f32 results beside the rest in a megabyte.
  constexpr std::int64_t kMostWidth = 512;
  constexpr std::int64_t kTile = 64;
  const std::int64_t whole = cut == CutAlong::outputs ? outputs : inputs;
  panels_ = cut == CutAlong::nothing ? 1 : (whole + kMostWidth - 1) / kMostWidth;
  width_ = (whole + panels_ * kTile - 1) / (panels_ * kTile) * kTile;
  panels_ = cut == CutAlong::nothing ? 1 : (whole + width_ - 1) / width_;
  rows_.resize(static_cast<std::size_t>(outputs * inputs));
  return rows_.data();
}

template <typename T>
void WeightMatrix<T>::pack() {
  // Longer rows do not stay in the cache as packed panels; the library's own copies of plain ones
  // do (measured with oneDNN 2.6: 15 % faster packed at 576 inputs, 40 % slower at 4096).
  constexpr std::int64_t kMostInputs = 2048;
  DataType type = kType<T>;
  if constexpr (std::is_same_v<T, float>) {
    const bool exact = has_tile_unit() && are_bf16(rows_.all());
    halves_.resize(exact ? rows_.size() : 0);
    if (exact) {
      simd::convert(rows_.all(), 1, halves_.all());
      type = DataType::bf16;
    }
  }
  if (panel_inputs(0) > kMostInputs) {
    packed_.resize(0);
    return;
  }
  guarded(type, [&] {
    const std::size_t bytes = packed_layout(panel_outputs(0), panel_inputs(0), type).get_size();
    packed_.resize(static_cast<std::size_t>(panels_) * bytes);
    dnnl::stream stream(cpu());
    for (std::int64_t panel = 0; panel < panels_; ++panel) {
      const std::int64_t n = panel_outputs(panel);
      const std::int64_t k = panel_inputs(panel);
      const auto first = static_cast<std::size_t>(
          cut_ == CutAlong::inputs ? panel * width_ : first_output(panel) * k);
      void* rows = halved() ? static_cast<void*>(halves_.data() + first) : rows_.data() + first;
      dnnl::memory from({{k, n}, type, dnnl::memory::dims{1, inputs_}}, cpu(), rows);
      dnnl::memory to(packed_layout(n, k, type), cpu(),
                      packed_.data() + static_cast<std::size_t>(panel) * bytes);
      dnnl::reorder(from, to).execute(stream, from, to);
    }
  });
}

template <typename T>
const void* WeightMatrix<T>::data(std::int64_t panel) const {
  if (packed())
    return packed_.data() +
           packed_.size() / static_cast<std::size_t>(panels_) * static_cast<std::size_t>(panel);
  const auto first = static_cast<std::size_t>(first_output(panel) * inputs_);
  return halved() ? static_cast<const void*>(halves_.data() + first) : rows_.data() + first;
}

template class WeightMatrix<float>;
template class WeightMatrix<simd::BFloat16>;

struct Products::State {
  dnnl::stream stream{cpu()};
  std::map<Shape, CompiledProduct> compiled;
  Buffer<char> scratchpad;

  void run(const Shape& shape, const void* a, const void* b, float* c) {
    guarded(shape.type, [&] {
      auto found = compiled.find(shape);
      if (found == compiled.end()) {
        found = compiled.try_emplace(shape, shape).first;
        if (found->second.scratchpad_bytes() > scratchpad.size()) {
          scratchpad.resize(found->second.scratchpad_bytes());
        }
      }
      found->second.run(stream, a, b, c, scratchpad.data());
    });
  }

  template <typename T>
  void run(const ProductShape& shape, const T* a, const T* b, float* c) {
    run({shape.m, shape.n, shape.k, shape.transposed ? Order::columns : Order::rows,
         shape.accumulate, kType<T>},
        a, b, c);
  }
};

Products::Products() : state_(std::make_unique<State>()) {}
Products::~Products() = default;
Products::Products(Products&&) noexcept = default;
Products& Products::operator=(Products&&) noexcept = default;

void Products::run(const ProductShape& shape, const float* a, const float* b, float* c) {
  state_->run(shape, a, b, c);
}
void Products::run(const ProductShape& shape, const simd::BFloat16* a, const simd::BFloat16* b,
                   float* c) {
  state_->run(shape, a, b, c);
}

template <typename T>
void Products::run(LeftFactor<T>& x, const WeightMatrix<T>& weights, std::int64_t panel,
                   bool accumulate, float* y) {
  Shape shape{x.m_,
              weights.panel_outputs(panel),
              weights.panel_inputs(panel),
              weights.packed() ? Order::packed : Order::columns,
              accumulate,
              weights.halved() ? DataType::bf16 : kType<T>};
  const void* right = weights.data(panel);
  if constexpr (std::is_same_v<T, float>) {
    if (weights.halved()) {
      const auto size = static_cast<std::size_t>(shape.m * shape.k);
      if (!x.is_split_) {
        for (Buffer<simd::BFloat16>& part : x.parts_) part.resize(size);
        simd::split({x.rows_, size}, x.parts_[0].all(), x.parts_[1].all(), x.parts_[2].all());
        x.is_split_ = true;
      }
      for (int part = 2; part >= 0; --part) {  // the smallest first, which loses the least
        state_->run(shape, x.parts_[static_cast<std::size_t>(part)].data(), right, y);
        shape.accumulate = true;
      }
      return;
    }
  }
  state_->run(shape, x.rows_, right, y);
}
template void Products::run(LeftFactor<float>&, const WeightMatrix<float>&, std::int64_t, bool,
                            float*);
template void Products::run(LeftFactor<simd::BFloat16>&, const WeightMatrix<simd::BFloat16>&,
                            std::int64_t, bool, float*);

}  // namespace poslens
