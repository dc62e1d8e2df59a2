#include "op/reduction_program.h"

#include <cstring>
#include <limits>

namespace tensorlike {
namespace {

// The dtypes that kernels compute in.
constexpr DType kComputed[] = {DType::kBool,      DType::kInt32,     DType::kInt64,
                               DType::kUInt64,    DType::kFloat32,   DType::kFloat64,
                               DType::kComplex64, DType::kComplex128};

// Booleans count as numbers; what must be floating-point is cast before.
bool takes(Category category, DType dtype) {
  const bool is_floating = category == Category::kFloating || category == Category::kRealFloating;
  return (kind_of(dtype) >= Kind::kFloating || !is_floating) && reduces(category, kind_of(dtype));
}

DType accumulator_of(DType dtype) {
  switch (kind_of(dtype)) {
    case Kind::kComplex:
      return DType::kComplex128;
    case Kind::kFloating:
      return DType::kFloat64;
    default:
      return is_unsigned(dtype) ? DType::kUInt64 : DType::kInt64;
  }
}

template <class T>
T identity(const std::string& init) {
  if constexpr (!is_complex<T> && !is_half<T> && !std::is_same_v<T, bool>) {
    using Limits = std::numeric_limits<T>;
    if (init == "lowest") return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    if (init == "highest") return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  return literal_as<T>(int64_t{init == "1" || init == "true" || init == "highest"});
}

std::unique_ptr<ReductionProgram> prepare_for(const Reduction& reduction, DType element) {
  auto made = std::make_unique<ReductionProgram>();
  const std::string& init = reduction.spec.init;
  const DType one[] = {element};
  const DType mapped = prepare_body(*reduction.map, one, {}).results[0];
  made->element = element;
  made->accumulator = init == "0" || init == "1" ? accumulator_of(mapped) : mapped;
  made->result = reduction.result_dtype(element);
  const DType acc[] = {made->accumulator};
  made->map = prepare_body(*reduction.map, one, acc);
  const DType pair[] = {acc[0], acc[0]};
  made->combine = prepare_body(*reduction.combine, pair, acc);
  const DType counted[] = {acc[0], DType::kInt64};
  const DType result[] = {made->result};
  made->finish = prepare_body(*reduction.finish, counted, result);
  visit_dtype(acc[0], [&](auto tag) {
    const auto value = identity<typename decltype(tag)::type>(init);
    std::memcpy(made->first, &value, sizeof(value));
  });
  return made;
}

}  // namespace

void prepare_reduction(Reduction& reduction) {
  for (DType dtype : kComputed) {
    if (!takes(reduction.spec.arg.category, dtype)) continue;
    reduction.programs[dtype] = prepare_for(reduction, dtype);
  }
}

}  // namespace tensorlike
