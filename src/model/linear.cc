#include "model/linear.h"

#include <fmt/format.h>

#include <dnnl.hpp>
#include <map>
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
T* WeightMatrix<T>::resize(std::int64_t outputs, std::int64_t inputs) {
  outputs_ = outputs;
  inputs_ = inputs;
  rows_.resize(static_cast<std::size_t>(outputs * inputs));
  return rows_.data();
}

template <typename T>
void WeightMatrix<T>::pack() {
  // Longer rows do not stay in the cache as packed panels; the library's own copies of plain ones
  // do (measured with oneDNN 2.6: 15 % faster packed at 576 inputs, 40 % slower at 4096).
  constexpr std::int64_t kMostInputs = 2048;
  if (inputs_ > kMostInputs) {
    packed_.resize(0);
    return;
  }
  guarded(kType<T>, [&] {
    const dnnl::memory::desc plain({inputs_, outputs_}, kType<T>, Layout::ba);
    const dnnl::memory::desc layout = packed_layout(outputs_, inputs_, kType<T>);
    packed_.resize(layout.get_size());
    dnnl::memory from(plain, cpu(), rows_.data());
    dnnl::memory to(layout, cpu(), packed_.data());
    dnnl::stream stream(cpu());
    dnnl::reorder(from, to).execute(stream, from, to);
  });
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
void Products::run(std::int64_t m, const T* x, const WeightMatrix<T>& weights, bool accumulate,
                   float* y) {
  state_->run({m, weights.outputs(), weights.inputs(),
               weights.packed() ? Order::packed : Order::columns, accumulate, kType<T>},
              x, weights.data(), y);
}
template void Products::run(std::int64_t, const float*, const WeightMatrix<float>&, bool, float*);
template void Products::run(std::int64_t, const simd::BFloat16*,
                            const WeightMatrix<simd::BFloat16>&, bool, float*);

}  // namespace poslens
