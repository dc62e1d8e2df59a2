// Recurrences over whole sequences. The weights are packed once; then each thread takes some rows
// of the batch through all steps, since rows know nothing of each other and no step has to wait.
// What happens in a cell is a declared scalar function.
#include "op/recurrent.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "kernels/kernel_table.h"
#include "kernels/panels.h"
#include "memory/workspace.h"
#include "op/families.h"

namespace tensorlike {
namespace {

template <class T>
TileKernel scalar(std::string_view name) {
  return kernel_table().scalars.find(name)->second[dtype_of<T>];
}

// A matrix of weights (k, n), packed by all threads, or kept with them.
template <class T>
const T* packed_weight(const Panels<T>& panels, const T* from, int64_t row_stride,
                       int64_t column_stride, int64_t k, int64_t n, KeptForms* forms,
                       Workspace& workspace) {
  const int64_t step = panels.columns();
  const auto pack = [&](char* memory) {
    T* const to = reinterpret_cast<T*>(memory);
    parallel_for((n + step - 1) / step, 4, [&](int64_t begin, int64_t end) {
      panels.pack(to + begin * step * k, k, from + begin * step * column_stride, row_stride,
                  column_stride, k, std::min(n, end * step) - begin * step);
    });
  };
  const size_t bytes = static_cast<size_t>(panels.packed_size(k, n)) * sizeof(T);
  const char* kept = nullptr;
  if (forms != nullptr) {
    const int64_t width = static_cast<int64_t>(sizeof(T));
    kept = forms->get({"recurrence", from, {k, n, row_stride, column_stride, width}}, bytes, pack);
  }
  if (kept != nullptr) return reinterpret_cast<const T*>(kept);
  char* const memory = workspace.bytes(bytes);
  pack(memory);
  return reinterpret_cast<const T*>(memory);
}

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

// All steps of a few rows of the batch after each other. What a step is multiplied to lies in the
// gates, or in the states of cells that have none.
template <class T>
struct Forward {
  const Sequence s;
  const Cell kind;
  const T *sums, *hidden, *rest;
  T *states, *cells, *gates;
  TileKernel add = scalar<T>("add");
  TileKernel make = scalar<T>(kind.is_lstm()                 ? "lstm_cell"
                              : kind.is_gru()                ? "gru_cell"
                              : kind.kind == CellKind::kTanh ? "tanh"
                                                             : "relu");

  void run(const T* weight, KeptForms* forms, Workspace& workspace) const {
    BlockingRegion blocking(s.is_long());
    const Panels<T> panels;
    const int64_t products = kind.products * s.size;
    const T* const packed =
        packed_weight(panels, weight, 1, s.size, s.size, products, forms, workspace);
    const int64_t width = kind.has_gates() ? kind.gates * s.size : s.size;
    T* const target = kind.has_gates() ? gates : states;
    parallel_for(s.batch, s.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t step = 0; step < s.length; ++step) {
        check_interrupt();
        const int64_t first = s.row(step, begin);
        panels.multiply(end - begin, products, s.size, s.before(states, hidden, step, begin),
                        s.size, 1, packed, s.size, target + first * width, width, false);
        if (kind.is_gru()) {
          for (int64_t r = begin; r < end; ++r) gru(step, r);
          continue;
        }
        // Rows that follow each other are one.
        const int64_t count = (end - begin) * width;
        add_to(target + first * width, sums + first * width, count);
        if (kind.is_lstm()) {
          for (int64_t r = begin; r < end; ++r) lstm(step, r);
        } else {
          void* const out[] = {states + first * width};
          const void* const in[] = {states + first * width};
          make(out, in, count);
        }
      }
    });
  }

 private:
  void add_to(T* to, const T* from, int64_t n) const {
    void* const out[] = {to};
    const void* const in[] = {to, from};
    add(out, in, n);
  }

  void lstm(int64_t step, int64_t row) const {
    const int64_t at = s.row(step, row);
    const T* const gate = gates + at * 4 * s.size;
    const void* const in[] = {gate, gate + s.size, gate + 2 * s.size, gate + 3 * s.size,
                              s.before(cells, rest, step, row)};
    void* const out[] = {states + at * s.size, cells + at * s.size};
    make(out, in, s.size);
  }

  // Gates: reset and update, what the hidden state and what the inputs add to the candidate.
  void gru(int64_t step, int64_t row) const {
    const int64_t at = s.row(step, row);
    T* const gate = gates + at * 4 * s.size;
    const T* const sum = sums + at * 3 * s.size;
    add_to(gate, rest, 3 * s.size);
    add_to(gate, sum, 2 * s.size);
    std::memcpy(gate + 3 * s.size, sum + 2 * s.size, static_cast<size_t>(s.size) * sizeof(T));
    const void* const in[] = {gate, gate + s.size, gate + 3 * s.size, gate + 2 * s.size,
                              s.before(states, hidden, step, row)};
    void* const out[] = {states + at * s.size};
    make(out, in, s.size);
  }
};

// Backwards through the steps. `flows` are the gradients by the gates, or by the sums where a cell
// has no gates or its gates are the sums themselves.
template <class T>
struct Backward {
  const Sequence s;
  const Cell kind;
  const T *hidden, *states, *dstates;
  const T *cell, *cells, *dcells;  // of an LSTM
  const T *gates, *dgates;         // the last one may be null
  T *dsums, *dweight, *dhidden, *drest, *flows;
  TileKernel add = scalar<T>("add");
  TileKernel grad = scalar<T>(kind.is_lstm()                 ? "lstm_cell_grad"
                              : kind.is_gru()                ? "gru_cell_grad"
                              : kind.kind == CellKind::kTanh ? "tanh_dx"
                                                             : "relu_dx");
  const int64_t products = kind.products * s.size;
  const int64_t width = kind.has_gates() ? kind.gates * s.size : s.size;

  void run(const T* weight, Workspace& workspace) const {
    BlockingRegion blocking(s.is_long());
    const Panels<T> panels;
    const T* const packed =
        packed_weight(panels, weight, s.size, 1, products, s.size, nullptr, workspace);
    parallel_for(s.batch, s.grain(), [&](int64_t begin, int64_t end) {
      // What flows back into the states: in the end, into those before the first step.
      T* const flow = dhidden + begin * s.size;
      std::fill_n(flow, (end - begin) * s.size, T{0});
      if (kind.is_lstm()) std::fill_n(drest + begin * s.size, (end - begin) * s.size, T{0});
      for (int64_t step = s.length; step-- > 0;) {
        check_interrupt();
        for (int64_t r = begin; r < end; ++r) cell_back(step, r);
        // A GRU's state flows past the gates, too.
        panels.multiply(end - begin, s.size, products, flows + s.row(step, begin) * width, width, 1,
                        packed, products, flow, s.size, kind.is_gru());
      }
    });
    add_weights();
    if (kind.is_gru()) add_biases();
  }

 private:
  // From the gradients of a row's states to that of its gates, and of the cell before.
  void cell_back(int64_t step, int64_t row) const {
    const int64_t at = s.row(step, row);
    T* const dh = dhidden + row * s.size;
    T* const to = flows + at * width;
    add_to(dh, dstates + at * s.size, s.size);
    if (kind.is_lstm()) {
      lstm(step, row, dh, to);
    } else if (kind.is_gru()) {
      gru(step, row, dh, to);
    } else {
      const void* const in[] = {states + at * s.size, dh};
      void* const out[] = {to};
      grad(out, in, s.size);
    }
    if (dgates != nullptr) add_to(to, dgates + at * width, width);
    if (!kind.is_gru()) return;
    T* const sum = dsums + at * products;
    const size_t bytes = static_cast<size_t>(s.size) * sizeof(T);
    std::memcpy(sum, to, 2 * bytes);
    std::memcpy(sum + 2 * s.size, to + 3 * s.size, bytes);
  }

  void lstm(int64_t step, int64_t row, const T* dh, T* to) const {
    const int64_t at = s.row(step, row);
    T* const dc = drest + row * s.size;
    add_to(dc, dcells + at * s.size, s.size);
    const T* const gate = gates + at * width;
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
  }

  void gru(int64_t step, int64_t row, T* dh, T* to) const {
    const T* const gate = gates + s.row(step, row) * width;
    const void* const in[] = {gate,
                              gate + s.size,
                              gate + 3 * s.size,
                              gate + 2 * s.size,
                              s.before(states, hidden, step, row),
                              dh};
    void* const out[] = {to, to + s.size, to + 3 * s.size, to + 2 * s.size, dh};
    grad(out, in, s.size);
  }

  void add_to(T* to, const T* from, int64_t n) const {
    void* const out[] = {to};
    const void* const in[] = {to, from};
    add(out, in, n);
  }

  // One product of all steps but the first, and one of that.
  void add_weights() const {
    if (s.length == 0) {
      std::fill_n(dweight, products * s.size, T{0});
      return;
    }
    const int64_t rest = s.batch * s.size;  // elements of a step's states
    const T* const later = flows + (s.is_reverse ? 0 : s.batch * width);
    const T* const earlier = states + (s.is_reverse ? rest : 0);
    const T* const first = flows + s.time(0) * s.batch * width;
    multiply(later, earlier, (s.length - 1) * s.batch, false);
    multiply(first, hidden, s.batch, true);
  }
  void multiply(const T* flow, const T* state, int64_t rows, bool accumulate) const {
    const GemmOperand<T> a = {flow, 1, width};
    const GemmOperand<T> b = {state, 1, s.size};
    gemm<T>(products, s.size, rows, a, b, dweight, s.size, accumulate);
  }

  // The sums of the products' gradients over all steps and rows, a few columns for each thread.
  void add_biases() const {
    parallel_for(products, 64, [&](int64_t begin, int64_t end) {
      std::vector<double> sums(static_cast<size_t>(end - begin));
      for (int64_t r = 0; r < s.length * s.batch; ++r) {
        const T* const row = flows + r * width + begin;
        for (size_t j = 0; j < sums.size(); ++j) sums[j] += static_cast<double>(row[j]);
      }
      std::copy(sums.begin(), sums.end(), drest + begin);
    });
  }
};

template <class T>
void run_forward(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Cell kind = cell_of(op);
  auto in = [&](size_t i) { return inputs[i]->as<T>(); };
  auto out = [&](size_t i) { return outputs[i]->as<T>(); };
  const Dims& shape = outputs[0]->shape;
  const Sequence sequence = {shape[0], shape[1], shape[2], op.get<bool>("reverse")};
  Forward<T>{sequence,
             kind,
             in(0),
             in(2),
             inputs.size() > 3 ? in(3) : nullptr,
             out(0),
             kind.is_lstm() ? out(1) : nullptr,
             kind.has_gates() ? out(outputs.size() - 1) : nullptr}
      .run(in(1), inputs[1]->forms, workspace);
}

template <class T>
void run_backward(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Cell kind = cell_of(op);
  auto at = [](Arrays arrays, size_t i) {
    return i < arrays.size() ? arrays[i]->as<T>() : nullptr;
  };
  auto in = [&](size_t i) { return at(inputs, i); };
  auto out = [&](size_t i) { return at(outputs, i); };
  const Dims& shape = inputs[2]->shape;
  const Sequence sequence = {shape[0], shape[1], shape[2], op.get<bool>("reverse")};
  const bool is_lstm = kind.is_lstm();
  Backward<T>{sequence,
              kind,
              in(1),
              in(2),
              in(3),
              is_lstm ? in(4) : nullptr,
              is_lstm ? in(5) : nullptr,
              is_lstm ? in(7) : nullptr,
              kind.has_gates() ? in(is_lstm ? 6 : 4) : nullptr,
              kind.has_gates() ? in(is_lstm ? 8 : 5) : nullptr,
              out(0),
              out(1),
              out(2),
              out(3),
              kind.is_gru() ? workspace.take<T>(shape[0] * shape[1] * 4 * shape[2]) : out(0)}
      .run(in(0), workspace);
}

void recurrence(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const bool is_float = outputs[0]->dtype == DType::kFloat32;
  (is_float ? run_forward<float> : run_forward<double>)(op, inputs, outputs, workspace);
}

void recurrence_grad(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const bool is_float = outputs[0]->dtype == DType::kFloat32;
  (is_float ? run_backward<float> : run_backward<double>)(op, inputs, outputs, workspace);
}

constexpr std::pair<std::string_view, KernelRule> kRecurrentKernels[] = {
    {"recurrence", recurrence},
    {"recurrence_grad", recurrence_grad},
};

}  // namespace

RuleTable<KernelRule> recurrent_kernels() { return kRecurrentKernels; }

}  // namespace tensorlike
