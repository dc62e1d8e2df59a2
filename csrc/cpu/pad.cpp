// Pad: x in the middle of a larger tensor, whose margins are a constant or repeat what they touch.
// Margins are filled axis by axis from what is written already, so that corners come by themselves.
#include "op/pad.h"

#include <algorithm>

#include "cpu/arrays.h"
#include "kernels/move.h"
#include "op/families.h"

namespace tensorlike {
namespace {

// The part [begin, end) of an axis; a negative step reads it backwards, 0 repeats its first.
struct Margin {
  int64_t begin, size;  // in the result
  int64_t from, step;   // in the result too: where it reads
};

void copy_margin(const Array& out, size_t axis, const Margin& m) {
  if (m.size == 0) return;
  Dims shape = out.shape;
  Dims strides = out.strides;
  shape[axis] = m.size;
  strides[axis] *= m.step;
  const int64_t bytes = out.strides[axis] * static_cast<int64_t>(size_of(out.dtype));
  move_strided(out.data + m.begin * bytes, out.strides, out.data + m.from * bytes, strides, shape,
               size_of(out.dtype));
}

// Margins longer than what they repeat come in pieces, each from the one before.
void repeat_margins(const Array& out, size_t axis, int64_t before, int64_t n, PadMode mode) {
  const int64_t end = before + n;
  const int64_t total = out.shape[axis];
  if (mode == PadMode::kEdge) {
    copy_margin(out, axis, {0, before, before, 0});
    copy_margin(out, axis, {end, total - end, end - 1, 0});
    return;
  }
  if (mode == PadMode::kReflect) {
    copy_margin(out, axis, {0, before, 2 * before, -1});
    copy_margin(out, axis, {end, total - end, end - 2, -1});
    return;
  }
  for (int64_t left = before; left > 0;) {
    const int64_t size = std::min(left, n);
    copy_margin(out, axis, {left - size, size, left - size + n, 1});
    left -= size;
  }
  for (int64_t at = end; at < total;) {
    const int64_t size = std::min(total - at, n);
    copy_margin(out, axis, {at, size, at - n, 1});
    at += size;
  }
}

void fill_margins(const Array& out, const Literal& value, const Dims& inner, size_t axis,
                  const std::vector<int64_t>& widths) {
  // The axes before this one are already whole; here and after, only the middle is not margin.
  const int64_t before = widths[2 * axis];
  Dims shape = out.shape;
  int64_t offset = 0;
  for (size_t i = 0; i < axis; ++i) {
    shape[i] = inner[i];
    offset += widths[2 * i] * out.strides[i];
  }
  shape[axis] = before;
  assign(out.view(shape, out.strides, offset), value);
  shape[axis] = widths[2 * axis + 1];
  if (shape[axis] == 0) return;
  offset += (before + inner[axis]) * out.strides[axis];
  assign(out.view(shape, out.strides, offset), value);
}

// The one axis that has margins; where there is none or are several, the number of axes.
size_t only_axis(const std::vector<int64_t>& widths) {
  size_t found = widths.size() / 2;
  for (size_t i = 0; i < widths.size() / 2; ++i) {
    if (widths[2 * i] == 0 && widths[2 * i + 1] == 0) continue;
    if (found != widths.size() / 2) return widths.size() / 2;
    found = i;
  }
  return found;
}

// The margins of one axis and what is between them.
void pad_along(const Array& out, const Array& x, size_t axis, const std::vector<int64_t>& widths,
               const Literal& value) {
  alignas(16) char element[16];
  const Array single(out.dtype, {}, element);
  assign(single, value);
  const auto margin = [&](int64_t width) {
    Dims shape = out.shape;
    shape[axis] = width;
    return broadcast_to(single, shape);
  };
  const Array pieces[] = {margin(widths[2 * axis]), x, margin(widths[2 * axis + 1])};
  assign_along(out, axis, pieces);
}

void pad(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Array& x = *inputs[0];
  const Array& out = *outputs[0];
  if (out.count == 0) return;
  const std::vector<int64_t>& widths = op.get<std::vector<int64_t>>("widths");
  const PadMode mode = pad_mode(op);
  const size_t axis = only_axis(widths);
  if (mode == PadMode::kConstant && axis < x.shape.size()) {
    return pad_along(out, x, axis, widths, literal_of(op.attr("value")));
  }
  int64_t offset = 0;
  for (size_t i = 0; i < x.shape.size(); ++i) offset += widths[2 * i] * out.strides[i];
  if (x.count > 0) assign(out.view(x.shape, out.strides, offset), x);
  if (mode == PadMode::kConstant) {
    const Literal value = literal_of(op.attr("value"));
    check_literal(value, out.dtype);  // also where there are no margins
    for (size_t i = 0; i < x.shape.size(); ++i) fill_margins(out, value, x.shape, i, widths);
    return;
  }
  // An axis repeats within the middle of the axes after it, whose margins then repeat the whole.
  for (size_t axis = x.shape.size(); axis-- > 0;) {
    Dims shape = out.shape;
    int64_t at = 0;
    for (size_t i = 0; i < axis; ++i) {
      shape[i] = x.shape[i];
      at += widths[2 * i] * out.strides[i];
    }
    repeat_margins(out.view(shape, out.strides, at), axis, widths[2 * axis], x.shape[axis], mode);
  }
}

constexpr std::pair<std::string_view, KernelRule> kPadKernels[] = {{"pad", pad}};

}  // namespace

RuleTable<KernelRule> pad_kernels() { return kPadKernels; }

}  // namespace tensorlike
