// Moving elements: one function copies any strided view to any other at the speed of memory. It
// exists so that whatever only moves elements (copies, concatenation, padding, transposed reads)
// shares one plan: dimensions merged and ordered by the target, words widened, the innermost two
// copied by rows or as transposed tiles, and the rest split among the threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorlike {

// Copies the elements that `in` sees to those that `out` sees; both have this shape, elements of
// `size` bytes, and strides in elements. An input stride may be 0 or negative, an output stride
// negative. The two must not overlap.
void move_strided(char* out, std::span<const int64_t> out_strides, const char* in,
                  std::span<const int64_t> in_strides, std::span<const int64_t> shape, size_t size);

// Copies n bytes with several threads.
void move_bytes(char* out, const char* in, int64_t n);

}  // namespace tensorlike
