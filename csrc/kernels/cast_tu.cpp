// Conversions, for one ISA level.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/conversion.h"
#include "kernels/half_loop.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

// A float becomes a narrow integer by way of the one that kernels compute in, so that it wraps
// around.
template <class To, class From>
[[gnu::always_inline]] inline To converted(From x) {
  if constexpr (kFloats<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    using Narrow = std::conditional_t<std::is_same_v<To, uint32_t>, int64_t, int32_t>;
    using Whole = std::conditional_t<compute_of(dtype_of<To>) == dtype_of<To>, To, Narrow>;
    static_assert(compute_of(dtype_of<To>) == dtype_of<Whole>);
    return static_cast<To>(cast<Whole>(x));
  } else {
    return cast<To>(x);
  }
}

template <class From, class To>
void cast_loop(void* const* out, const void* const* in, int64_t n) {
  const From* x = static_cast<const From*>(in[0]);
  To* y = static_cast<To*>(out[0]);
  if constexpr (std::is_same_v<From, bool> && kFloats<To>) {
    // A choice vectorises, a conversion of truths does not.
    const To one = cast<To>(1);
    for (int64_t i = 0; i < n; ++i) y[i] = element(x, i) ? one : To(0);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = converted<To>(element(x, i));
  }
}

// Halves to float32 and back, a vector at a time.
template <class From, class To>
void half_cast_loop(void* const* out, const void* const* in, int64_t n) {
  struct Convert {
    float operator()(float x) const { return x; }
  };
  HalfLoop<Convert, std::tuple<From>, std::tuple<To>>::run(out, in, n);
}

template <class From, class To>
constexpr TileKernel loop_of() {
  if constexpr (is_half<From> || is_half<To>) return half_cast_loop<From, To>;
  return cast_loop<From, To>;
}

// By way of float32, which holds the numbers of both or of the one that they come from.
template <class From, class To>
void loop_by_float(void* const* out, const void* const* in, int64_t n) {
  constexpr int64_t kPiece = 512;
  alignas(64) float buffer[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    const void* from = static_cast<const From*>(in[0]) + i;
    void* to = static_cast<To*>(out[0]) + i;
    void* made = buffer;
    const void* read = buffer;
    loop_of<From, float>()(&made, &from, count);
    loop_of<float, To>()(&to, &read, count);
  }
}

// x with as many bits as float32 has, the last of which says whether there were others: it rounds
// to the same half. Not where float32 is denormal, and has fewer.
inline float cut_to_float(double x) {
  constexpr uint64_t kCut = (uint64_t{1} << 29) - 1;
  const uint64_t bits = vm::to_bits(x);
  return static_cast<float>(vm::from_bits<double>((bits | ((bits & kCut) + kCut)) & ~kCut));
}

// The float32 that rounds to the same half as x, which may have more bits. Where bfloat16 is
// denormal float32 is, too: there its last bit is set where it is not x; and where it rounded away
// from zero, the number before is as near to x from the other side.
template <class To>
float rounds_as(double x) {
  if constexpr (std::is_same_v<To, Float16>) return cut_to_float(x);
  const float near = static_cast<float>(x);
  const double back = static_cast<double>(near);
  const bool is_outward = __builtin_fabs(back) > __builtin_fabs(x);
  const uint32_t inward = vm::to_bits(near) - (is_outward ? 1u : 0u);
  return vm::from_bits<float>(back == x ? inward : inward | 1u);
}

// The same of integers. What is beyond float16 becomes infinite, also if it is cut to fewer bits.
template <class To, class From>
  requires std::is_integral_v<From>
float rounds_as(From x) {
  if constexpr (std::is_same_v<To, Float16>) {
    constexpr From kMost = From(1) << 17;
    constexpr From kLeast = std::is_unsigned_v<From> ? From(0) : static_cast<From>(0 - kMost);
    const From cut = x < kLeast ? kLeast : (x > kMost ? kMost : x);
    return static_cast<float>(static_cast<int32_t>(cut));
  } else if constexpr (sizeof(From) == 4) {
    constexpr From kExact = From(1) << 24;
    const bool is_exact = (x <= kExact) & (std::is_unsigned_v<From> || x >= From(0) - kExact);
    const From joined = (x >> 8) | static_cast<From>((x & 255) != 0);
    const float many = static_cast<float>(joined) * 256;
    return is_exact ? static_cast<float>(x) : many;
  } else {
    constexpr From kExact = From(1) << 53;
    const bool is_exact = (x <= kExact) & (std::is_unsigned_v<From> || x >= From(0) - kExact);
    const From joined = (x >> 11) | static_cast<From>((x & 2047) != 0);
    const double many = static_cast<double>(joined) * 2048;
    return cut_to_float(is_exact ? static_cast<double>(x) : many);
  }
}

// To a half, rounded once.
template <class From, class To>
void rounding_loop(void* const* out, const void* const* in, int64_t n) {
  constexpr int64_t kPiece = 512;
  alignas(64) float buffer[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    const From* const from = static_cast<const From*>(in[0]) + i;
    for (int64_t k = 0; k < count; ++k) buffer[k] = rounds_as<To>(from[k]);
    const void* const read = buffer;
    void* const to = static_cast<To*>(out[0]) + i;
    half_cast_loop<float, To>(&to, &read, count);
  }
}

template <class T>
void copy_loop(void* const* out, const void* const* in, int64_t n) {
  std::memcpy(out[0], in[0], static_cast<size_t>(n) * sizeof(T));
}

template <class From, class To>
constexpr bool kGoesByFloat =
    is_half<From> ? std::is_integral_v<To>
                  : is_half<To> && std::is_integral_v<From> && sizeof(From) <= 2;

// Where float32 may not hold what is converted.
template <class From, class To>
constexpr bool kRoundsOnce =
    is_half<To> && (std::is_same_v<From, double> || (std::is_integral_v<From> && sizeof(From) > 2));

template <class From, class To>
constexpr TileKernel pick() {
  if constexpr (std::is_same_v<From, To>) {
    return copy_loop<From>;
  } else if constexpr (kGoesByFloat<From, To>) {
    return loop_by_float<From, To>;
  } else if constexpr (kRoundsOnce<From, To>) {
    return rounding_loop<From, To>;
  } else if constexpr ((is_half<From> && std::is_same_v<To, float>) ||
                       (std::is_same_v<From, float> && is_half<To>)) {
    return half_cast_loop<From, To>;
  } else if constexpr (converts_at_once(dtype_of<From>, dtype_of<To>)) {
    return cast_loop<From, To>;
  } else {
    return nullptr;
  }
}

}  // namespace

void TL_FILL(casts)(KernelTable& table);
void TL_FILL(casts)(KernelTable& table) {
  for (int from = 0; from < kDTypeCount; ++from) {
    visit_dtype(static_cast<DType>(from), [&](auto from_tag) {
      using From = typename decltype(from_tag)::type;
      for (int to = 0; to < kDTypeCount; ++to) {
        visit_dtype(static_cast<DType>(to), [&](auto to_tag) {
          table.casts[from][to] = pick<From, typename decltype(to_tag)::type>();
        });
      }
    });
  }
}

}  // namespace tensorlike
