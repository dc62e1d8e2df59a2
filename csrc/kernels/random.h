// Random numbers: what the kernels are given. A number is a function of the stream and of the
// number of its element, so it is the same for any number of threads and however work is cut.
#pragma once

#include <cstdint>

namespace tensorlike {

struct RandomStream {
  uint64_t key;      // of Philox4x32-10
  uint32_t counter;  // the number of the draw under this key
};

// Numbers of one dtype: elements first, ..., first + n - 1 of a draw.
struct RandomKernels {
  // Multiples of 2^-bits in [0, 1); floats alone.
  void (*uniform)(void* out, int64_t n, RandomStream stream, int64_t first, int bits) = nullptr;
  // Of the standard normal distribution; floats alone.
  void (*normal)(void* out, int64_t n, RandomStream stream, int64_t first) = nullptr;
  // The same within (low, high); doubles alone.
  void (*truncated_normal)(double* out, int64_t n, RandomStream stream, int64_t first, double low,
                           double high) = nullptr;
  // All bits are random; unsigned integers of 32 and 64 bits alone.
  void (*bits)(void* out, int64_t n, RandomStream stream, int64_t first) = nullptr;
  // low + an integer in [0, range), each as likely as the others; int64 alone.
  void (*integers)(int64_t* out, int64_t n, RandomStream stream, int64_t first, int64_t low,
                   uint64_t range) = nullptr;
  // Of distributions with a parameter for each element; doubles alone.
  void (*gamma)(double* out, const double* shape, int64_t n, RandomStream stream, int64_t first,
                bool is_log) = nullptr;
  void (*poisson)(double* out, const double* rate, int64_t n, RandomStream stream,
                  int64_t first) = nullptr;
};

}  // namespace tensorlike
