// Integers divided by one number, and what that leaves: by a multiplication with the reciprocal in
// whole numbers, which is exact for every dividend, and narrow where the general loops go through
// floating-point numbers. For one ISA level; the loops stand in for those of scalar_tu.cpp.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

__extension__ typedef unsigned __int128 Uint128;

// The quotients of unsigned numbers of T's width by a divisor of 2 or more, rounded down. Where T
// is signed, dividends are up to the half of their range.
//
// A multiplier m of 2^k / divisor rounded up is too large by less than 1 in 2^k / divisor: u * m /
// 2^k has the right whole part where u times what m * divisor is beyond 2^k stays below 2^k, so for
// k as large as chosen here. Of unsigned numbers m may have a bit more than a word, whose part is
// added apart. (T. Granlund and P. L. Montgomery, Division by invariant integers using
// multiplication.)
template <class T>
class Reciprocal {
 public:
  using Unsigned = std::make_unsigned_t<T>;

  explicit Reciprocal(Unsigned divisor) : divisor_(divisor) {
    const int up = std::bit_width(static_cast<Unsigned>(divisor - 1));
    if constexpr (kIsByte) {
      factor_ = static_cast<Word>(0xffffu / divisor + 1);
    } else if constexpr (std::is_signed_v<T>) {
      factor_ = static_cast<Word>(((Wide{1} << (kBits - 1 + up)) - 1) / divisor + 1);
      shift_ = up - 1;
    } else {
      const Wide above = (up == kBits ? Wide{0} : Wide{1} << up) - divisor;
      factor_ = static_cast<Word>(
          (static_cast<Wide>(static_cast<Unsigned>(above)) << kBits) / divisor + 1);
      shift_ = up - 1;
    }
  }

  [[gnu::always_inline]] Unsigned quotient(Unsigned u) const {
    const auto high = static_cast<Word>((static_cast<Wide>(u) * factor_) >> (8 * sizeof(Word)));
    if constexpr (kIsByte) {
      return static_cast<Unsigned>(high);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<Unsigned>(high >> shift_);
    } else {
      const auto half = static_cast<Unsigned>(static_cast<Unsigned>(u - high) >> 1);
      return static_cast<Unsigned>(static_cast<Unsigned>(high + half) >> shift_);
    }
  }

  // What the quotient leaves of a byte: the fraction of the product tells it.
  [[gnu::always_inline]] Unsigned rest(Unsigned u) const {
    static_assert(kIsByte);
    const auto fraction = static_cast<Word>(u * factor_);
    return static_cast<Unsigned>((static_cast<Wide>(fraction) * divisor_) >> (8 * sizeof(Word)));
  }

 private:
  static constexpr int kBits = 8 * sizeof(T);
  static constexpr bool kIsByte = sizeof(T) == 1;
  // Bytes are multiplied in words of 16 bits, which have room for any factor.
  using Word = std::conditional_t<kIsByte, uint16_t, Unsigned>;
  using Wide = std::conditional_t<sizeof(T) <= 2, uint32_t,
                                  std::conditional_t<sizeof(T) == 4, uint64_t, Uint128>>;

  Word factor_ = 0;
  Word divisor_;
  int shift_ = 0;
};

// Dividends as numbers that are not negative, and what brings back their signs: of a negative
// quotient the complement is found. Where the divisor is negative both sides change their signs.
template <class T, bool kIsNegative>
struct Magnitude {
  using Bits = std::make_unsigned_t<T>;
  Bits size, flips;

  [[gnu::always_inline]] explicit Magnitude(T a) {
    const auto bits = static_cast<Bits>(a);
    flips = std::is_unsigned_v<T>
                ? Bits{0}
                : static_cast<Bits>(-static_cast<int>(kIsNegative ? a > 0 : a < 0));
    size = static_cast<Bits>((kIsNegative ? static_cast<Bits>(Bits{0} - bits) : bits) ^ flips);
  }
};

template <class T, bool kRemains, bool kIsNegative>
void divide_all(T* out, const T* in, int64_t n, T divisor) {
  using Bits = std::make_unsigned_t<T>;
  const auto bits = static_cast<Bits>(divisor);
  const Reciprocal<T> by(kIsNegative ? static_cast<Bits>(Bits{0} - bits) : bits);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const Magnitude<T, kIsNegative> a(in[i]);
    if constexpr (kRemains && std::is_same_v<T, uint8_t>) {
      out[i] = by.rest(in[i]);
      continue;
    }
    const auto down = static_cast<Bits>(by.quotient(a.size) ^ a.flips);
    const auto whole = static_cast<Bits>(uint64_t{down} * bits);
    const auto rest = static_cast<Bits>(static_cast<Bits>(in[i]) - whole);
    out[i] = static_cast<T>(kRemains ? rest : down);
  }
}

// in[0] by the one number in[1]; 0 divides to 0 and leaves 0.
template <class T, bool kRemains>
void divide_by_number(void* const* out, const void* const* in, int64_t n) {
  if (n == 0) return;
  T* const to = static_cast<T*>(out[0]);
  const T* const from = static_cast<const T*>(in[0]);
  const T divisor = *static_cast<const T*>(in[1]);
  const bool is_minus_one = std::is_signed_v<T> && divisor == static_cast<T>(-1);
  if (divisor == 0 || (kRemains && (divisor == 1 || is_minus_one))) {
    std::fill_n(to, n, T{0});
  } else if (divisor == 1) {
    std::copy_n(from, n, to);
  } else if (is_minus_one) {  // wraps around
    using Unsigned = std::make_unsigned_t<T>;
    std::transform(from, from + n, to, [](T a) {
      return static_cast<T>(static_cast<Unsigned>(Unsigned{0} - static_cast<Unsigned>(a)));
    });
  } else if (std::is_signed_v<T> && divisor < 0) {
    divide_all<T, kRemains, std::is_signed_v<T>>(to, from, n, divisor);
  } else {
    divide_all<T, kRemains, false>(to, from, n, divisor);
  }
}

template <class T>
void add_divisions(KernelTable& table) {
  table.numbers["floor_divide"][dtype_of<T>].beside[1] = divide_by_number<T, false>;
  table.numbers["remainder"][dtype_of<T>].beside[1] = divide_by_number<T, true>;
}

}  // namespace

void TL_FILL(divisions)(KernelTable& table);
void TL_FILL(divisions)(KernelTable& table) {
  add_divisions<int8_t>(table);
  add_divisions<uint8_t>(table);
  add_divisions<int16_t>(table);
  add_divisions<uint16_t>(table);
  add_divisions<int32_t>(table);
  add_divisions<uint32_t>(table);
#if !defined(__AVX512DQ__)  // whose vectors divide by way of float64 are quicker
  add_divisions<int64_t>(table);
  add_divisions<uint64_t>(table);
#endif
}

}  // namespace tensorlike
