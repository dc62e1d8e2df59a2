// Scalar functions that an op applies to its result by their name: whole calls, and what their
// further arguments are.
#pragma once

#include <algorithm>
#include <span>

#include "cpu/arrays.h"
#include "cpu/loops.h"
#include "cpu/tiles.h"
#include "op/registry.h"
#include "op/tile_program.h"

namespace tensorlike {

// A number, repeated.
inline Array repeated(DType dtype, const Literal& value, Dims shape, Workspace& workspace) {
  check_literal(value, dtype);
  const Array made = workspace.array(dtype, std::move(shape));
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(made.as<T>(), made.count, literal_as<T>(value));
  });
  return made;
}

inline Literal fallback(const Scalar& scalar, size_t i) {
  return literal_of(scalar.spec.args[i].fallback);
}

// Whether a scalar function of this dtype is one loop that gives the same dtype.
inline bool is_one_loop(const Scalar& scalar, DType dtype) {
  const ScalarLoops* const loops = scalar.loops;
  if (loops == nullptr) return false;
  const ScalarLoops::Whole& whole = loops->whole[dtype];
  return whole.loop != nullptr && whole.result == dtype;
}

// One call of a scalar function, of arguments that broadcast to the result.
inline void call(const Scalar& scalar, std::span<const Array> args, const Array& out) {
  SmallVector<DType, 4> dtypes;
  SmallVector<const Array*, 4> operands;
  for (const Array& arg : args) {
    dtypes.push_back(arg.dtype);
    operands.push_back(&arg);
  }
  const Array* const to[] = {&out};
  run_program(prepare(scalar, dtypes).program, out.shape, operands, to);
}

}  // namespace tensorlike
