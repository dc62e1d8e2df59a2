// Element types. One table row per dtype; `visit_dtype` is the only switch over them, so another
// dtype is one more row here and one more column of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorlike {

enum class DType : uint8_t { kBool, kInt32, kInt64, kFloat32, kFloat64 };
inline constexpr int kDTypeCount = 5;

// Promotion categories of the Array API standard, in order: bool < integer < floating.
enum class Kind : uint8_t { kBool, kInteger, kFloating };

struct DTypeInfo {
  std::string_view name;
  size_t size;
  Kind kind;
};

inline constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"bool", 1, Kind::kBool},        {"int32", 4, Kind::kInteger},    {"int64", 8, Kind::kInteger},
    {"float32", 4, Kind::kFloating}, {"float64", 8, Kind::kFloating},
};

inline constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
inline constexpr size_t size_of(DType dtype) { return info(dtype).size; }
inline constexpr Kind kind_of(DType dtype) { return info(dtype).kind; }
inline constexpr std::string_view name_of(DType dtype) { return info(dtype).name; }

// The default dtype of a category: what Python literals become.
inline constexpr DType default_dtype(Kind kind) {
  return kind == Kind::kBool ? DType::kBool
                             : (kind == Kind::kInteger ? DType::kInt64 : DType::kFloat32);
}

// Tensor promotion. Within a category the wider wins; across categories the higher category wins
// and keeps its own width (int64 + float32 is float32).
inline constexpr DType promote(DType a, DType b) {
  if (kind_of(a) != kind_of(b)) return kind_of(a) > kind_of(b) ? a : b;
  return size_of(a) >= size_of(b) ? a : b;
}

template <class T>
struct TypeTag {
  using type = T;
};

template <class T>
inline constexpr DType dtype_of = DType::kBool;
template <>
inline constexpr DType dtype_of<int32_t> = DType::kInt32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::kInt64;
template <>
inline constexpr DType dtype_of<float> = DType::kFloat32;
template <>
inline constexpr DType dtype_of<double> = DType::kFloat64;

// Calls f(TypeTag<T>{}) with the C++ type of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt32:
      return f(TypeTag<int32_t>{});
    case DType::kInt64:
      return f(TypeTag<int64_t>{});
    case DType::kFloat32:
      return f(TypeTag<float>{});
    case DType::kFloat64:
      return f(TypeTag<double>{});
    case DType::kBool:
      break;
  }
  return f(TypeTag<bool>{});
}

}  // namespace tensorlike
