// Scalar functions of float32 as loops over halves: a vector of each operand is widened, the
// function applied to its lanes, and the result narrowed, without a detour through memory. The bits
// are those of three loops that do it one after the other. Included once per ISA level, inside an
// anonymous namespace: see gemm_isa.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/half_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own

namespace tensorlike {
namespace {

// Where the processor has no conversions of its own, whole tiles are converted at once.
#if defined(__F16C__)
constexpr bool kConvertsHalves = true;
#else
constexpr bool kConvertsHalves = false;
#endif
constexpr int kHalfLanes = kLanes<float>;

typedef uint8_t Bytes __attribute__((vector_size(kHalfLanes)));

// As half_vectors.h says of __builtin_convertvector.
[[gnu::always_inline]] inline Vector<uint32_t> widened_bytes(Bytes bytes) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector<uint32_t>>(
      _mm512_maskz_cvtepu8_epi32(0xffff, reinterpret_cast<__m128i>(bytes)));
#elif defined(__AVX2__)
  __m128i low = _mm_setzero_si128();
  std::memcpy(&low, &bytes, sizeof(bytes));
  return reinterpret_cast<Vector<uint32_t>>(_mm256_cvtepu8_epi32(low));
#else
  return __builtin_convertvector(bytes, Vector<uint32_t>);
#endif
}

// No loop is vectorised that reads bool as what it is.
template <class T>
[[gnu::always_inline]] inline auto element(const T* x, int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return reinterpret_cast<const uint8_t*>(x)[i] != 0;
  } else {
    return x[i];
  }
}

// A vector of elements, each as wide as what is computed with.
template <class Stored>
struct Lanes {
  static constexpr bool kConverts = is_half<Stored>;
  static constexpr bool kIsTruth = std::is_same_v<Stored, bool>;
  using Element =
      std::conditional_t<kConverts, float, std::conditional_t<kIsTruth, uint32_t, Stored>>;
  alignas(kVectorBytes) Element at[kHalfLanes];

  [[gnu::always_inline]] auto operator[](int k) const {
    if constexpr (kIsTruth) {
      return at[k] != 0;
    } else {
      return at[k];
    }
  }
  [[gnu::always_inline]] void read(const Stored* from) {
    if constexpr (kConverts) {
      store(at, widened_vector(load_bits<Halves>(from), Stored{}));
    } else if constexpr (kIsTruth) {
      store(at, widened_bytes(load_bits<Bytes>(from)));
    } else {
      std::memcpy(at, from, sizeof(at));
    }
  }
  // One element in all lanes.
  [[gnu::always_inline]] void repeat(Stored from) {
    const auto element = static_cast<Element>(from);
    for (Element& lane : at) lane = element;
  }
  [[gnu::always_inline]] void write(Stored* to) const {
    if constexpr (kConverts) {
      const Halves bits = narrowed_vector(load<Vector<float>>(at), Stored{});
      std::memcpy(static_cast<void*>(to), &bits, sizeof(bits));
    } else if constexpr (kIsTruth) {
      const Bytes bytes = __builtin_convertvector(load<Vector<uint32_t>>(at), Bytes);
      std::memcpy(to, &bytes, sizeof(bytes));
    } else {
      std::memcpy(to, at, sizeof(at));
    }
  }
};

// The results of a function as they are stored.
template <class Half, class Result>
struct HalfResults {
  using Stored = std::tuple<std::conditional_t<std::is_same_v<Result, float>, Half, Result>>;
  static constexpr bool kAreReal = std::is_arithmetic_v<Result>;
};
template <class Half, class... Results>
struct HalfResults<Half, std::tuple<Results...>> {
  using Stored = std::tuple<std::conditional_t<std::is_same_v<Results, float>, Half, Results>...>;
  static constexpr bool kAreReal = (std::is_arithmetic_v<Results> && ...);
};

constexpr size_t kNoNumber = ~size_t{0};

// Whether argument k is one number: the first, where kNumber is 0; all others, where it is 1.
template <size_t kNumber>
constexpr bool is_number(size_t k) {
  return kNumber == 0 ? k == 0 : kNumber == 1 && k > 0;
}

template <class F, class In, class Out>
struct HalfLoop;

template <class F, class... In, class... Out>
struct HalfLoop<F, std::tuple<In...>, std::tuple<Out...>> {
  static constexpr std::index_sequence_for<In...> kIn{};
  static constexpr std::index_sequence_for<Out...> kOut{};

  template <size_t kNumber, size_t k, class T>
  [[gnu::always_inline]] static void read(Lanes<T>& lanes, const T* from) {
    if constexpr (is_number<kNumber>(k)) {
      lanes.repeat(*from);
    } else {
      lanes.read(from);
    }
  }

  template <size_t kNumber, size_t... I, size_t... O>
  [[gnu::always_inline]] static void vector(const std::tuple<Out*...>& out,
                                            const std::tuple<const In*...>& in,
                                            std::index_sequence<I...>, std::index_sequence<O...>) {
    std::tuple<Lanes<In>...> args;
    std::tuple<Lanes<Out>...> results;
    (read<kNumber, I>(std::get<I>(args), std::get<I>(in)), ...);
#pragma GCC unroll 1  // else the lanes may become sixteen numbers, and no vector
    for (int k = 0; k < kHalfLanes; ++k) {
      const auto result = F{}(std::get<I>(args)[k]...);
      if constexpr (sizeof...(Out) == 1) {
        std::get<0>(results).at[k] = result;
      } else {
        ((std::get<O>(results).at[k] = std::get<O>(result)), ...);
      }
    }
    (std::get<O>(results).write(std::get<O>(out)), ...);
  }

  // A vector apart from the loop.
  template <size_t kNumber>
  [[gnu::noinline]] static void one(const std::tuple<Out*...>& out,
                                    const std::tuple<const In*...>& in) {
    vector<kNumber>(out, in, kIn, kOut);
  }

  // Less than a vector, in copies that are one.
  template <size_t kNumber, size_t... I, size_t... O>
  [[gnu::noinline]] static void few(const std::tuple<Out*...>& out,
                                    const std::tuple<const In*...>& in, size_t n,
                                    std::index_sequence<I...>, std::index_sequence<O...>) {
    std::tuple<std::array<In, kHalfLanes>...> args{};
    std::tuple<std::array<Out, kHalfLanes>...> results{};
    (std::memcpy(std::get<I>(args).data(), std::get<I>(in),
                 (is_number<kNumber>(I) ? 1 : n) * sizeof(In)),
     ...);
    one<kNumber>({std::get<O>(results).data()...}, {std::get<I>(args).data()...});
    (std::memcpy(std::get<O>(out), std::get<O>(results).data(), n * sizeof(Out)), ...);
  }

  template <size_t kNumber, size_t... I, size_t... O>
  [[gnu::always_inline]] static void all(void* const* out, const void* const* in, int64_t n,
                                         std::index_sequence<I...>, std::index_sequence<O...>) {
    const std::tuple args{static_cast<const In*>(in[I])...};
    const std::tuple results{static_cast<Out*>(out[O])...};
    const auto at = [](const auto* x, bool is_number, int64_t i) { return is_number ? x : x + i; };
    if (n < kHalfLanes) {
      if (n > 0) few<kNumber>(results, args, static_cast<size_t>(n), kIn, kOut);
      return;
    }
    // The last vector may overlap the one before, which writes to what it reads where an output is
    // the memory of an input: so it is computed first.
    const int64_t last = n - kHalfLanes;
    const bool overlaps = n % kHalfLanes != 0;
    std::tuple<std::array<Out, kHalfLanes>...> end;
    if (overlaps) {
      one<kNumber>({std::get<O>(end).data()...},
                   {at(std::get<I>(args), is_number<kNumber>(I), last)...});
    }
    for (int64_t i = 0; i <= last; i += kHalfLanes) {
      vector<kNumber>({std::get<O>(results) + i...},
                      {at(std::get<I>(args), is_number<kNumber>(I), i)...}, kIn, kOut);
    }
    if (!overlaps) return;
    (std::memcpy(std::get<O>(results) + last, std::get<O>(end).data(), sizeof(std::get<O>(end))),
     ...);
  }

  // Arguments that are numbers have one element alone.
  template <size_t kNumber = kNoNumber>
  static void run(void* const* out, const void* const* in, int64_t n) {
    if constexpr (kNumber == kNoNumber) {
      all<kNumber>(out, in, n, kIn, kOut);
    } else {
      std::tuple<In...> numbers;  // no result is written to them
      std::array<const void*, sizeof...(In)> from;
      std::copy_n(in, from.size(), from.begin());
      [&]<size_t... I>(std::index_sequence<I...>) {
        (keep<kNumber, I>(std::get<I>(numbers), from), ...);
      }(kIn);
      all<kNumber>(out, from.data(), n, kIn, kOut);
    }
  }

  template <size_t kNumber, size_t k, class Number>
  static void keep(Number& number, std::array<const void*, sizeof...(In)>& from) {
    if constexpr (is_number<kNumber>(k)) {
      number = *static_cast<const Number*>(from[k]);
      from[k] = &number;
    }
  }
};

}  // namespace
}  // namespace tensorlike
