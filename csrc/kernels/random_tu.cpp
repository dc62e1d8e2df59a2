// Random numbers, for one ISA level. Those that take a fixed number of words come from the words
// of their block, many blocks at a time. Those that are drawn until one is accepted take words of
// their own: attempt a of element i is the counter (i, a + 1), so that no element waits for
// another.
#include <cstring>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/math.h"
#include "kernels/philox.h"

namespace tensorlike {
namespace {

constexpr double kPi = 3.14159265358979323846;
// Far beyond what is ever needed; an end, whatever the numbers are.
constexpr uint32_t kMostAttempts = 1000;

// ---- from blocks --------------------------------------------------------------------------------

// out[0, n) = elements first, ... of what `make(values, words)` gives for kBlocks blocks at a time,
// the elements of a block one after the other.
template <class T, int64_t kBlocks, class Make>
[[gnu::always_inline]] inline void from_so_many_blocks(T* y, int64_t n, RandomStream stream,
                                                       int64_t first, int64_t per_block,
                                                       Make& make) {
  int64_t i = 0;
  while (i < n) {
    const int64_t block = (first + i) / per_block;
    uint32_t words[kPhiloxWords][kBlocks];
    philox_blocks(stream.key, static_cast<uint64_t>(block), stream.counter, words);
    T values[kPhiloxWords * kBlocks];
    make(values, words);
    const int64_t skipped = first + i - block * per_block;
    const int64_t ready = per_block * kBlocks - skipped;
    const int64_t count = ready < n - i ? ready : n - i;
    std::memcpy(y + i, values + skipped, static_cast<size_t>(count) * sizeof(T));
    i += count;
  }
}

constexpr int64_t kFewBlocks = 16;  // enough of them for a small result

template <class T, class Make>
[[gnu::always_inline]] inline void from_blocks(void* out, int64_t n, RandomStream stream,
                                               int64_t first, int64_t per_block, Make&& make) {
  T* y = static_cast<T*>(out);
  if (n <= per_block * kFewBlocks) {
    from_so_many_blocks<T, kFewBlocks>(y, n, stream, first, per_block, make);
  } else {
    from_so_many_blocks<T, kPhiloxBlocks>(y, n, stream, first, per_block, make);
  }
}

template <int64_t kBlocks>
using Words = const uint32_t (&)[kPhiloxWords][kBlocks];

[[gnu::always_inline]] inline uint64_t joined(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

void bits32(void* out, int64_t n, RandomStream stream, int64_t first) {
  from_blocks<uint32_t>(out, n, stream, first, 4,
                        []<int64_t kBlocks>(uint32_t* values, Words<kBlocks> words) {
                          for (int64_t b = 0; b < kBlocks; ++b) {
                            for (int64_t w = 0; w < 4; ++w) values[4 * b + w] = words[w][b];
                          }
                        });
}

void bits64(void* out, int64_t n, RandomStream stream, int64_t first) {
  from_blocks<uint64_t>(out, n, stream, first, 2,
                        []<int64_t kBlocks>(uint64_t* values, Words<kBlocks> words) {
                          for (int64_t b = 0; b < kBlocks; ++b) {
                            for (int64_t w = 0; w < 2; ++w)
                              values[2 * b + w] = joined(words[2 * w][b], words[2 * w + 1][b]);
                          }
                        });
}

void uniform32(void* out, int64_t n, RandomStream stream, int64_t first, int bits) {
  const int shift = 32 - bits;
  const float unit = 1.0F / static_cast<float>(int64_t{1} << bits);
  from_blocks<float>(
      out, n, stream, first, 4, [=]<int64_t kBlocks>(float* values, Words<kBlocks> words) {
        for (int64_t b = 0; b < kBlocks; ++b) {
          for (int64_t w = 0; w < 4; ++w) {
            values[4 * b + w] =
                static_cast<float>(static_cast<int32_t>(words[w][b] >> shift)) * unit;
          }
        }
      });
}

void uniform64(void* out, int64_t n, RandomStream stream, int64_t first, int bits) {
  const int shift = 64 - bits;
  const double unit = 1.0 / static_cast<double>(int64_t{1} << bits);
  from_blocks<double>(
      out, n, stream, first, 2, [=]<int64_t kBlocks>(double* values, Words<kBlocks> words) {
        for (int64_t b = 0; b < kBlocks; ++b) {
          for (int64_t w = 0; w < 2; ++w) {
            const uint64_t word = joined(words[2 * w][b], words[2 * w + 1][b]);
            values[2 * b + w] = static_cast<double>(static_cast<int64_t>(word >> shift)) * unit;
          }
        }
      });
}

// Box and Muller 1958: a point in the plane has an exponential squared radius and any angle.
template <class T>
struct Pair {
  T first, second;
};
template <class T>
[[gnu::always_inline]] inline Pair<T> normal_pair(T radius_uniform, T angle) {
  const T radius = __builtin_sqrt(T(-2) * vm::log(radius_uniform));
  return {radius * vm::cos(angle), radius * vm::sin(angle)};
}

// In (0, 1], and in [-pi, pi].
[[gnu::always_inline]] inline float open_uniform(uint32_t word) {
  return (static_cast<float>(word) + 0.5F) * 0x1p-32F;
}
[[gnu::always_inline]] inline float angle_of(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word)) * static_cast<float>(kPi * 0x1p-31);
}
[[gnu::always_inline]] inline double open_uniform(uint64_t word) {
  return (static_cast<double>(static_cast<int64_t>(word >> 11)) + 0.5) * 0x1p-53;
}
[[gnu::always_inline]] inline double angle_of(uint64_t word) {
  return static_cast<double>(static_cast<int64_t>(word) >> 10) * (kPi * 0x1p-53);
}

// Words are taken apart and numbers put together in loops of their own: only plain loops become
// vectors.
void normal32(void* out, int64_t n, RandomStream stream, int64_t first) {
  from_blocks<float>(out, n, stream, first, 4,
                     []<int64_t kBlocks>(float* values, Words<kBlocks> words) {
                       float made[kPhiloxWords][kBlocks];
                       for (int64_t w = 0; w < 4; w += 2) {
                         for (int64_t b = 0; b < kBlocks; ++b) {
                           const Pair<float> pair =
                               normal_pair(open_uniform(words[w][b]), angle_of(words[w + 1][b]));
                           made[w][b] = pair.first;
                           made[w + 1][b] = pair.second;
                         }
                       }
                       for (int64_t b = 0; b < kBlocks; ++b) {
                         for (int64_t w = 0; w < 4; ++w) values[4 * b + w] = made[w][b];
                       }
                     });
}

void normal64(void* out, int64_t n, RandomStream stream, int64_t first) {
  from_blocks<double>(
      out, n, stream, first, 2, []<int64_t kBlocks>(double* values, Words<kBlocks> words) {
        for (int64_t b = 0; b < kBlocks; ++b) {
          const Pair<double> made = normal_pair(open_uniform(joined(words[0][b], words[1][b])),
                                                angle_of(joined(words[2][b], words[3][b])));
          values[2 * b] = made.first;
          values[2 * b + 1] = made.second;
        }
      });
}

// ---- drawn until accepted -----------------------------------------------------------------------

// Two 64-bit words for each attempt of one element.
class Attempts {
 public:
  Attempts(RandomStream stream, int64_t element)
      : stream_(stream), element_(static_cast<uint64_t>(element)) {}

  bool next() {
    if (attempt_ == kMostAttempts) return false;
    const PhiloxWords made = philox(stream_.key, element_, ++attempt_, stream_.counter);
    first_ = joined(made.word[0], made.word[1]);
    second_ = joined(made.word[2], made.word[3]);
    return true;
  }
  uint64_t word() const { return first_; }
  // In (0, 1), independent of each other.
  double first() const { return open_uniform(first_); }
  double second() const { return open_uniform(second_); }
  double normal() const { return normal_pair(open_uniform(first_), angle_of(second_)).first; }

 private:
  RandomStream stream_;
  uint64_t element_;
  uint32_t attempt_ = 0;
  uint64_t first_ = 0, second_ = 0;
};

// Lemire 2019, "Fast random integer generation in an interval": the high word of a product is as
// likely as the others once few low words are refused. A range of 0 means all 2^64.
struct Interval {
  uint64_t low, range, refused;
};

__extension__ using Wide = unsigned __int128;

// Of an element whose word is refused, by the next one that is not: seldom, so out of the way.
[[gnu::noinline]] uint64_t drawn_again(Attempts attempts, Interval to) {
  Wide product = 0;
  while (static_cast<uint64_t>(product) < to.refused && attempts.next()) {
    product = Wide{attempts.word()} * to.range;
  }
  return static_cast<uint64_t>(product >> 64);
}

// Elements first, ... of these words.
void in_interval(int64_t* out, const uint64_t* words, int64_t n, RandomStream stream, int64_t first,
                 Interval to) {
  for (int64_t i = 0; i < n; ++i) {
    const Wide product = Wide{words[i]} * to.range;
    const bool is_refused = static_cast<uint64_t>(product) < to.refused;
    const uint64_t above = is_refused ? drawn_again(Attempts(stream, first + i), to)
                                      : static_cast<uint64_t>(product >> 64);
    out[i] = static_cast<int64_t>(to.low + above);
  }
}

// The same of a range below 2^32, by halves of words, which vectors multiply; false where a word is
// refused.
bool in_narrow_interval(int64_t* out, const uint64_t* words, int64_t n, Interval to) {
  const auto range = static_cast<uint32_t>(to.range);
  uint64_t refused = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bottom = uint64_t{static_cast<uint32_t>(words[i])} * range;
    const uint64_t top = uint64_t{static_cast<uint32_t>(words[i] >> 32)} * range + (bottom >> 32);
    refused |= static_cast<uint64_t>((top << 32 | static_cast<uint32_t>(bottom)) < to.refused);
    out[i] = static_cast<int64_t>(to.low + (top >> 32));
  }
  return refused == 0;
}

#if defined(__AVX2__)
constexpr bool kMultipliesHalves = true;
#else
constexpr bool kMultipliesHalves = false;  // whole words are quicker there
#endif

void integers(int64_t* out, int64_t n, RandomStream stream, int64_t first, int64_t low,
              uint64_t range) {
  constexpr int64_t kAtOnce = 1024;  // words that stay in the first-level cache
  uint64_t words[kAtOnce];
  const Interval to{static_cast<uint64_t>(low), range, range == 0 ? 0 : (0 - range) % range};
  for (int64_t begin = 0; begin < n; begin += kAtOnce) {
    const int64_t count = n - begin < kAtOnce ? n - begin : kAtOnce;
    bits64(words, count, stream, first + begin);
    if (range == 0) {
      for (int64_t i = 0; i < count; ++i) out[begin + i] = static_cast<int64_t>(words[i] + to.low);
      continue;
    }
    const bool is_narrow = kMultipliesHalves && range >> 32 == 0;
    if (is_narrow && in_narrow_interval(out + begin, words, count, to)) continue;
    in_interval(out + begin, words, count, stream, first + begin, to);
  }
}

// Robert 1995, "Simulation of truncated normal variables": a normal one where the interval is wide
// about 0, a shifted exponential one in a tail, a uniform one where the density hardly changes.
double truncated(Attempts& attempts, double low, double high) {
  const bool is_mirrored = high <= 0 || (low < 0 && -low > high);
  const double a = is_mirrored ? -high : low;
  const double b = is_mirrored ? -low : high;
  double x = a;
  if (a < 0.5 && b - a > 1.0) {
    while (attempts.next() && !((x = attempts.normal()) >= a && x <= b)) continue;
  } else if (a >= 0.5 && (b - a) * a > 1.0) {
    const double rate = 0.5 * (a + __builtin_sqrt(a * a + 4));
    while (attempts.next()) {
      x = a - vm::log(attempts.first()) / rate;
      const double apart = x - rate;
      if (x <= b && vm::log(attempts.second()) <= -0.5 * apart * apart) break;
    }
  } else {
    const double peak = a > 0 ? a : 0.0;  // b > 0
    while (attempts.next()) {
      x = a + (b - a) * attempts.first();
      if (vm::log(attempts.second()) <= 0.5 * (peak * peak - x * x)) break;
    }
  }
  x = x < a ? a : x > b ? b : x;
  return is_mirrored ? -x : x;
}

void truncated_normal(double* out, int64_t n, RandomStream stream, int64_t first, double low,
                      double high) {
  for (int64_t i = 0; i < n; ++i) {
    Attempts attempts(stream, first + i);
    out[i] = truncated(attempts, low, high);
  }
}

// Marsaglia and Tsang 2000, "A simple method for generating gamma variables", for shapes from 1 up;
// below, one of shape + 1 times a power of a uniform number.
double gamma_of(Attempts attempts, double shape, bool is_log) {
  if (shape == 0) return is_log ? -__builtin_inf() : 0;
  if (shape == __builtin_inf()) return shape;
  attempts.next();
  const double power = shape < 1 ? vm::log(attempts.first()) / shape : 0.0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / __builtin_sqrt(9 * d);
  double cube = 1;
  while (attempts.next()) {
    const double x = attempts.normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    cube = root * root * root;
    attempts.next();
    const double bound = 0.5 * x * x + d - d * cube + d * vm::log(cube);
    if (vm::log(attempts.first()) < bound) break;
  }
  if (is_log) return vm::log(d) + vm::log(cube) + power;
  return d * cube * vm::exp(power);
}

void gamma(double* out, const double* shape, int64_t n, RandomStream stream, int64_t first,
           bool is_log) {
  for (int64_t i = 0; i < n; ++i) out[i] = gamma_of({stream, first + i}, shape[i], is_log);
}

// Sums of probabilities for small rates; else Hormann 1993, "The transformed rejection method for
// generating Poisson random variables" (PTRS).
double poisson_of(Attempts attempts, double rate) {
  attempts.next();
  if (rate < 10) {
    double left = attempts.first();
    double term = vm::exp(-rate);
    double k = 0;
    while (left > term && k < 100) {
      left -= term;
      term *= rate / ++k;
    }
    return k;
  }
  const double root = __builtin_sqrt(rate);
  const double b = 0.931 + 2.53 * root;
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  double k = rate;
  do {
    const double u = attempts.first() - 0.5;
    const double v = attempts.second();
    const double us = 0.5 - (u < 0 ? -u : u);
    k = __builtin_floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) break;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double bound = k * vm::log(rate) - rate - vm::lgamma(k + 1);
    if (vm::log(v * inverse_alpha / (a / (us * us) + b)) <= bound) break;
  } while (attempts.next());
  return k < 0 ? 0 : k;
}

void poisson(double* out, const double* rate, int64_t n, RandomStream stream, int64_t first) {
  for (int64_t i = 0; i < n; ++i) out[i] = poisson_of({stream, first + i}, rate[i]);
}

}  // namespace

void TL_FILL(random)(KernelTable& table);
void TL_FILL(random)(KernelTable& table) {
  table.random[DType::kFloat32].uniform = uniform32;
  table.random[DType::kFloat32].normal = normal32;
  RandomKernels& wide = table.random[DType::kFloat64];
  wide.uniform = uniform64;
  wide.normal = normal64;
  wide.truncated_normal = truncated_normal;
  wide.gamma = gamma;
  wide.poisson = poisson;
  table.random[DType::kUInt32].bits = bits32;
  table.random[DType::kUInt64].bits = bits64;
  table.random[DType::kInt64].integers = integers;
}

}  // namespace tensorlike
