#include "cpu/arrays.h"

#include "cpu/tiles.h"
#include "kernels/move.h"
#include "op/op.h"

namespace tensorlike {

Array contiguous(const Array& x, Workspace& workspace) { return prepared(x, x.dtype, workspace); }

Array cast(const Array& x, DType dtype, Workspace& workspace) {
  return x.dtype == dtype ? x : prepared(x, dtype, workspace);
}

Array prepared(const Array& x, DType dtype, Workspace& workspace) {
  if (x.dtype == dtype && x.is_contiguous) return x;
  Array made = workspace.array(dtype, x.shape);
  assign(made, x);
  return made;
}

void assign(const Array& out, const Array& x) {
  if (out.dtype == x.dtype) {
    if (out.is_contiguous && x.is_contiguous && out.shape == x.shape) {
      move_bytes(out.data, x.data, out.count * static_cast<int64_t>(size_of(out.dtype)));
      return;
    }
    const Array source = broadcast_to(x, out.shape);
    move_strided(out.data, out.strides, source.data, source.strides, out.shape, size_of(out.dtype));
    return;
  }
  if (!out.is_contiguous) {
    Workspace workspace;
    assign(out, prepared(x, out.dtype, workspace));
    return;
  }
  const Array* const from[] = {&x};
  const Array* const to[] = {&out};
  run_program(prepare_cast(x.dtype, out.dtype).program, out.shape, from, to);
}

void assign(const Array& out, const Literal& value) {
  check_literal(value, out.dtype);
  alignas(16) char element[16];
  visit_dtype(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *reinterpret_cast<T*>(element) = literal_as<T>(value);
  });
  assign(out, Array(out.dtype, {}, element));
}

}  // namespace tensorlike
