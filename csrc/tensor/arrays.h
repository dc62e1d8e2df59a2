// What kernels do with arrays as a whole: conversions, copies, other views.
#pragma once

#include "memory/array.h"
#include "memory/workspace.h"

namespace tensorlike {

// x as if it had this shape, to which its own broadcasts.
Array broadcast_to(const Array& x, std::span<const int64_t> shape);

// x in order, or of a dtype, or both: x itself where it is so, else in the workspace.
Array contiguous(const Array& x, Workspace& workspace);
Array cast(const Array& x, DType dtype, Workspace& workspace);
Array prepared(const Array& x, DType dtype, Workspace& workspace);

// Writes x, broadcast and converted, into the elements that `out` sees; the two do not overlap.
void assign(const Array& out, const Array& x);

}  // namespace tensorlike
