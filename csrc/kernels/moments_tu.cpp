// The squares of the deviations from the mean, added up in one pass over memory, for one ISA level.
// A block is summed and then measured from its own mean while it is in cache; blocks are joined by
// Chan's formula, which does not cancel as the difference of two sums would.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/lanes.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int kLanes = 32;

// Of some elements: how many, their mean, and the sum of the squares of what is left.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;
};

// Chan's formula: as if the elements of both had been looked at together.
inline void add(Moments& moments, const Moments& other) {
  if (other.count == 0) return;
  const double count = moments.count + other.count;
  const double apart = other.mean - moments.mean;
  moments.mean += apart * (other.count / count);
  moments.squares += other.squares + apart * apart * (moments.count * other.count / count);
  moments.count = count;
}

template <class T, class F>
double sum_of(const T* x, int64_t n, F&& f) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += f(static_cast<double>(x[i + l]));
  }
  for (int l = 0; i < n; ++i, ++l) lanes[l] += f(static_cast<double>(x[i]));
  return joined<kLanes>(lanes, [](auto a, auto b) { return a + b; });
}

// n accumulators: the count that they share, n means, n sums of squares.
template <class T>
struct Loops {
  static void start(void* acc, int64_t n) {
    std::fill_n(static_cast<double*>(acc), 2 * n + 1, 0.0);
  }

  static void row(void* acc, const void* data, int64_t n) {
    const T* x = static_cast<const T*>(data);
    double* state = static_cast<double*>(acc);
    Moments total{state[0], state[1], state[2]};
    for (int64_t at = 0; at < n; at += kTile) {
      const int64_t size = std::min(kTile, n - at);
      const double count = static_cast<double>(size);
      // From an element on: what is left of equal ones is 0, without rounding.
      const double first = static_cast<double>(x[at]);
      const double mean =
          first + sum_of(x + at, size, [first](double v) { return v - first; }) / count;
      const double squares =
          sum_of(x + at, size, [mean](double v) { return (v - mean) * (v - mean); });
      add(total, {count, mean, squares});
    }
    state[0] = total.count;
    state[1] = total.mean;
    state[2] = total.squares;
  }

  static void next_row(void* acc, const T* x, int64_t n) {
    double* count = static_cast<double*>(acc);
    double* means = count + 1;
    double* squares = means + n;
    const double weight = 1.0 / (*count += 1);
    for (int64_t j = 0; j < n; ++j) {
      const double value = static_cast<double>(x[j]);
      const double before = value - means[j];
      means[j] += before * weight;
      squares[j] += before * (value - means[j]);
    }
  }

  static void rows(void* acc, const void* data, int64_t n, int64_t count, int64_t step) {
    const T* x = static_cast<const T*>(data);
    for (int64_t r = 0; r < count; ++r) next_row(acc, x + r * step, n);
  }

  static void join(void* acc, const void* other, int64_t n) {
    double* to = static_cast<double*>(acc);
    const double* from = static_cast<const double*>(other);
    for (int64_t j = 1; j <= n; ++j) {
      Moments total{to[0], to[j], to[j + n]};
      add(total, {from[0], from[j], from[j + n]});
      to[j] = total.mean;
      to[j + n] = total.squares;
    }
    to[0] += from[0];
  }

  static void finish(void* out, const void* acc, int64_t n, int64_t) {
    std::copy_n(static_cast<const double*>(acc) + 1 + n, n, static_cast<double*>(out));
  }
};

template <class T>
ReductionKernel kernel() {
  using L = Loops<T>;
  constexpr int64_t kFewColumns = 8;
  static_assert(sizeof(Moments) <= ReductionKernel::kWidest);
  return {sizeof(Moments), L::start, L::row, L::rows, L::join, L::finish, kFewColumns};
}

}  // namespace

void TL_FILL(moments)(KernelTable& table);
void TL_FILL(moments)(KernelTable& table) {
  table.square_deviations[DType::kFloat32] = kernel<float>();
  table.square_deviations[DType::kFloat64] = kernel<double>();
}

}  // namespace tensorlike
