#include "cpu/arrays.h"

#include <algorithm>

#include "cpu/tiles.h"
#include "kernels/move.h"
#include "memory/layout.h"
#include "op/op.h"

namespace tensorlike {

namespace {

// Elements that never change, in order and of a dtype; null: nobody keeps them.
char* kept(const Array& x, DType dtype) {
  if (x.forms == nullptr) return nullptr;
  KeptForms::Key key{"elements in order", x.data, {static_cast<int64_t>(x.dtype)}};
  key.numbers.push_back(static_cast<int64_t>(dtype));
  for (const Dims* dims : {&x.shape, &x.strides}) {
    for (int64_t number : *dims) key.numbers.push_back(number);
  }
  const size_t bytes = static_cast<size_t>(x.count) * size_of(dtype);
  return x.forms->get(key, bytes, [&](char* memory) { assign(Array(dtype, x.shape, memory), x); });
}

}  // namespace

Array contiguous(const Array& x, Workspace& workspace) { return prepared(x, x.dtype, workspace); }

Array cast(const Array& x, DType dtype, Workspace& workspace) {
  return x.dtype == dtype ? x : prepared(x, dtype, workspace);
}

Array prepared(const Array& x, DType dtype, Workspace& workspace) {
  if (x.dtype == dtype && x.is_contiguous) return x;
  Array made(dtype, x.shape, kept(x, dtype));
  if (made.data == nullptr) {
    made = workspace.array(dtype, x.shape);
    assign(made, x);
  } else {
    made.forms = x.forms;
  }
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
  if (!has_no_gaps(out)) {
    Workspace workspace;
    assign(out, prepared(x, out.dtype, workspace));
    return;
  }
  const Array* const from[] = {&x};
  const Array* const to[] = {&out};
  run_program(prepare_cast(x.dtype, out.dtype).program, out.shape, from, to);
}

void assign(const Array& out, const Literal& value) {
  constexpr int64_t kFew = 1024;  // elements that are not worth asking how they lie
  check_literal(value, out.dtype);
  alignas(16) char element[16];
  const bool are_few = out.is_contiguous && out.count <= kFew;
  visit_dtype(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T found = literal_as<T>(value);
    *reinterpret_cast<T*>(element) = found;
    if (are_few) std::fill_n(out.as<T>(), out.count, found);
  });
  if (!are_few) assign(out, Array(out.dtype, {}, element));
}

}  // namespace tensorlike
