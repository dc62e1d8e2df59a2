// Kernels of alignments: sequences know nothing of each other, and are shared out among threads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "kernels/kernel_table.h"
#include "op/families.h"

namespace tensorlike {
namespace {

// What all sequences are given, checked: the kernels read where the labels point.
struct AlignedSequences {
  int64_t steps, count, classes, longest, blank;
  const Array& log_probs;
  Array labels, inputs, targets;

  AlignedSequences(const Op& op, Arrays args, Workspace& workspace)
      : steps(args[0]->shape[0]),
        count(args[0]->shape[1]),
        classes(args[0]->shape[2]),
        longest(args[1]->shape[1]),
        blank(op.get<int64_t>("blank")),
        log_probs(*args[0]),
        labels(prepared(*args[1], DType::kInt64, workspace)),
        inputs(prepared(*args[2], DType::kInt64, workspace)),
        targets(prepared(*args[3], DType::kInt64, workspace)) {
    for (int64_t n = 0; n < count; ++n) {
      check(op, "input_lengths", length(n), steps, n);
      check(op, "target_lengths", targets.as<int64_t>()[n], longest, n);
      for (int64_t i = 0; i < targets.as<int64_t>()[n]; ++i) {
        check(op, "labels", labels.as<int64_t>()[n * longest + i], classes - 1, n * longest + i);
      }
    }
  }

  int64_t states(int64_t n) const { return 2 * targets.as<int64_t>()[n] + 1; }
  int64_t length(int64_t n) const { return inputs.as<int64_t>()[n]; }
  int64_t most_states() const { return 2 * longest + 1; }

 private:
  static void check(const Op& op, const char* name, int64_t got, int64_t most, int64_t at) {
    if (got >= 0 && got <= most) return;
    fail(ErrorKind::kIndex, said::op(op.name()), said::argument(name), "must be in [0, ", most, "]",
         said::got(got, " at position ", at));
  }
};

// The path of a sequence, and what its kernels need beside it.
template <class T>
struct Path {
  std::vector<int64_t> classes;
  std::vector<T> hop, scratch;
  CtcSequence sequence;

  explicit Path(const AlignedSequences& all)
      : classes(static_cast<size_t>(all.most_states())),
        hop(static_cast<size_t>(all.most_states() + kCtcMargin)),
        scratch(static_cast<size_t>(4 * (all.most_states() + kCtcMargin))) {}

  const CtcSequence& of(const AlignedSequences& all, int64_t n, bool keeps_all) {
    const int64_t states = all.states(n);
    const int64_t* const labels = all.labels.as<int64_t>() + n * all.longest;
    for (int64_t s = 0; s < states; ++s) {
      const size_t at = static_cast<size_t>(s);
      classes[at] = s % 2 == 0 ? all.blank : labels[s / 2];
      const bool can_hop = s > 1 && classes[at] != all.blank && classes[at] != classes[at - 2];
      hop[at] = can_hop ? T(0) : -std::numeric_limits<T>::infinity();
    }
    std::fill_n(hop.begin() + states, kCtcMargin, T(0));
    sequence = {all.log_probs.as<T>() + n * all.classes,
                all.count * all.classes,
                classes.data(),
                hop.data(),
                all.length(n),
                states,
                keeps_all};
    return sequence;
  }
};

// Minus the logarithm of the probability of ending in one of the last two states of `last`.
template <class T>
double loss_of(const CtcSequence& q, const T* last) {
  if (q.steps == 0) return q.states == 1 ? 0.0 : std::numeric_limits<double>::infinity();
  const double a = static_cast<double>(last[q.states - 1]);
  const double b = q.states > 1 ? static_cast<double>(last[q.states - 2])
                                : -std::numeric_limits<double>::infinity();
  const double most = std::max(a, b);
  if (a != a || b != b) return a + b;
  if (std::isinf(most)) return -most;
  return -(most + std::log(std::exp(a - most) + std::exp(b - most)));
}

// Calls f(path, n) for all sequences.
template <class T, class F>
void for_sequences(const AlignedSequences& all, F&& f) {
  const double work = static_cast<double>(all.steps) * static_cast<double>(all.most_states());
  BlockingRegion blocking(work * static_cast<double>(all.count) > 1e4);
  const int64_t grain = work > 2e3 ? 1 : std::max<int64_t>(all.count, 1);
  parallel_for(all.count, grain, [&](int64_t begin, int64_t end) {
    Path<T> path(all);
    for (int64_t n = begin; n < end; ++n) {
      check_interrupt();
      f(path, n);
    }
  });
}

template <class T>
void run_losses(const AlignedSequences& all, const Array& out) {
  const CtcKernels& kernels = kernel_table().ctc[out.dtype];
  const int64_t width = all.most_states() + kCtcMargin;
  for_sequences<T>(all, [&](Path<T>& path, int64_t n) {
    const CtcSequence& q = path.of(all, n, false);
    std::vector<T> rows(static_cast<size_t>(2 * width));
    kernels.forward(q, rows.data(), path.scratch.data());
    const int64_t last = q.steps % 2 == 0 ? q.states + kCtcMargin : 0;
    out.as<T>()[n] = static_cast<T>(loss_of(q, rows.data() + kCtcMargin + last));
  });
}

template <class T>
void run_gradient(const AlignedSequences& all, const T* cotangent, const Array& out,
                  Workspace& workspace) {
  const CtcKernels& kernels = kernel_table().ctc[out.dtype];
  const int64_t whole = all.steps * (all.most_states() + kCtcMargin);
  T* const tables = workspace.take<T>(all.count * whole);
  for_sequences<T>(all, [&](Path<T>& path, int64_t n) {
    const CtcSequence& q = path.of(all, n, true);
    const int64_t width = q.states + kCtcMargin;
    T* const gradient = out.as<T>() + n * all.classes;
    for (int64_t step = 0; step < all.steps; ++step) {
      std::fill_n(gradient + step * q.stride, all.classes, T(0));
    }
    T* const table = tables + n * whole;
    kernels.forward(q, table, path.scratch.data());
    const T* const last = table + (q.steps - 1) * width + kCtcMargin;
    const double loss = loss_of(q, last);
    if (q.steps == 0 || std::isinf(loss) || cotangent[n] == T(0)) return;
    T* const flow = path.scratch.data() + 2 * width;
    std::fill_n(flow, q.states, T(0));
    for (int64_t s = std::max<int64_t>(q.states - 2, 0); s < q.states; ++s) {
      const double share = std::exp(static_cast<double>(last[s]) + loss);
      flow[s] = static_cast<T>(-static_cast<double>(cotangent[n]) * share);
    }
    kernels.backward(q, table, gradient, path.scratch.data());
  });
}

void ctc(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const AlignedSequences all(op, inputs, workspace);
  const Array& out = *outputs[0];
  out.dtype == DType::kFloat32 ? run_losses<float>(all, out) : run_losses<double>(all, out);
}

void ctc_grad(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const AlignedSequences all(op, inputs, workspace);
  const Array& cotangent = *inputs[4];
  const Array& out = *outputs[0];
  out.dtype == DType::kFloat32 ? run_gradient(all, cotangent.as<float>(), out, workspace)
                               : run_gradient(all, cotangent.as<double>(), out, workspace);
}

constexpr std::pair<std::string_view, KernelRule> kAlignmentKernels[] = {
    {"ctc", ctc},
    {"ctc_grad", ctc_grad},
};

}  // namespace

RuleTable<KernelRule> alignment_kernels() { return kAlignmentKernels; }

}  // namespace tensorlike
