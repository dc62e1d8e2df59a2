// Words that lie in steps, read by whole vectors: of the vectors that hold some of them, odd steps
// leave each word in a lane of its own, so that a choice by lanes and one permutation put them in
// order; an even step is every second word of half the step. Nothing is read before the first or
// after the last of the words. For one ISA level (move_tu.cpp).
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/kernel_table.h"
#include "kernels/move_words.h"

namespace tensorlike {
namespace {

template <int kSize, int kBytes>
struct WordsOf {
  typedef Lane<kSize> Vector __attribute__((vector_size(kBytes)));
};

// Of kStep * kLanes words that follow each other from `in` on: number kFirst and every kStep-th
// after it.
template <int kSize, int kBytes>
struct Stepped {
  using Vector = typename WordsOf<kSize, kBytes>::Vector;
  static constexpr int kLanes = kBytes / kSize;
  using Lanes = std::make_integer_sequence<int, kLanes>;

  template <int kStep, int kFirst>
  [[gnu::always_inline]] static Vector read(const char* in) {
    if constexpr (kStep == 1) {
      return load(in);
    } else if constexpr (kStep % 2 == 0) {
      constexpr int kHalf = kStep / 2;
      return seconds<kFirst / kHalf>(read<kHalf, kFirst % kHalf>(in),
                                     read<kHalf, kFirst % kHalf>(in + kHalf * kBytes), Lanes{});
    } else {
      Vector words = load(in);
      [&]<int... kPart>(std::integer_sequence<int, kPart...>) {
        ((words =
              choose<kStep, kFirst, kPart + 1>(words, load(in + (kPart + 1) * kBytes), Lanes{})),
         ...);
      }(std::make_integer_sequence<int, kStep - 1>{});
      return in_order<kStep, kFirst>(words, Lanes{});
    }
  }

  [[gnu::always_inline]] static Vector turned(Vector words) { return turned(words, Lanes{}); }

 private:
  [[gnu::always_inline]] static Vector load(const char* in) {
    Vector words;
    std::memcpy(&words, in, kBytes);
    return words;
  }
  template <int kFirst, int... kLane>
  [[gnu::always_inline]] static Vector seconds(Vector a, Vector b,
                                               std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(a, b, (2 * kLane + kFirst)...);
  }
  // The words so far, and those of the next vector, which is number kPart.
  template <int kStep, int kFirst, int kPart, int... kLane>
  [[gnu::always_inline]] static Vector choose(Vector words, Vector next,
                                              std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(
        words, next, ((kPart * kLanes + kLane - kFirst) % kStep == 0 ? kLanes + kLane : kLane)...);
  }
  template <int kStep, int kFirst, int... kLane>
  [[gnu::always_inline]] static Vector in_order(Vector words,
                                                std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(words, words, ((kFirst + kStep * kLane) % kLanes)...);
  }
  template <int... kLane>
  [[gnu::always_inline]] static Vector turned(Vector words, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(words, words, (kLanes - 1 - kLane)...);
  }
};

// Words `step` bytes apart, whatever that is: vectors are put together of single words.
template <int kSize>
void copy_apart(char* out, const char* in, int64_t n, int64_t step) {
  int64_t i = 0;
  if constexpr (kSize < 16) {
    constexpr int kLanes = kSize == 8 ? 4 : 16 / kSize;
    for (; i + kLanes <= n; i += kLanes, in += kLanes * step) {
      typename WordsOf<kSize, kLanes * kSize>::Vector words;
#pragma GCC unroll 16
      for (int k = 0; k < kLanes; ++k) {
        Lane<kSize> word;
        move_word<kSize>(reinterpret_cast<char*>(&word), in + k * step);
        words[k] = word;
      }
      std::memcpy(out + i * kSize, &words, sizeof(words));
    }
  }
  for (; i < n; ++i, in += step) move_word<kSize>(out + i * kSize, in);
}

// n words kStep apart. The last vector, which may overlap the one before, is read from the other
// end, as what follows the last word may not be ours.
template <int kSize, int kStep, int kBytes = kVectorBytes>
void copy_stepped(char* out, const char* in, int64_t n) {
  using Words = Stepped<kSize, kBytes>;
  constexpr int64_t kLanes = Words::kLanes;
  const auto put = [out](int64_t at, typename Words::Vector words) {
    std::memcpy(out + at * kSize, &words, kBytes);
  };
  if (n > kLanes) {
    for (int64_t i = 0; i + kLanes < n; i += kLanes) {
      put(i, Words::template read<kStep, 0>(in + i * kStep * kSize));
    }
    const int64_t last = n - kLanes;
    put(last, Words::template read<kStep, kStep - 1>(in + (last * kStep - (kStep - 1)) * kSize));
  } else if constexpr (kBytes > 16) {
    copy_stepped<kSize, kStep, kBytes / 2>(out, in, n);
  } else {
    for (int64_t i = 0; i < n; ++i) move_word<kSize>(out + i * kSize, in + i * kStep * kSize);
  }
}

// The same of words that come before `in`, which is where the first one lies. What lies `ahead`
// bytes of that is read soon: where short rows follow each other forwards, processors do not see
// what comes after one that is read backwards.
template <int kSize, int kStep, int kBytes = kVectorBytes>
void copy_backwards(char* out, const char* in, int64_t n, int64_t ahead) {
  using Words = Stepped<kSize, kBytes>;
  constexpr int64_t kLanes = Words::kLanes;
  const auto put = [out](int64_t at, typename Words::Vector words) {
    words = Words::turned(words);
    std::memcpy(out + at * kSize, &words, kBytes);
  };
  if (n >= kLanes + (kStep > 1 ? 1 : 0)) {
    for (int64_t i = 0; i + kLanes < n; i += kLanes) {
      __builtin_prefetch(in + ahead - i * kStep * kSize);
      const int64_t first = (i + kLanes - 1) * kStep + kStep - 1;
      put(i, Words::template read<kStep, kStep - 1>(in - first * kSize));
    }
    put(n - kLanes, Words::template read<kStep, 0>(in - (n - 1) * kStep * kSize));
  } else if constexpr (kBytes > 16) {
    copy_backwards<kSize, kStep, kBytes / 2>(out, in, n, ahead);
  } else {
    for (int64_t i = 0; i < n; ++i) move_word<kSize>(out + i * kSize, in - i * kStep * kSize);
  }
}

// Steps up to which whole vectors are quicker than single words.
template <int kSize>
inline constexpr int kMostStep = kSize == 16  ? 0
                                 : kSize == 8 ? 4
                                 : kSize == 4 ? 6
                                              : 8;

template <int kSize, int kStep>
void step_forwards(char* out, const char* in, int64_t n, int64_t, int64_t) {
  copy_stepped<kSize, kStep>(out, in, n);
}
template <int kSize, int kStep>
void step_backwards(char* out, const char* in, int64_t n, int64_t, int64_t ahead) {
  copy_backwards<kSize, kStep>(out, in, n, ahead);
}
template <int kSize>
void step_apart(char* out, const char* in, int64_t n, int64_t step, int64_t) {
  copy_apart<kSize>(out, in, n, step);
}

template <int kSize>
StepCopy step_copy(int64_t step) {
  StepCopy found = step_apart<kSize>;
  [&]<int... k>(std::integer_sequence<int, k...>) {
    ((step == (k + 2) * kSize    ? void(found = step_forwards<kSize, k + 2>)
      : step == -(k + 1) * kSize ? void(found = step_backwards<kSize, k + 1>)
                                 : void()),
     ...);
  }(std::make_integer_sequence<int, std::max(kMostStep<kSize> - 1, 0)>{});
  return found;
}

// Each row of words in steps, forwards or backwards, to words that follow each other.
template <int kSize>
void copy_in_steps(const MoveBlock& b) {
  constexpr int64_t kAhead = 8192;  // bytes
  const bool is_next_row = 0 < b.in_row && b.in_row <= 2 * kAhead;
  const int64_t ahead = is_next_row ? b.in_row : -kAhead;
  const StepCopy copy = step_copy<kSize>(b.in_step);
  for (int64_t r = 0; r < b.rows; ++r) {
    copy(b.out + r * b.out_row, b.in + r * b.in_row, b.columns, b.in_step, ahead);
  }
}

}  // namespace
}  // namespace tensorlike
