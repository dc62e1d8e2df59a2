// Fourier transforms along one axis, for one ISA level: pocketfft's plans, on groups of lines that
// lie side by side in vectors. pocketfft's own loops over many dimensions are not used: they would
// start threads of their own.
#include <cstring>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

#define POCKETFFT_NO_MULTITHREADING
#define POCKETFFT_CACHE_SIZE 0
// The linker must not merge one level's code into another's: each has a namespace of its own.
#define pocketfft TL_JOIN(pocketfft, TL_ISA)
#include "third_party/pocketfft/pocketfft_hdronly.h"

namespace tensorlike {
namespace {

namespace pf = pocketfft::detail;

template <class T>
constexpr int64_t kWidth = static_cast<int64_t>(pf::VLEN<T>::val);

// Where line l begins, in a tensor whose lines have `size` elements.
int64_t start_of(int64_t l, int64_t size, int64_t inner) {
  return l / inner * size * inner + l % inner;
}

// One line, or as many as a vector V has elements, on the way through a plan.
template <class T, class V>
class Group {
 public:
  static constexpr int64_t kLanes = sizeof(V) / sizeof(T);

  Group(const FftLines& lines, int64_t first)
      : lines_(lines), inner_(lines.inner), scale_(static_cast<T>(lines.scale)) {
    const int64_t half = lines.length / 2 + 1;
    const int64_t in_size = lines.kind == FftKind::kHalfToReal ? half : lines.length;
    const int64_t out_size = lines.kind == FftKind::kRealToHalf ? half : lines.length;
    for (int64_t j = 0; j < kLanes; ++j) {
      from_[j] = start_of(first + j, in_size, inner_);
      to_[j] = start_of(first + j, out_size, inner_);
    }
  }

  void complex(const pf::pocketfft_c<T>& plan, pf::cmplx<V>* buffer) const {
    for (int64_t i = 0; i < lines_.length; ++i) {
      for (int64_t j = 0; j < kLanes; ++j) {
        const Complex<T> z = in<Complex<T>>(i, j);
        set(buffer[i].r, j, z.re);
        set(buffer[i].i, j, z.im);
      }
    }
    plan.exec(buffer, scale_, !lines_.is_inverse);
    for (int64_t i = 0; i < lines_.length; ++i) {
      for (int64_t j = 0; j < kLanes; ++j) {
        out<Complex<T>>(i, j) = {get(buffer[i].r, j), get(buffer[i].i, j)};
      }
    }
  }

  // The plan's forward transform leaves re 0, re 1, im 1, re 2, im 2, ...
  void real_to_half(const pf::pocketfft_r<T>& plan, V* buffer) const {
    const int64_t n = lines_.length;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < kLanes; ++j) set(buffer[i], j, in<T>(i, j));
    }
    plan.exec(buffer, scale_, true);
    const T sign = lines_.is_inverse ? T(-1) : T(1);
    for (int64_t j = 0; j < kLanes; ++j) out<Complex<T>>(0, j) = {get(buffer[0], j), T(0)};
    for (int64_t i = 1; 2 * i < n; ++i) {
      for (int64_t j = 0; j < kLanes; ++j) {
        out<Complex<T>>(i, j) = {get(buffer[2 * i - 1], j), sign * get(buffer[2 * i], j)};
      }
    }
    if (n % 2 == 0) {
      for (int64_t j = 0; j < kLanes; ++j) {
        out<Complex<T>>(n / 2, j) = {get(buffer[n - 1], j), T(0)};
      }
    }
  }

  void half_to_real(const pf::pocketfft_r<T>& plan, V* buffer) const {
    const int64_t n = lines_.length;
    const T sign = lines_.is_inverse ? T(1) : T(-1);
    for (int64_t j = 0; j < kLanes; ++j) set(buffer[0], j, in<Complex<T>>(0, j).re);
    for (int64_t i = 1; 2 * i < n; ++i) {
      for (int64_t j = 0; j < kLanes; ++j) {
        const Complex<T> z = in<Complex<T>>(i, j);
        set(buffer[2 * i - 1], j, z.re);
        set(buffer[2 * i], j, sign * z.im);
      }
    }
    if (n % 2 == 0) {
      for (int64_t j = 0; j < kLanes; ++j) set(buffer[n - 1], j, in<Complex<T>>(n / 2, j).re);
    }
    plan.exec(buffer, scale_, false);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < kLanes; ++j) out<T>(i, j) = get(buffer[i], j);
    }
  }

 private:
  static void set(V& vector, int64_t j, T value) {
    if constexpr (kLanes == 1) {
      vector = value;
    } else {
      vector[j] = value;
    }
  }
  static T get(const V& vector, int64_t j) {
    if constexpr (kLanes == 1) {
      return vector;
    } else {
      return vector[j];
    }
  }
  template <class E>
  E in(int64_t i, int64_t j) const {
    return static_cast<const E*>(lines_.in)[from_[j] + i * inner_];
  }
  template <class E>
  E& out(int64_t i, int64_t j) const {
    return static_cast<E*>(lines_.out)[to_[j] + i * inner_];
  }

  const FftLines& lines_;
  const int64_t inner_;
  const T scale_;
  int64_t from_[kLanes];
  int64_t to_[kLanes];
};

// A line whose elements lie one after the other needs no buffer.
template <class T>
void complex_in_place(const pf::pocketfft_c<T>& plan, const FftLines& lines, int64_t l) {
  static_assert(sizeof(pf::cmplx<T>) == sizeof(Complex<T>));
  auto* to = static_cast<pf::cmplx<T>*>(lines.out) + l * lines.length;
  const auto* from = static_cast<const pf::cmplx<T>*>(lines.in) + l * lines.length;
  if (to != from) std::memcpy(to, from, static_cast<size_t>(lines.length) * sizeof(*to));
  plan.exec(to, static_cast<T>(lines.scale), !lines.is_inverse);
}

template <class T, class V>
void run_group(const void* plan, const FftLines& lines, int64_t first, pf::cmplx<V>* buffer) {
  const Group<T, V> group(lines, first);
  if (lines.kind == FftKind::kComplex) {
    group.complex(*static_cast<const pf::pocketfft_c<T>*>(plan), buffer);
  } else if (lines.kind == FftKind::kRealToHalf) {
    group.real_to_half(*static_cast<const pf::pocketfft_r<T>*>(plan), &buffer[0].r);
  } else {
    group.half_to_real(*static_cast<const pf::pocketfft_r<T>*>(plan), &buffer[0].r);
  }
}

template <class T>
void run(const void* plan, const FftLines& lines, int64_t begin, int64_t end) {
  const size_t length = static_cast<size_t>(lines.length);
  const int64_t last = lines.lines < end * kWidth<T> ? lines.lines : end * kWidth<T>;
  int64_t l = begin * kWidth<T>;
#ifndef POCKETFFT_NO_VECTORS
  if (l + kWidth<T> <= last) {
    using V = pf::vtype_t<T>;
    pf::arr<pf::cmplx<V>> buffer(length);
    for (; l + kWidth<T> <= last; l += kWidth<T>) run_group<T, V>(plan, lines, l, buffer.data());
  }
#endif
  if (lines.kind == FftKind::kComplex && lines.inner == 1) {
    for (; l < last; ++l) {
      complex_in_place(*static_cast<const pf::pocketfft_c<T>*>(plan), lines, l);
    }
    return;
  }
  pf::arr<pf::cmplx<T>> buffer(l < last ? length : 0);
  for (; l < last; ++l) run_group<T, T>(plan, lines, l, buffer.data());
}

template <class T>
void* make_plan(int64_t length, bool is_real) {
  const size_t n = static_cast<size_t>(length);
  if (is_real) return new pf::pocketfft_r<T>(n);
  return new pf::pocketfft_c<T>(n);
}

template <class T>
void free_plan(void* plan, bool is_real) {
  if (is_real) {
    delete static_cast<pf::pocketfft_r<T>*>(plan);
  } else {
    delete static_cast<pf::pocketfft_c<T>*>(plan);
  }
}

}  // namespace

void TL_FILL(ffts)(KernelTable& table);
void TL_FILL(ffts)(KernelTable& table) {
  table.ffts[DType::kFloat32] = {make_plan<float>, free_plan<float>, run<float>, kWidth<float>};
  table.ffts[DType::kFloat64] = {make_plan<double>, free_plan<double>, run<double>, kWidth<double>};
}

}  // namespace tensorlike
