// Stacks of small matrices, a block of them at a time: one in each lane of a vector
// (kernels/lane_matrices.h). Each function says whether the matrices are of that kind; the others
// are LAPACK's.
#pragma once

#include <bit>

#include "cpu/matrix_factors.h"
#include "kernels/lane_matrices.h"

namespace tensorlike {

inline constexpr int64_t kMostLanes = 32;
// Larger ones are solved as quickly by plain loops, where there is no other.
inline constexpr int64_t kMostAlone = 8;

template <class T>
const LaneKernels<T>& lane_kernels() {
  const LaneTable& table = lane_table();
  if constexpr (std::is_same_v<T, float>) {
    return table.floats;
  } else if constexpr (std::is_same_v<T, double>) {
    return table.doubles;
  } else if constexpr (std::is_same_v<T, Complex<float>>) {
    return table.complex_floats;
  } else {
    return table.complex_doubles;
  }
}

// Whether so many rows and columns fit.
template <class T>
bool fits_lanes(int64_t rows, int64_t columns) {
  constexpr int64_t kRoom = LaneKernels<T>::kMostSide * LaneKernels<T>::kMostSide;
  return rows <= lane_kernels<T>().most_side && rows * columns <= kRoom;
}

// The matrices of a block as an operand.
template <class T>
class LaneBlock {
 public:
  LaneBlock(const Matrices<T>& x, int64_t first, int64_t count, bool is_turned = false)
      : operand{places_, is_turned ? x.column_stride : x.row_stride,
                is_turned ? x.row_stride : x.column_stride} {
    x.places(first, count, places_);
  }
  LaneBlock(const LaneBlock&) = delete;
  LaneBlock& operator=(const LaneBlock&) = delete;

 private:
  const T* places_[kMostLanes];

 public:
  const LaneOperand<T> operand;
};

// Calls run(first, size, refused) for the blocks of a stack, each of whose matrices is worth `work`
// multiply-adds. The blocks are always the same ones.
template <class T, class Run>
void each_lane_block(const Op& op, int64_t count, double work, Run&& run) {
  constexpr double kGrain = 1e6;
  const int64_t lanes = lane_kernels<T>().lanes;
  const int64_t blocks = (count + lanes - 1) / lanes;
  FirstRefused refused(count);
  {
    BlockingRegion blocking(work * static_cast<double>(count) > 2e5);
    const double share = kGrain / (work * static_cast<double>(lanes));
    parallel_for(blocks, std::max<int64_t>(1, static_cast<int64_t>(share)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end && refused.comes_after(i * lanes); ++i) {
                     check_interrupt();
                     run(i * lanes, std::min(lanes, count - i * lanes), refused);
                   }
                 });
  }
  refused.tell(op);
}

// The first of the matrices whose bits are set is refused.
inline void refuse(FirstRefused& refused, int64_t first, uint32_t bits, const Refusal* why) {
  if (bits != 0) refused.note(first + std::countr_zero(bits), why);
}

// What loading a matrix into lanes costs beside the arithmetic.
inline double lane_work(int64_t rows, int64_t columns, double work) {
  return work + 8 * static_cast<double>(rows * columns);
}

template <class T>
bool cholesky_in_lanes(const Op& op, const Matrices<T>& x, int64_t count, bool is_upper, T* to) {
  const int64_t n = x.rows;
  if (!fits_lanes<T>(n, n)) return false;
  each_lane_block<T>(op, count, lane_work(n, n, cube(n) / 6),
                     [&](int64_t first, int64_t size, FirstRefused& refused) {
                       const LaneBlock<T> block(x, first, size);
                       uint32_t infinite = 0;
                       const uint32_t indefinite = lane_kernels<T>().cholesky(
                           block.operand, size, n, is_upper, to + first * n * n, infinite);
                       refuse(refused, first, infinite, &kNotFinite);
                       refuse(refused, first, indefinite & ~infinite, &kIndefinite);
                     });
  return true;
}

// Solutions of a x = b; without a b the inverses of a.
template <class T>
bool solve_in_lanes(const Op& op, const Matrices<T>& a, const Matrices<T>* b, int64_t count,
                    T* to) {
  const int64_t n = a.rows;
  const int64_t k = b == nullptr ? n : b->columns;
  if (!fits_lanes<T>(n, n) || !fits_lanes<T>(n, k)) return false;
  const bool is_one = count > 1 && a.at(0) == a.at(count - 1);  // which is factored once
  if (is_one || (count == 1 && n > kMostAlone)) return false;
  const double work = cube(n) + static_cast<double>(n * n * k);
  each_lane_block<T>(op, count, lane_work(n, n + k, work),
                     [&](int64_t first, int64_t size, FirstRefused& refused) {
                       const LaneBlock<T> left(a, first, size);
                       const LaneBlock<T> right(b == nullptr ? a : *b, first, size);
                       const uint32_t singular = lane_kernels<T>().solve(
                           left.operand, b == nullptr ? LaneOperand<T>() : right.operand, size, n,
                           k, to + first * n * k);
                       refuse(refused, first, singular, &kSingular);
                     });
  return true;
}

// x a = b is a^T x^T = b^T.
template <class T>
bool solve_triangular_in_lanes(const Op& op, const Matrices<T>& a, const Matrices<T>& b,
                               int64_t count, bool is_left, bool is_upper, bool is_unit, T* to) {
  const int64_t n = a.rows;
  const int64_t k = is_left ? b.columns : b.rows;
  if (!fits_lanes<T>(n, n) || !fits_lanes<T>(n, k)) return false;
  each_lane_block<T>(
      op, count, lane_work(n, n + k, static_cast<double>(n * n * k) / 2),
      [&](int64_t first, int64_t size, FirstRefused& refused) {
        const LaneBlock<T> left(a, first, size, !is_left);
        const LaneBlock<T> right(b, first, size, !is_left);
        const LaneResult<T> result{to + first * n * k, n * k, is_left ? k : 1, is_left ? 1 : n};
        const uint32_t singular = lane_kernels<T>().solve_triangular(
            left.operand, right.operand, size, n, k, is_upper != is_left, is_unit, result);
        refuse(refused, first, singular, &kSingular);
      });
  return true;
}

// What finds the eigenvalues of Hermitian parts, or singular values: `values` of each matrix. Calls
// later(i) as for qr_in_lanes; it gives why a matrix is refused, or null.
template <class T, class Find, class Later>
void values_in_lanes(const Op& op, const Matrices<T>& x, int64_t count, Find&& find,
                     Later&& later) {
  const double sides = static_cast<double>(std::max(x.rows, x.columns));
  each_lane_block<T>(op, count, lane_work(x.rows, x.columns, 30 * sides * sides * sides),
                     [&](int64_t first, int64_t size, FirstRefused& refused) {
                       const LaneBlock<T> block(x, first, size);
                       uint32_t infinite = 0;
                       uint32_t left = find(block.operand, size, first, infinite) & ~infinite;
                       refuse(refused, first, infinite, &kNotFinite);
                       for (; left != 0; left &= left - 1) {
                         const int64_t i = first + std::countr_zero(left);
                         if (const Refusal* why = later(i)) refused.note(i, why);
                       }
                     });
}

template <class T, class Later>
bool eigenvalues_in_lanes(const Op& op, const Matrices<T>& x, int64_t count, Real<T>* to,
                          Later&& later) {
  if constexpr (is_complex<T>) {
    return false;
  } else {
    if (x.rows > lane_kernels<T>().most_turned) return false;
    values_in_lanes(
        op, x, count,
        [&](const LaneOperand<T>& block, int64_t size, int64_t first, uint32_t& infinite) {
          return lane_kernels<T>().eigenvalues(block, size, x.rows, to + first * x.rows, infinite);
        },
        later);
    return true;
  }
}

template <class T, class Later>
bool singular_values_in_lanes(const Op& op, const Matrices<T>& x, int64_t count, Real<T>* to,
                              Later&& later) {
  if constexpr (is_complex<T>) {
    return false;
  } else {
    if (std::max(x.rows, x.columns) > lane_kernels<T>().most_turned) return false;
    const int64_t k = std::min(x.rows, x.columns);
    values_in_lanes(
        op, x, count,
        [&](const LaneOperand<T>& block, int64_t size, int64_t first, uint32_t& infinite) {
          return lane_kernels<T>().singular_values(block, size, x.rows, x.columns, to + first * k,
                                                   infinite);
        },
        later);
    return true;
  }
}

// Calls later(i) for matrices whose numbers leave the range in which lanes are exact.
template <class T, class Later>
bool qr_in_lanes(const Op& op, const Matrices<T>& x, int64_t count, int64_t width, T* q, T* r,
                 Later&& later) {
  if constexpr (is_complex<T>) {
    return false;
  } else {
    const int64_t m = x.rows;
    const int64_t n = x.columns;
    if (std::max(m, n) > lane_kernels<T>().most_side) return false;
    const double work = 4 * static_cast<double>(m * n * width);
    each_lane_block<T>(
        op, count, lane_work(m, n + width, work), [&](int64_t first, int64_t size, FirstRefused&) {
          const LaneBlock<T> block(x, first, size);
          uint32_t left = lane_kernels<T>().qr(block.operand, size, m, n, width,
                                               q + first * m * width, r + first * width * n);
          for (; left != 0; left &= left - 1) later(first + std::countr_zero(left));
        });
    return true;
  }
}

// Calls found(i, determinant), or later(i) where a product on the way is no normal number.
template <class T, class Found, class Later>
bool determinants_in_lanes(const Op& op, const Matrices<T>& x, int64_t count, Found&& found,
                           Later&& later) {
  const int64_t n = x.rows;
  if (!fits_lanes<T>(n, n)) return false;
  each_lane_block<T>(
      op, count, lane_work(n, n, cube(n)), [&](int64_t first, int64_t size, FirstRefused&) {
        const LaneBlock<T> block(x, first, size);
        T values[kMostLanes];
        const uint32_t left = lane_kernels<T>().determinant(block.operand, size, n, values);
        for (int64_t i = 0; i < size; ++i) {
          (left >> i & 1U) != 0 ? later(first + i) : found(first + i, values[i]);
        }
      });
  return true;
}

}  // namespace tensorlike
