// Element types. One table row per dtype, and one switch over them. Small dtypes are for storage:
// they are computed in a wider one (`compute`), so kernels exist for half of the rows only.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "base/complex.h"
#include "base/half.h"

namespace tensorlike {

enum class DType : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128
};
inline constexpr int kDTypeCount = 15;

// Promotion categories of the Array API standard, in order: bool < integer < floating < complex.
enum class Kind : uint8_t { kBool, kInteger, kFloating, kComplex };

struct DTypeInfo {
  std::string_view name;
  size_t size;
  Kind kind;
  DType compute;  // what kernels turn it into
  bool is_unsigned = false;
};

inline constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"bool", 1, Kind::kBool, DType::kBool},
    {"int8", 1, Kind::kInteger, DType::kInt32},
    {"int16", 2, Kind::kInteger, DType::kInt32},
    {"int32", 4, Kind::kInteger, DType::kInt32},
    {"int64", 8, Kind::kInteger, DType::kInt64},
    {"uint8", 1, Kind::kInteger, DType::kInt32, true},
    {"uint16", 2, Kind::kInteger, DType::kInt32, true},
    {"uint32", 4, Kind::kInteger, DType::kInt64, true},
    {"uint64", 8, Kind::kInteger, DType::kUInt64, true},
    {"float16", 2, Kind::kFloating, DType::kFloat32},
    {"bfloat16", 2, Kind::kFloating, DType::kFloat32},
    {"float32", 4, Kind::kFloating, DType::kFloat32},
    {"float64", 8, Kind::kFloating, DType::kFloat64},
    {"complex64", 8, Kind::kComplex, DType::kComplex64},
    {"complex128", 16, Kind::kComplex, DType::kComplex128},
};

inline constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
inline constexpr size_t size_of(DType dtype) { return info(dtype).size; }
inline constexpr Kind kind_of(DType dtype) { return info(dtype).kind; }
inline constexpr std::string_view name_of(DType dtype) { return info(dtype).name; }
inline constexpr DType compute_of(DType dtype) { return info(dtype).compute; }
inline constexpr bool is_unsigned(DType dtype) { return info(dtype).is_unsigned; }

// The dtype of the real and the imaginary part.
inline constexpr DType real_of(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  return dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}
// The complex dtype whose parts hold this one.
inline constexpr DType complex_of(DType dtype) {
  const bool is_wide = dtype == DType::kFloat64 || dtype == DType::kComplex128;
  return is_wide ? DType::kComplex128 : DType::kComplex64;
}

// The default dtype of a category: what Python literals become.
inline constexpr DType default_dtype(Kind kind) {
  constexpr DType kDefaults[] = {DType::kBool, DType::kInt64, DType::kFloat32, DType::kComplex64};
  return kDefaults[static_cast<int>(kind)];
}

// Tensor promotion. Within a category the wider wins; across categories the higher category wins
// and keeps its own width (int64 + float32 is float32), but a complex number is as wide as its
// float. Signed and unsigned integers meet in a signed one that holds both; uint64 has none, and
// meets signed integers in float64, as NumPy's. The two halves meet in float32.
inline constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (kind_of(a) != kind_of(b)) {
    const DType high = kind_of(a) > kind_of(b) ? a : b;
    const DType low = kind_of(a) > kind_of(b) ? b : a;
    const bool widens = kind_of(high) == Kind::kComplex && low == DType::kFloat64;
    return widens ? DType::kComplex128 : high;
  }
  if (kind_of(a) == Kind::kInteger && is_unsigned(a) != is_unsigned(b)) {
    const DType with = is_unsigned(a) ? a : b;
    const DType without = is_unsigned(a) ? b : a;
    if (size_of(without) > size_of(with)) return without;
    if (with == DType::kUInt8) return DType::kInt16;
    if (with == DType::kUInt16) return DType::kInt32;
    return with == DType::kUInt32 ? DType::kInt64 : DType::kFloat64;
  }
  if (size_of(a) == size_of(b)) return DType::kFloat32;
  return size_of(a) > size_of(b) ? a : b;
}

// A Python number that has not met a tensor yet; the alternatives are in the order of Kind, and
// last the integers that only uint64 holds.
using Literal = std::variant<bool, int64_t, double, std::complex<double>, uint64_t>;
inline constexpr Kind kind_of(const Literal& literal) {
  const bool is_wide = std::holds_alternative<uint64_t>(literal);
  return is_wide ? Kind::kInteger : static_cast<Kind>(literal.index());
}
// What a literal becomes by itself.
inline constexpr DType default_dtype(const Literal& literal) {
  const bool is_wide = std::holds_alternative<uint64_t>(literal);
  return is_wide ? DType::kUInt64 : default_dtype(kind_of(literal));
}

// The dtype that a literal takes beside a tensor: the tensor's, unless its own category is higher.
inline constexpr DType literal_dtype(Kind kind, DType beside) {
  if (kind <= kind_of(beside)) return beside;
  return kind == Kind::kComplex && kind_of(beside) == Kind::kFloating ? complex_of(beside)
                                                                      : default_dtype(kind);
}

template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>{}) with the C++ type of `dtype`: the table of types.
template <class F>
constexpr decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt8:
      return f(TypeTag<int8_t>{});
    case DType::kInt16:
      return f(TypeTag<int16_t>{});
    case DType::kInt32:
      return f(TypeTag<int32_t>{});
    case DType::kInt64:
      return f(TypeTag<int64_t>{});
    case DType::kUInt8:
      return f(TypeTag<uint8_t>{});
    case DType::kUInt16:
      return f(TypeTag<uint16_t>{});
    case DType::kUInt32:
      return f(TypeTag<uint32_t>{});
    case DType::kUInt64:
      return f(TypeTag<uint64_t>{});
    case DType::kFloat16:
      return f(TypeTag<Float16>{});
    case DType::kBFloat16:
      return f(TypeTag<BFloat16>{});
    case DType::kFloat32:
      return f(TypeTag<float>{});
    case DType::kFloat64:
      return f(TypeTag<double>{});
    case DType::kComplex64:
      return f(TypeTag<Complex<float>>{});
    case DType::kComplex128:
      return f(TypeTag<Complex<double>>{});
    case DType::kBool:
      break;
  }
  return f(TypeTag<bool>{});
}

// The same for dtypes that kernels compute in.
template <class F>
constexpr decltype(auto) visit_compute(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt32:
      return f(TypeTag<int32_t>{});
    case DType::kInt64:
      return f(TypeTag<int64_t>{});
    case DType::kUInt64:
      return f(TypeTag<uint64_t>{});
    case DType::kFloat32:
      return f(TypeTag<float>{});
    case DType::kFloat64:
      return f(TypeTag<double>{});
    case DType::kComplex64:
      return f(TypeTag<Complex<float>>{});
    case DType::kComplex128:
      return f(TypeTag<Complex<double>>{});
    default:
      return f(TypeTag<bool>{});
  }
}

namespace detail {
template <class T>
constexpr DType find_dtype() {
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    if (visit_dtype(dtype,
                    [](auto tag) { return std::is_same_v<typename decltype(tag)::type, T>; })) {
      return dtype;
    }
  }
  return DType::kBool;
}
}  // namespace detail
template <class T>
inline constexpr DType dtype_of = detail::find_dtype<T>();

// A T for each dtype.
template <class T>
struct ByDType {
  T kernel[kDTypeCount] = {};
  T& operator[](DType dtype) { return kernel[static_cast<int>(dtype)]; }
  const T& operator[](DType dtype) const { return kernel[static_cast<int>(dtype)]; }
};

// A literal as an element. What does not fit is for the caller to refuse before.
template <class T>
T literal_as(const Literal& literal) {
  return std::visit(
      [](auto value) -> T {
        if constexpr (std::is_same_v<decltype(value), std::complex<double>>) {
          if constexpr (is_complex<T>) {
            return T(Complex<double>(value.real(), value.imag()));
          } else {
            return static_cast<T>(value.real());
          }
        } else {
          return static_cast<T>(value);
        }
      },
      literal);
}

}  // namespace tensorlike
