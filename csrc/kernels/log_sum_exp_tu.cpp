// The logarithm of a sum of exponentials, in one pass over memory, for one ISA level: the sum is
// kept relative to a shift that follows the largest element.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/row_loops.h"

namespace tensorlike {
namespace {

// Columns move the shift when an element is larger than it by more than this, so that roundings of
// what was there are few; exp of it is far from overflow.
constexpr int kSlack = 8;

// n accumulators: n sums, then n shifts. Shifts are finite until an element is infinite: then equal
// ones are 0 apart, though their difference is NaN.
template <class T>
struct Loops {
  static constexpr size_t kAccumulator = 2 * sizeof(double);
  static double* sums_of(void* acc) { return static_cast<double*>(acc); }
  static T* shifts_of(void* acc, int64_t n) { return reinterpret_cast<T*>(sums_of(acc) + n); }

  static void start(void* acc, int64_t n) {
    std::fill_n(sums_of(acc), n, 0.0);
    std::fill_n(shifts_of(acc, n), n, std::numeric_limits<T>::lowest());
  }

  // Adds a sum that is relative to another shift.
  static void add(double& sum, T& shift, double other, T other_shift) {
    const T larger = maximum(shift, other_shift);
    auto moved = [=](double value, T from) {
      // Exponentials that underflow are slow, and there is one at each start.
      const bool stays = value == 0 || from == larger;
      return stays ? value : value * __builtin_exp(double{from} - double{larger});
    };
    sum = moved(sum, shift) + moved(other, other_shift);
    shift = larger;
  }

  // An infinity would pass over NaN: no exponentials follow, in which it would show.
  static T largest_or_nan(const T* x, int64_t n) {
    const T largest = row_largest(x, n);
    if (largest != std::numeric_limits<T>::infinity()) return largest;
    const double nans = row_sum<T>(n, [=](int64_t i) { return x[i] == x[i] ? T(0) : T(1); });
    return nans > 0 ? std::numeric_limits<T>::quiet_NaN() : largest;
  }

  static void row(void* acc, const void* data, int64_t n) {
    const T* x = static_cast<const T*>(data);
    double& sum = *sums_of(acc);
    T& shift = *shifts_of(acc, 1);
    for (int64_t at = 0; at < n; at += kTile) {
      const int64_t size = std::min(kTile, n - at);
      const T largest = largest_or_nan(x + at, size);
      if (largest != largest || largest == std::numeric_limits<T>::infinity()) {
        add(sum, shift, 1.0, largest);
        continue;
      }
      if (largest > shift) add(sum, shift, 0.0, largest);
      const T fixed = shift;
      const T* from = x + at;
      sum += row_sum<T>(size, [=](int64_t i) { return exp_of_negative(from[i] - fixed); });
    }
  }

  static void next_row(void* acc, const T* x, int64_t n) {
    double* sums = sums_of(acc);
    T* shifts = shifts_of(acc, n);
    for (int64_t j = 0; j < n; ++j) {
      const T value = x[j];
      const T shift = shifts[j];
      const T apart = value == shift ? T(0) : value - shift;
      const bool moves = apart > T(kSlack);
      const double factor = static_cast<double>(vm::exp(moves ? -apart : apart));
      const double sum = sums[j];
      sums[j] = moves ? sum * factor + 1.0 : sum + factor;
      shifts[j] = moves ? value : shift;
    }
  }

  static void rows(void* acc, const void* data, int64_t n, int64_t count, int64_t step) {
    const T* x = static_cast<const T*>(data);
    for (int64_t r = 0; r < count; ++r) next_row(acc, x + r * step, n);
  }

  static void join(void* acc, const void* other, int64_t n) {
    double* sums = sums_of(acc);
    T* shifts = shifts_of(acc, n);
    const double* added = static_cast<const double*>(other);
    const T* from = reinterpret_cast<const T*>(added + n);
    for (int64_t j = 0; j < n; ++j) add(sums[j], shifts[j], added[j], from[j]);
  }

  static void finish(void* out, const void* acc, int64_t n, int64_t) {
    const double* sums = static_cast<const double*>(acc);
    const T* shifts = reinterpret_cast<const T*>(sums + n);
    for (int64_t j = 0; j < n; ++j) {
      static_cast<T*>(out)[j] = static_cast<T>(__builtin_log(sums[j]) + double{shifts[j]});
    }
  }
};

template <class T>
ReductionKernel kernel() {
  using L = Loops<T>;
  constexpr int64_t kFewColumns = 8;
  static_assert(L::kAccumulator <= ReductionKernel::kWidest);
  return {L::kAccumulator, L::start, L::row, L::rows, L::join, L::finish, kFewColumns};
}

}  // namespace

void TL_FILL(log_sum_exp)(KernelTable& table);
void TL_FILL(log_sum_exp)(KernelTable& table) {
  table.log_sum_exp[DType::kFloat32] = kernel<float>();
  table.log_sum_exp[DType::kFloat64] = kernel<double>();
}

}  // namespace tensorlike
