// What kernels do with arrays as a whole: conversions, copies, other views.
#pragma once

#include <span>

#include "memory/array.h"
#include "memory/workspace.h"

namespace tensorlike {

// x in order, or of a dtype, or both: x itself where it is so, else in the workspace.
Array contiguous(const Array& x, Workspace& workspace);
Array cast(const Array& x, DType dtype, Workspace& workspace);
Array prepared(const Array& x, DType dtype, Workspace& workspace);

// Writes x, broadcast and converted, into the elements that `out` sees; the two do not overlap.
void assign(const Array& out, const Array& x);
// Writes a value into all of them; ErrorKind::kOverflow unless the dtype holds it.
void assign(const Array& out, const Literal& value);

// Fills `out` with pieces that follow each other along an axis, and have its shape otherwise.
void assign_along(const Array& out, size_t axis, std::span<const Array> pieces);

// For what is computed in a dtype and an order that `out` may lack: `write` gets `out` itself where
// it has them, else an array from the workspace, which is then assigned to `out`.
template <class Write>
void write_as(const Array& out, DType dtype, Workspace& workspace, Write&& write) {
  if (out.dtype == dtype && out.is_contiguous) {
    write(out);
    return;
  }
  const Array made = workspace.array(dtype, out.shape);
  write(made);
  assign(out, made);
}

}  // namespace tensorlike
