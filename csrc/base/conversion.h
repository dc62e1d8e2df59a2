// Which conversions between dtypes are one step, and what the others are made of.
#pragma once

#include "base/dtype.h"
#include "base/small_vector.h"

namespace tensorlike {

// The others go through the dtypes that kernels compute in. A complex number has no real value
// unless its owner says which part, but it has a truth.
constexpr bool converts_at_once(DType from, DType to) {
  if (from == to) return true;
  const bool is_whole = kind_of(from) <= Kind::kInteger;
  if (is_whole && kind_of(to) <= Kind::kInteger) return true;
  if (is_whole && (to == DType::kFloat32 || to == DType::kFloat64)) return true;
  if (kind_of(from) == Kind::kFloating && kind_of(to) <= Kind::kInteger) return true;
  // By way of float32, which holds all of them.
  if (is_whole && size_of(from) <= 2 && kind_of(to) == Kind::kFloating) return true;
  if (kind_of(from) == Kind::kComplex && kind_of(to) != Kind::kComplex) return to == DType::kBool;
  const bool both_compute = compute_of(from) == from && compute_of(to) == to;
  const bool is_wide = from == DType::kFloat64 || is_whole;  // than float32 is exact
  const bool rounds_once = is_wide && kind_of(to) == Kind::kFloating && compute_of(to) != to;
  return both_compute || rounds_once || compute_of(from) == to || compute_of(to) == from;
}

// The dtypes that a conversion gives one after another; none where a complex number would lose its
// imaginary part.
inline SmallVector<DType, 3> conversion_steps(DType from, DType to) {
  SmallVector<DType, 3> steps;
  auto step = [&](DType next) {
    if (next == from && !steps.empty()) return true;
    if (!converts_at_once(from, next)) return false;
    steps.push_back(next);
    from = next;
    return true;
  };
  if (step(to)) return steps;
  if (compute_of(from) != from) step(compute_of(from));
  // To a half by way of double: a wide integer or a float is then rounded once.
  const bool is_to_half = kind_of(to) == Kind::kFloating && compute_of(to) != to;
  const DType last = is_to_half && from != DType::kFloat32 ? DType::kFloat64 : compute_of(to);
  if (!step(to) && !(from != last && step(last) && step(to)) && from != to) steps.clear();
  return steps;
}

}  // namespace tensorlike
