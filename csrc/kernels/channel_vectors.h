// Between planes and vectors of channels: as many planes as a vector has lanes, turned so that each
// element is a vector. Included by translation units that are compiled once per ISA level.
#pragma once

#include "kernels/gemm_vectors.h"
#include "kernels/square.h"

namespace tensorlike {
namespace {

template <class T>
TL_INLINE void turn(Vector<T>* rows) {
  Square<T, static_cast<int>(sizeof(T)), kVectorBytes>::turn(rows);
}

// The first `count` lanes, zeros in the others.
template <class T>
TL_INLINE Vector<T> load_some(const T* from, int64_t count) {
  if (count >= kLanes<T>) return load<Vector<T>>(from);
#if defined(__AVX512F__)
  return load_masked<T>(mask_of<T>(count), from);
#else
  Vector<T> value{};
  for (int64_t i = 0; i < count; ++i) value[i] = from[i];
  return value;
#endif
}

template <class T>
TL_INLINE void store_some(T* to, Vector<T> value, int64_t count) {
  if (count >= kLanes<T>) {
    store(to, value);
    return;
  }
#if defined(__AVX512F__)
  store_masked<T>(to, mask_of<T>(count), value);
#else
  for (int64_t i = 0; i < count; ++i) to[i] = value[i];
#endif
}

// Elements [0, count) of planes `step` apart, element by element, to rows of `columns` vectors that
// lie `length` vectors apart.
template <class T>
void to_vectors(const T* from, int64_t channels, int64_t step, int64_t count, T* to,
                int64_t columns, int64_t length) {
  constexpr int kCount = kLanes<T>;
  int64_t column = 0;
  for (int64_t i = 0; i < count; i += kCount) {
    const int64_t here = count - i < kCount ? count - i : kCount;
    Vector<T> rows[kCount];
#pragma GCC unroll 16
    for (int c = 0; c < kCount; ++c) {
      rows[c] = load_some(from + (c < channels ? c : 0) * step + i, here);
    }
    turn<T>(rows);
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      if (k >= here) break;
      *reinterpret_cast<Vector<T>*>(to) = rows[k];
      to += kCount;
      if (++column == columns) {
        column = 0;
        to += (length - columns) * kCount;
      }
    }
  }
}

template <class T>
void from_vectors(const T* from, int64_t channels, int64_t step, int64_t count, T* to) {
  constexpr int kCount = kLanes<T>;
  for (int64_t i = 0; i < count; i += kCount) {
    const int64_t here = count - i < kCount ? count - i : kCount;
    Vector<T> rows[kCount];
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      rows[k] = *reinterpret_cast<const Vector<T>*>(from + (i + (k < here ? k : 0)) * kCount);
    }
    turn<T>(rows);
#pragma GCC unroll 16
    for (int c = 0; c < kCount; ++c) {
      if (c < channels) store_some(to + c * step + i, rows[c], here);
    }
  }
}

}  // namespace
}  // namespace tensorlike
