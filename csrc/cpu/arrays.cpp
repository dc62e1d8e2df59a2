#include "cpu/arrays.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/tiles.h"
#include "kernels/kernel_table.h"
#include "kernels/move.h"
#include "memory/layout.h"
#include "op/op.h"

namespace tensorlike {

namespace {

constexpr int64_t kBandBytes = 262144;  // that stay in the second-level cache

// Pieces along an axis, of all or of a part of the axes before.
struct Pieced {
  Array out;
  SmallVector<Array, 4> pieces;

  int64_t bytes() const { return out.count * static_cast<int64_t>(size_of(out.dtype)); }
  // [begin, begin + size) of an axis that is not that of the pieces.
  Pieced part(size_t axis, int64_t begin, int64_t size) const {
    const auto cut = [&](const Array& x) {
      Dims shape = x.shape;
      shape[axis] = size;
      return x.view(std::move(shape), x.strides, begin * x.strides[axis]);
    };
    Pieced found{cut(out), {}};
    for (const Array& piece : pieces) found.pieces.push_back(cut(piece));
    return found;
  }
  void write(size_t axis) const {
    int64_t at = 0;
    for (const Array& piece : pieces) {
      assign(out.view(piece.shape, out.strides, at * out.strides[axis]), piece);
      at += piece.shape[axis];
    }
  }
};

// Halves of halves along the axes before, down to bands.
void cut_into_bands(Pieced all, size_t axis, std::vector<Pieced>& bands) {
  const auto before = all.out.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto first = std::find_if(all.out.shape.begin(), before, [](int64_t n) { return n > 1; });
  if (all.bytes() <= kBandBytes || first == before) {
    bands.push_back(std::move(all));
    return;
  }
  const size_t outer = static_cast<size_t>(first - all.out.shape.begin());
  const int64_t half = *first / 2;
  cut_into_bands(all.part(outer, 0, half), axis, bands);
  cut_into_bands(all.part(outer, half, *first - half), axis, bands);
}

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

namespace {

constexpr int64_t kFewMoved = 16;  // elements that are moved before it is known how they lie

// Elements one by one, in order; x has the shape of `out`.
template <class Word>
void copy_each(const Array& out, const Array& x) {
  const size_t ndim = out.shape.size();
  Dims at(ndim, 0);
  const Word* from = x.as<Word>();
  Word* to = out.as<Word>();
  for (int64_t left = out.count; left > 0; --left) {
    std::memcpy(to, from, sizeof(Word));
    for (size_t i = ndim; i-- > 0;) {
      to += out.strides[i];
      from += x.strides[i];
      if (++at[i] < out.shape[i]) break;
      to -= out.strides[i] * at[i];
      from -= x.strides[i] * at[i];
      at[i] = 0;
    }
  }
}

void copy_few(const Array& out, const Array& x) {
  struct Pair {
    uint64_t first, second;
  };
  switch (size_of(out.dtype)) {
    case 1:
      return copy_each<uint8_t>(out, x);
    case 2:
      return copy_each<uint16_t>(out, x);
    case 4:
      return copy_each<uint32_t>(out, x);
    case 8:
      return copy_each<uint64_t>(out, x);
    default:
      return copy_each<Pair>(out, x);
  }
}

}  // namespace

void assign(const Array& out, const Array& x) {
  if (out.dtype == x.dtype) {
    if (out.is_contiguous && x.is_contiguous && out.shape == x.shape) {
      move_bytes(out.data, x.data, out.count * static_cast<int64_t>(size_of(out.dtype)));
      return;
    }
    const Array source = broadcast_to(x, out.shape);
    if (out.count <= kFewMoved) return copy_few(out, source);
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

// Band by band, so that lines in which pieces meet are written once, and a piece that comes twice
// is read once.
void assign_along(const Array& out, size_t axis, std::span<const Array> pieces) {
  Pieced all{out, SmallVector<Array, 4>(pieces.begin(), pieces.end())};
  if (all.bytes() <= kBandBytes || axis == 0) return all.write(axis);
  std::vector<Pieced> bands;
  cut_into_bands(std::move(all), axis, bands);
  if (bands.size() == 1) return bands[0].write(axis);
  BlockingRegion blocking(true);
  parallel_for(static_cast<int64_t>(bands.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) bands[static_cast<size_t>(i)].write(axis);
  });
}

void assign(const Array& out, const Literal& value) {
  constexpr int64_t kFew = 1024;  // elements that are not worth asking how they lie
  check_literal(value, out.dtype);
  alignas(16) char element[16];
  const bool are_few = out.is_contiguous && out.count <= kFew;
  visit_dtype(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *reinterpret_cast<T*>(element) = literal_as<T>(value);
  });
  if (!are_few) return assign(out, Array(out.dtype, {}, element));
  const auto size = static_cast<int64_t>(size_of(out.dtype));
  move_kernels(size).rows({out.data, 0, size, element, 0, 0, 1, out.count});
}

}  // namespace tensorlike
