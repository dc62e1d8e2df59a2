// Recurrences over whole sequences. The weights are packed once; then each thread takes some rows
// of the batch through all steps, since rows know nothing of each other and no step has to wait.
// What happens in a cell is a declared scalar function.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "kernels/kernel_table.h"
#include "kernels/panels.h"
#include "op/families.h"
#include "tensor/layout.h"
#include "tensor/scratch.h"

namespace tensorlike {
namespace {

constexpr int64_t kGates = 4;

template <class T>
TileKernel scalar(std::string_view name) {
  return kernel_table().scalars.find(name)->second[dtype_of<T>];
}

// A matrix of weights, packed by all threads.
template <class T>
class PackedWeight {
 public:
  PackedWeight(const Panels<T>& panels, const T* from, int64_t row_stride, int64_t column_stride,
               int64_t k, int64_t n)
      : memory_(new T[static_cast<size_t>(panels.packed_size(k, n))]) {
    const int64_t step = panels.columns();
    parallel_for((n + step - 1) / step, 4, [&](int64_t begin, int64_t end) {
      panels.pack(memory_.get() + begin * step * k, k, from + begin * step * column_stride,
                  row_stride, column_stride, k, std::min(n, end * step) - begin * step);
    });
  }
  const T* data() const { return memory_.get(); }

 private:
  std::unique_ptr<T[]> memory_;
};

// The sizes of a sequence and the order of its steps.
struct Sequence {
  int64_t length, batch, size;
  bool is_reverse;

  int64_t time(int64_t step) const { return is_reverse ? length - 1 - step : step; }
  // Where step `step`, counted from the first that is made, has the state before it: null for the
  // first.
  template <class T>
  const T* before(const T* states, const T* start, int64_t step, int64_t row) const {
    if (step == 0) return start + row * size;
    return states + (time(step - 1) * batch + row) * size;
  }
  int64_t row(int64_t step, int64_t row) const { return time(step) * batch + row; }
  bool is_long() const {
    return static_cast<double>(length * batch) * static_cast<double>(size * size) > 1e5;
  }
  int64_t grain() const { return is_long() ? (batch + num_threads() - 1) / num_threads() : batch; }
};

template <class T>
struct Forward {
  const Sequence s;
  const T *sums, *hidden, *cell;
  T *states, *cells, *gates;

  void run(const RawTensor& weight) const {
    BlockingRegion blocking(s.is_long());
    const Panels<T> panels;
    const PackedWeight<T> packed(panels, weight.as<T>(), weight.strides[1], weight.strides[0],
                                 s.size, kGates * s.size);
    const TileKernel add = scalar<T>("add");
    const TileKernel make = scalar<T>("lstm_cell");
    parallel_for(s.batch, s.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t step = 0; step < s.length; ++step) {
        check_interrupt();
        const int64_t first = s.row(step, begin);
        panels.multiply(end - begin, kGates * s.size, s.size, s.before(states, hidden, step, begin),
                        s.size, 1, packed.data(), s.size, gates + first * kGates * s.size,
                        kGates * s.size, false);
        for (int64_t r = 0; r < end - begin; ++r) {
          T* const gate = gates + (first + r) * kGates * s.size;
          void* const sum[] = {gate};
          const void* const terms[] = {gate, sums + (first + r) * kGates * s.size};
          add(sum, terms, kGates * s.size);
          const void* const in[] = {gate, gate + s.size, gate + 2 * s.size, gate + 3 * s.size,
                                    s.before(cells, cell, step, begin + r)};
          void* const out[] = {states + (first + r) * s.size, cells + (first + r) * s.size};
          make(out, in, s.size);
        }
      }
    });
  }
};

template <class T>
struct Backward {
  const Sequence s;
  const T *hidden, *cell, *states, *cells, *gates;
  const T *dstates, *dcells, *dgates;  // the last one may be null
  T *dsums, *dweight, *dhidden, *dcell;
  TileKernel add = scalar<T>("add");
  TileKernel grad = scalar<T>("lstm_cell_grad");

  void run(const RawTensor& weight) const {
    BlockingRegion blocking(s.is_long());
    const Panels<T> panels;
    const PackedWeight<T> packed(panels, weight.as<T>(), weight.strides[0], weight.strides[1],
                                 kGates * s.size, s.size);
    parallel_for(s.batch, s.grain(), [&](int64_t begin, int64_t end) {
      // What flows back into the states: in the end, into those before the first step.
      T* const flow = dhidden + begin * s.size;
      std::fill_n(flow, (end - begin) * s.size, T{0});
      std::fill_n(dcell + begin * s.size, (end - begin) * s.size, T{0});
      for (int64_t step = s.length; step-- > 0;) {
        check_interrupt();
        for (int64_t r = begin; r < end; ++r) cell_back(step, r);
        panels.multiply(end - begin, s.size, kGates * s.size,
                        dsums + s.row(step, begin) * kGates * s.size, kGates * s.size, 1,
                        packed.data(), kGates * s.size, flow, s.size, false);
      }
    });
    add_weights();
  }

 private:
  // From the gradients of a row's states to that of its gates and of the cell before.
  void cell_back(int64_t step, int64_t row) const {
    const int64_t at = s.row(step, row);
    T* const dh = dhidden + row * s.size;
    T* const dc = dcell + row * s.size;
    add_to(dh, dstates + at * s.size, s.size);
    add_to(dc, dcells + at * s.size, s.size);
    const T* const gate = gates + at * kGates * s.size;
    T* const to = dsums + at * kGates * s.size;
    const void* const in[] = {gate,
                              gate + s.size,
                              gate + 2 * s.size,
                              gate + 3 * s.size,
                              s.before(cells, cell, step, row),
                              cells + at * s.size,
                              dh,
                              dc};
    void* const out[] = {to, to + s.size, to + 2 * s.size, to + 3 * s.size, dc};
    grad(out, in, s.size);
    if (dgates != nullptr) add_to(to, dgates + at * kGates * s.size, kGates * s.size);
  }

  void add_to(T* to, const T* from, int64_t n) const {
    void* const out[] = {to};
    const void* const in[] = {to, from};
    add(out, in, n);
  }

  // One product of all steps but the first, and one of that.
  void add_weights() const {
    if (s.length == 0) {
      std::fill_n(dweight, kGates * s.size * s.size, T{0});
      return;
    }
    const int64_t rest = s.batch * s.size;  // elements of a step's states
    const T* const later = dsums + (s.is_reverse ? 0 : kGates * rest);
    const T* const earlier = states + (s.is_reverse ? rest : 0);
    const T* const first = dsums + s.time(0) * kGates * rest;
    multiply(later, earlier, (s.length - 1) * s.batch, false);
    multiply(first, hidden, s.batch, true);
  }
  void multiply(const T* flow, const T* state, int64_t rows, bool accumulate) const {
    const GemmOperand<T> a = {flow, 1, kGates * s.size};
    const GemmOperand<T> b = {state, 1, s.size};
    gemm<T>(kGates * s.size, s.size, rows, a, b, dweight, s.size, accumulate);
  }
};

// Runs f with the element type that is computed in; small floats are computed in float.
template <class F>
Values computed(const Specs& outputs, F&& f) {
  const DType dtype = compute_of(outputs[0].dtype);
  Values held;
  for (const Spec& spec : outputs) held.push_back(RawTensor::empty(dtype, spec.shape));
  dtype == DType::kFloat32 ? f(float{}, held) : f(double{}, held);
  for (size_t i = 0; i < held.size(); ++i) {
    held[i] = cast_if_needed(static_cast<RawTensor&>(*held[i]), outputs[i].dtype);
  }
  return held;
}

// All inputs in one dtype and in order.
template <class T>
std::vector<Ref<RawTensor>> in_order(RawArgs inputs) {
  std::vector<Ref<RawTensor>> found;
  for (RawTensor* input : inputs) {
    found.push_back(contiguous(*cast_if_needed(*input, dtype_of<T>)));
  }
  return found;
}

Values lstm(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  return computed(outputs, [&](auto tag, const Values& held) {
    using T = decltype(tag);
    const std::vector<Ref<RawTensor>> x = in_order<T>(inputs);
    auto out = [&](size_t i) { return static_cast<RawTensor&>(*held[i]).as<T>(); };
    const Dims& shape = outputs[0].shape;
    const Sequence sequence = {shape[0], shape[1], shape[2], op.get<bool>("reverse")};
    Forward<T>{sequence, x[0]->as<T>(), x[2]->as<T>(), x[3]->as<T>(), out(0), out(1), out(2)}.run(
        *x[1]);
  });
}

Values lstm_grad(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  return computed(outputs, [&](auto tag, const Values& held) {
    using T = decltype(tag);
    const std::vector<Ref<RawTensor>> x = in_order<T>(inputs);
    auto in = [&](size_t i) { return i < x.size() ? x[i]->as<T>() : nullptr; };
    auto out = [&](size_t i) { return static_cast<RawTensor&>(*held[i]).as<T>(); };
    const Dims& shape = inputs[3]->shape;
    const Sequence sequence = {shape[0], shape[1], shape[2], op.get<bool>("reverse")};
    Backward<T>{sequence, in(1), in(2),  in(3),  in(4),  in(5), in(6),
                in(7),    in(8), out(0), out(1), out(2), out(3)}
        .run(*x[0]);
  });
}

constexpr std::pair<std::string_view, Kernel> kKernels[] = {
    {"lstm", lstm},
    {"lstm_grad", lstm_grad},
};

}  // namespace

RuleTable<Kernel> recurrent_kernels() { return kKernels; }

}  // namespace tensorlike
