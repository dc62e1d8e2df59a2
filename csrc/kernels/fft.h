// One-dimensional Fourier transforms of many lines of a tensor: what the kernels are given.
#pragma once

#include <cstdint>

namespace tensorlike {

// Complex to complex, real to the half of the spectrum that says all, and back from that half.
enum class FftKind : uint8_t { kComplex, kRealToHalf, kHalfToReal };

// Lines along one axis of a contiguous tensor, seen as (outer, size, inner): line l begins at
// element l / inner * size * inner + l % inner, its elements are `inner` apart. For kComplex, out
// may be in.
struct FftLines {
  FftKind kind;
  bool is_inverse;  // the sign of the exponent: + for the inverse transform
  double scale;
  int64_t length;  // of the transform: elements of a line; of the real line where one is complex
  int64_t inner;
  int64_t lines;
  const void* in;
  void* out;
};

// The transforms of one real dtype. A plan holds the roots of unity of a length; it is not changed
// by running it.
struct FftKernels {
  void* (*make_plan)(int64_t length, bool is_real) = nullptr;
  void (*free_plan)(void* plan, bool is_real) = nullptr;
  // Transforms the lines of groups [begin, end). Lines go in groups of `width`, side by side in
  // vectors; how a line is rounded follows from its number, not from who asks for it.
  void (*run)(const void* plan, const FftLines& lines, int64_t begin, int64_t end) = nullptr;
  int64_t width = 1;
};

}  // namespace tensorlike
