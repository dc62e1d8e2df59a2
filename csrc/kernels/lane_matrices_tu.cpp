// Small matrices, one in each lane of a vector, for one ISA level.
#include "kernels/isa_names.h"
#include "kernels/lane_factors.h"
#include "kernels/lane_matrices.h"
#include "kernels/lane_rotations.h"

namespace tensorlike {
namespace {

// Of so few matrices each is treated alone.
template <class T>
constexpr int64_t kFew = kLanes<Real<T>> / 4;
// Rotations of a larger one, alone, take longer than LAPACK.
constexpr int64_t kMostAlone = 4;
// By the number of lanes: LAPACK's ways are as quick beyond.
template <class T>
constexpr int64_t most_of(int64_t of_16, int64_t of_8, int64_t of_4, int64_t of_2) {
  constexpr int64_t kLane = kLanes<Real<T>>;
  return kLane >= 16 ? of_16 : kLane >= 8 ? of_8 : kLane >= 4 ? of_4 : of_2;
}

// One number, and as many as fill vectors.
template <class T>
struct Forms {
  using One = T;
  using Many = Vector<T>;
};
template <class R>
struct Forms<Complex<R>> {
  using One = Pair<R>;
  using Many = Pair<Vector<R>>;
};

template <class T>
struct Choice {
  using V = typename Forms<T>::Many;
  using One = typename Forms<T>::One;

  // Calls one(i), which gives a bit, for each matrix.
  template <class Treat>
  static Bits each(int64_t count, Treat one) {
    Bits found = 0;
    for (int64_t i = 0; i < count; ++i) found |= one(i) << i;
    return found;
  }
  static LaneOperand<T> from(const LaneOperand<T>& x, int64_t i) {
    return {x.at == nullptr ? nullptr : x.at + i, x.row, x.column};
  }

  static Bits cholesky(const LaneOperand<T>& x, int64_t count, int64_t n, bool is_upper, T* to,
                       Bits& infinite) {
    if (count > kFew<T>) {
      return tensorlike::cholesky<T, V>(x, count, n, is_upper, to, infinite);
    }
    infinite = 0;
    return each(count, [&](int64_t i) {
      Bits own = 0;
      const Bits bit =
          tensorlike::cholesky<T, One>(from(x, i), 1, n, is_upper, to + i * n * n, own);
      infinite |= own << i;
      return bit;
    });
  }
  static Bits solve(const LaneOperand<T>& a, const LaneOperand<T>& b, int64_t count, int64_t n,
                    int64_t k, T* to) {
    if (count > kFew<T>) return tensorlike::solve<T, V>(a, b, count, n, k, to);
    return each(count, [&](int64_t i) {
      return tensorlike::solve<T, One>(from(a, i), from(b, i), 1, n, k, to + i * n * k);
    });
  }
  static Bits determinant(const LaneOperand<T>& x, int64_t count, int64_t n, T* to) {
    if (count > kFew<T>) return tensorlike::determinant<T, V>(x, count, n, to);
    return each(count, [&](int64_t i) {
      return tensorlike::determinant<T, One>(from(x, i), 1, n, to + i);
    });
  }
  static Bits solve_triangular(const LaneOperand<T>& a, const LaneOperand<T>& b, int64_t count,
                               int64_t n, int64_t k, bool is_lower, bool is_unit,
                               const LaneResult<T>& to) {
    if (count > kFew<T>) {
      return tensorlike::solve_triangular<T, V>(a, b, count, n, k, is_lower, is_unit, to);
    }
    return each(count, [&](int64_t i) {
      const LaneResult<T> own{to.data + i * to.matrix, to.matrix, to.row, to.column};
      return tensorlike::solve_triangular<T, One>(from(a, i), from(b, i), 1, n, k, is_lower,
                                                  is_unit, own);
    });
  }
  static Bits qr(const LaneOperand<T>& x, int64_t count, int64_t m, int64_t n, int64_t width, T* q,
                 T* r) {
    if (count > kFew<T>) return tensorlike::qr<T, V>(x, count, m, n, width, q, r);
    return each(count, [&](int64_t i) {
      return tensorlike::qr<T, One>(from(x, i), 1, m, n, width, q + i * m * width,
                                    r + i * width * n);
    });
  }

  static Bits eigenvalues(const LaneOperand<T>& x, int64_t count, int64_t n, T* to,
                          Bits& infinite) {
    if (count > kFew<T>) return tensorlike::eigenvalues<T, V>(x, count, n, to, infinite);
    infinite = 0;
    if (n > kMostAlone) return static_cast<Bits>((uint64_t{1} << count) - 1);
    return each(count, [&](int64_t i) {
      Bits own = 0;
      const Bits bit = tensorlike::eigenvalues<T, One>(from(x, i), 1, n, to + i * n, own);
      infinite |= own << i;
      return bit;
    });
  }
  static Bits singular_values(const LaneOperand<T>& x, int64_t count, int64_t m, int64_t n, T* to,
                              Bits& infinite) {
    if (count > kFew<T>) return tensorlike::singular_values<T, V>(x, count, m, n, to, infinite);
    infinite = 0;
    if (m > kMostAlone || n > kMostAlone) return static_cast<Bits>((uint64_t{1} << count) - 1);
    return each(count, [&](int64_t i) {
      Bits own = 0;
      const Bits bit =
          tensorlike::singular_values<T, One>(from(x, i), 1, m, n, to + i * (m < n ? m : n), own);
      infinite |= own << i;
      return bit;
    });
  }

  static constexpr LaneKernels<T> kernels() {
    LaneKernels<T> found;
    found.lanes = kLanes<Real<T>>;
    found.cholesky = cholesky;
    found.solve = solve;
    found.determinant = determinant;
    found.solve_triangular = solve_triangular;
    if constexpr (is_complex<T>) {
      found.most_side = most_of<T>(16, 16, 8, 4);
    } else {
      found.most_side = most_of<T>(kSide, kSide, 16, 8);
      found.most_turned = most_of<T>(kSide, 20, 10, 4);
      found.qr = qr;
      found.eigenvalues = eigenvalues;
      found.singular_values = singular_values;
    }
    return found;
  }
};

}  // namespace

namespace detail {

const LaneTable& TL_JOIN(lane_table, TL_ISA)() {
  static constexpr LaneTable kTable{Choice<float>::kernels(), Choice<double>::kernels(),
                                    Choice<Complex<float>>::kernels(),
                                    Choice<Complex<double>>::kernels()};
  return kTable;
}

}  // namespace detail
}  // namespace tensorlike
