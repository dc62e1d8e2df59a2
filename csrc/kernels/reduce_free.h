// Extremes of integers, and whether any or all are true: elements that may be combined in any
// order, and twice, with the same bits, in vectors of them as they are stored. Included once per
// ISA level, inside an anonymous namespace: see gemm_isa.h.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/gemm_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own
#include "kernels/kernel_table.h"
#include "kernels/lanes.h"

namespace tensorlike {
namespace {

template <class T, class Combine>
struct FreeElements {
  template <int kBytes>
  using Units = typename VectorOf<T, kBytes>::Type;

  // Elements after which one may look whether all is decided.
  static constexpr int64_t kPiece = (int64_t{32} << 10) / static_cast<int64_t>(sizeof(T));
  static constexpr int kLeastBytes = 16;

  // What n > 0 elements give.
  static T of(const T* in, int64_t n) {
    constexpr int64_t kFew = kLeastBytes / static_cast<int64_t>(sizeof(T));
    if (n < kFew) {
      T found = in[0];
      for (int64_t i = 1; i < n; ++i) found = Combine{}(found, in[i]);
      return found;
    }
    if (kLeastBytes < kVectorBytes && n < kWidth) {
      return in_vectors<kLeastBytes, 1>(in, n);
    }
    return in_vectors<kVectorBytes, 4>(in, n);
  }

  static constexpr int64_t kWidth = kVectorBytes / static_cast<int64_t>(sizeof(T));
  // Rows of so many elements are joined for as many rows at once as a vector has lanes.
  static constexpr int64_t kMostTogether = 8 * kWidth;

  // What each of `count` rows gives, of kWidth to kMostTogether elements.
  static void each(T* out, const T* in, int64_t n, int64_t count, int64_t step) {
    using V = Units<kVectorBytes>;
    int64_t r = 0;
    for (; r + kWidth <= count; r += kWidth, in += kWidth * step) {
      V rows[kWidth];
      for (int64_t k = 0; k < kWidth; ++k) {
        rows[k] = n < 4 * kWidth ? folded<kVectorBytes, 1>(in + k * step, n)
                                 : folded<kVectorBytes, 4>(in + k * step, n);
      }
      store(out + r, join_rows(rows, [](V a, V b) { return static_cast<V>(Combine{}(a, b)); }));
    }
    for (; r < count; ++r, in += step) out[r] = of(in, n);
  }

  // Rows of so many elements at most, which follow each other, are joined by windows.
  static constexpr int64_t kMostShort = sizeof(T) < 4 ? kLeastBytes : 0;

  // What each of `count` rows of n > 1 elements gives, which others `follow`. All elements are
  // combined with those beside them, then with what those two further on give, and so on: vectors
  // need not know where a row begins, and of the windows of n elements that come of it, the first
  // of each row are wanted.
  static void each_short(T* out, const T* in, int64_t n, int64_t count, int64_t follow) {
    constexpr int64_t kSize = static_cast<int64_t>(sizeof(T));
    constexpr int64_t kSlack = kWidth + kMostShort;
    alignas(kVectorBytes) T windows[kWindows + kSlack];
    const StepCopy keep = move_kernels(kSize).steps(n * kSize);
    const int64_t together = kWindows / n;
    for (; count > 0; count -= together, in += together * n, out += together) {
      const int64_t rows = std::min(count, together);
      const T* from = in;
      if ((count - rows + follow) * n < kSlack) {
        std::copy_n(in, rows * n, windows);
        std::fill_n(windows + rows * n, kSlack, T{});
        from = windows;
      }
      int64_t width = 1;
      for (; 2 * width <= n; width *= 2, from = windows) widen(windows, from, rows * n, width);
      if (width < n) widen(windows, from, rows * n, n - width);
      keep(reinterpret_cast<char*>(out), reinterpret_cast<const char*>(windows), rows, n * kSize,
           0);
    }
  }

  // Columns of fewer bytes fill no vector.
  static constexpr int64_t kLeastColumns = kLeastBytes / static_cast<int64_t>(sizeof(T));

  // Fewer than fill a vector, of rows that follow each other, each combined with what there is: as
  // many rows as there are lanes are n whole vectors, which are combined with those of the rows
  // that follow. How many rows those were; the last ones are left.
  static int64_t few_columns(T* to, const T* in, int64_t n, int64_t count) {
    const int64_t rows =
        n < 8 ? 8 * kWidth : kWidth;  // so that vectors need not wait for each other
    const int64_t size = rows * n;
    if (n >= kWidth || count < 2 * rows) return 0;
    alignas(kVectorBytes) T found[(std::max<int64_t>(8 * 7, kWidth) + 1) * kWidth];
    std::copy_n(in, size, found);
    std::fill_n(found + size, kWidth, T{});
    int64_t done = rows;
    for (; done + rows <= count; done += rows) {
      const T* const from = in + done * n;
      for (int64_t i = 0; i < size; i += kWidth) {
        __builtin_prefetch(reinterpret_cast<const char*>(from + i) + kAhead);
        combine(found + i, from + i);
      }
    }
    // Half of the rows with the others, until there is one. What lies beyond them does not matter.
    for (int64_t half = size / 2; half >= n; half /= 2) {
      for (int64_t i = 0; i < half; i += kWidth) combine(found + i, found + half + i);
    }
    for (int64_t j = 0; j < n; ++j) to[j] = Combine{}(to[j], found[j]);
    return done;
  }

  // n >= kLeastColumns columns of `count` rows, which lie `step` elements apart, each combined with
  // what there is.
  static void columns(T* to, const T* in, int64_t n, int64_t count, int64_t step) {
    const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
    if (bytes >= kVectorBytes) {
      columns_in_vectors<kVectorBytes>(to, in, n, count, step);
    } else if (kVectorBytes > 32 && bytes >= 32) {
      columns_in_vectors<std::min(32, kVectorBytes)>(to, in, n, count, step);
    } else {
      columns_in_vectors<kLeastBytes>(to, in, n, count, step);
    }
  }

 private:
  template <int kBytes, int kTogether>
  [[gnu::always_inline]] static T in_vectors(const T* in, int64_t n) {
    using V = Units<kBytes>;
    const auto join = [](V a, V b) { return static_cast<V>(Combine{}(a, b)); };
    return join_lanes(folded<kBytes, kTogether>(in, n), join)[0];
  }

  // The lanes of n elements, kTogether vectors at a time; the last one has some elements again.
  template <int kBytes, int kTogether>
  [[gnu::always_inline]] static Units<kBytes> folded(const T* in, int64_t n) {
    using V = Units<kBytes>;
    constexpr int64_t kStep = kBytes / static_cast<int64_t>(sizeof(T));
    const auto join = [](V a, V b) { return static_cast<V>(Combine{}(a, b)); };
    V found[kTogether];
    for (V& some : found) some = load<V>(in + n - kStep);
    int64_t i = 0;
    for (; i + kTogether * kStep <= n; i += kTogether * kStep) {
#pragma GCC unroll 4
      for (int v = 0; v < kTogether; ++v) {
        found[v] = join(found[v], load<V>(in + i + v * kStep));
      }
    }
    for (; i + kStep <= n; i += kStep) found[0] = join(found[0], load<V>(in + i));
#pragma GCC unroll 4
    for (int v = kTogether - 1; v > 0; --v) found[0] = join(found[0], found[v]);
    return found[0];
  }

  // Each of n elements with the one `apart` further on.
  static void widen(T* to, const T* from, int64_t n, int64_t apart) {
    using V = Units<kVectorBytes>;
    for (int64_t i = 0; i < n; i += kWidth) {
      store(to + i, static_cast<V>(Combine{}(load<V>(from + i), load<V>(from + i + apart))));
    }
  }

  [[gnu::always_inline]] static void combine(T* to, const T* from) {
    using V = Units<kVectorBytes>;
    store(to, static_cast<V>(Combine{}(load<V>(to), load<V>(from))));
  }

  // Long rows are read one after the other, as memory has them; of short ones several at a time.
  template <int kBytes>
  static void columns_in_vectors(T* to, const T* in, int64_t n, int64_t count, int64_t step) {
    constexpr int64_t kLong = 1536 / static_cast<int64_t>(sizeof(T));
    constexpr int kRows = 8;
    int64_t r = 0;
    for (; n < kLong && r + kRows <= count; r += kRows, in += kRows * step) {
      if (step == n) fetch_beyond<64>(in, kRows * n);
      some_rows<kBytes, kRows>(to, in, n, step);
    }
    for (; r < count; ++r, in += step) {
      fetch_beyond<512>(in, n);
      some_rows<kBytes, 1>(to, in, n, step);
    }
  }

  // The last vector of a row has some columns again.
  template <int kBytes, int kRows>
  [[gnu::always_inline]] static void some_rows(T* to, const T* in, int64_t n, int64_t step) {
    constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
    for (int64_t j = 0; j + kLanes <= n; j += kLanes) add_rows<kBytes, kRows>(to + j, in + j, step);
    const int64_t last = n - kLanes;
    if (n % kLanes != 0) add_rows<kBytes, kRows>(to + last, in + last, step);
  }

  template <int kBytes, int kRows>
  [[gnu::always_inline]] static void add_rows(T* to, const T* in, int64_t step) {
    using V = Units<kBytes>;
    V found = load<V>(to);
#pragma GCC unroll 8
    for (int k = 0; k < kRows; ++k) {
      found = static_cast<V>(Combine{}(found, load<V>(in + k * step)));
    }
    store(to, found);
  }

  // Asks for one in kApart bytes of those far ahead, whether or not anything is there.
  template <uintptr_t kApart>
  static void fetch_beyond(const T* x, int64_t n) {
    constexpr uintptr_t kFar = 8192;
    const uintptr_t from = reinterpret_cast<uintptr_t>(x) + kFar;
    for (uintptr_t b = 0; b < static_cast<uintptr_t>(n) * sizeof(T); b += kApart) {
      __builtin_prefetch(reinterpret_cast<const void*>(from + b), 0, 2);
    }
  }

  static constexpr int64_t kAhead = 4096;  // bytes, whether or not anything is there
  static constexpr int64_t kWindows = 4096 / static_cast<int64_t>(sizeof(T));
};

}  // namespace
}  // namespace tensorlike
