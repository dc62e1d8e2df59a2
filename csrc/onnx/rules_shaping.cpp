// Ops that move, join, cut and pick, as their attributes and inputs say.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "onnx/rules.h"

namespace tensorlike::onnx {
namespace {

// Other shapes.
Items reshape(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  Sizes wanted = call.integers("shape");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != 0 || call.integer("allowzero") != 0) continue;
    if (i >= x.spec.shape.size())
      call.refuse("shape", "0 must be at the place of a dimension", "none");
    wanted[i] = x.spec.shape[i];
  }
  return {call.reshaped(x, wanted)};
}

Items squeeze(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const size_t rank = x.spec.shape.size();
  std::vector<bool> goes(rank, false);
  for (size_t i = 0; i < rank && !call.is_given("axes"); ++i) goes[i] = x.spec.shape[i] == 1;
  if (call.is_given("axes")) {
    for (const Item& axis : call.item("axes").list("axes")) {
      const Item at = calculate("normal_axis", {axis, Item(static_cast<int64_t>(rank))});
      goes[static_cast<size_t>(at.integer("axes"))] = true;
    }
  }
  Sizes left;
  for (size_t i = 0; i < rank; ++i) {
    if (!goes[i]) left.push_back(x.spec.shape[i]);
    if (goes[i] && x.spec.shape[i] != 1)
      call.refuse("axes", "must be of the size 1", to_string(x.spec));
  }
  return {call.reshaped(x, left)};
}

Items unsqueeze(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Items& axes = call.item("axes").list("axes");
  const size_t rank = x.spec.shape.size() + axes.size();
  std::vector<bool> is_new(rank, false);
  for (const Item& axis : axes) {
    const Item at = calculate("normal_axis", {axis, Item(static_cast<int64_t>(rank))});
    const auto place = static_cast<size_t>(at.integer("axes"));
    if (is_new[place]) call.refuse("axes", "must differ", text(place));
    is_new[place] = true;
  }
  Sizes sizes;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) sizes.push_back(is_new[i] ? 1 : x.spec.shape[next++]);
  return {call.reshaped(x, sizes)};
}

Items flatten(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const auto rank = static_cast<int64_t>(x.spec.shape.size());
  const int64_t axis = call.integer("axis");
  if (axis < -rank || axis > rank) call.refuse("axis", "must be an axis", text(axis));
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < rank; ++i) {
    (i < (axis < 0 ? axis + rank : axis) ? rows : columns) *= x.spec.shape[static_cast<size_t>(i)];
  }
  return {call.reshaped(x, Sizes{rows, columns})};
}

Items expand(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  Sizes wanted = call.integers("shape"), old = sizes_of(x);
  const size_t rank = std::max(wanted.size(), old.size());
  wanted.insert(wanted.begin(), rank - wanted.size(), 1);
  old.insert(old.begin(), rank - old.size(), 1);
  for (size_t i = 0; i < rank; ++i) {
    if (wanted[i] == 1) wanted[i] = old[i];
  }
  return {Item(call.calls.one("broadcast_to", {Item(x)}, {{"shape", list_of(wanted)}}))};
}

// Parts.
Items concat(const RuleCall& call) {
  const Item axis(call.integer("axis"));
  return {Item(call.calls.one("concat", call.item("xs").list("xs"), {{"axis", axis}}))};
}

Items split(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const size_t axis = call.axis("axis", x.spec.shape.size());
  Sizes sizes;
  if (call.is_given("split")) {
    sizes = call.integers("split");
  } else {
    const bool is_said = call.values.count("num_outputs") > 0 && call.is_given("num_outputs");
    const int64_t count =
        is_said ? call.integer("num_outputs") : static_cast<int64_t>(call.outputs);
    if (count < 1 || count > 4096)
      call.refuse("num_outputs", "must be a number of parts", text(count));
    const int64_t whole = x.spec.shape[axis], each = (whole + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) {
      sizes.push_back(std::clamp<int64_t>(whole - i * each, 0, each));
    }
  }
  std::vector<Slice> slices(x.spec.shape.size());
  Items parts;
  int64_t first = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > x.spec.shape[axis] - first) {
      call.refuse("split", "must add up to the size of the axis", to_string(x.spec));
    }
    slices[axis] = {first, first + size, 1};
    parts.push_back(Item(part_of(call.calls, x, slices)));
    first += size;
  }
  return parts;
}

Items slice_of(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Sizes starts = call.integers("starts"), ends = call.integers("ends");
  Sizes axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.is_given("axes")) axes = call.integers("axes");
  if (call.values.count("steps") > 0 && call.is_given("steps")) steps = call.integers("steps");
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    call.refuse("starts", "must be as many as ends, axes and steps", text(starts.size()));
  }
  const auto rank = static_cast<int64_t>(x.spec.shape.size());
  std::vector<Slice> slices(x.spec.shape.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    if (axes[i] < -rank || axes[i] >= rank) call.refuse("axes", "must be axes", text(axes[i]));
    if (steps[i] == 0) call.refuse("steps", "must not be 0", "0");
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    const int64_t count = x.spec.shape[axis];
    const auto place = [&](int64_t given, int64_t least, int64_t most) {
      return std::clamp(given < 0 ? given + count : given, least, most);
    };
    const bool is_forward = steps[i] > 0;
    const int64_t first = place(starts[i], 0, is_forward ? count : count - 1);
    const int64_t last = place(ends[i], is_forward ? 0 : -1, is_forward ? count : count - 1);
    slices[axis] = {first, last < 0 ? kNoBound : last, steps[i]};
    // An end before the beginning is none to Python; here nothing is left either way.
    const bool is_empty = is_forward ? first >= last : first <= last;
    if (is_empty) slices[axis] = {0, 0, 1};
  }
  return {Item(part_of(call.calls, x, slices))};
}

Items pad(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Item rank(static_cast<int64_t>(x.spec.shape.size()));
  const bool has_axes = call.values.count("axes") > 0;
  const Item axes = has_axes ? call.item("axes") : Item();
  const Sizes widths = calculate("widths_of", {call.item("pads"), axes, rank}).integers("pads");
  std::vector<Slice> slices(x.spec.shape.size());
  Sizes added;
  for (size_t i = 0; i < widths.size(); ++i) {
    added.push_back(std::max<int64_t>(widths[i], 0));
    const int64_t size = x.spec.shape[i / 2];
    if (widths[i] < -size) call.refuse("pads", "must leave something", text(widths[i]));
    if (widths[i] < 0)
      (i % 2 == 0 ? slices[i / 2].first : slices[i / 2].last) =
          i % 2 == 0 ? -widths[i] : size + widths[i];
  }
  const Item part = Item(part_of(call.calls, x, slices));
  std::string mode = call.item("mode").text("mode");
  if (mode == "wrap") mode = "circular";
  const Item value = call.is_given("value") ? call.item("value") : Item(0.0);
  return {Item(call.calls.one(
      "pad", {part}, {{"widths", list_of(added)}, {"mode", Item(mode)}, {"value", value}}))};
}

// The middle of a tensor, or the tensor in the middle of zeros.
Items center_crop_pad(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const size_t rank = x.spec.shape.size();
  const Sizes wanted = call.integers("shape");
  Sizes axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.is_given("axes")) axes = call.integers("axes");
  if (axes.size() != wanted.size()) {
    call.refuse("shape", "must have a size for each axis", text(wanted.size()));
  }
  std::vector<Slice> slices(rank);
  Sizes widths(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const Item place = calculate("normal_axis", {Item(axes[i]), Item(static_cast<int64_t>(rank))});
    const auto axis = static_cast<size_t>(place.integer("axis"));
    const int64_t size = x.spec.shape[axis];
    if (wanted[i] < 0) call.refuse("shape", "must be sizes", text(wanted[i]));
    if (wanted[i] < size) {
      slices[axis] = {(size - wanted[i]) / 2, (size - wanted[i]) / 2 + wanted[i], 1};
    } else {
      widths[2 * axis] = (wanted[i] - size) / 2;
      widths[2 * axis + 1] = wanted[i] - size - widths[2 * axis];
    }
  }
  return {call.one("pad", {Item(part_of(call.calls, x, slices))}, {{"widths", list_of(widths)}})};
}

Items gather(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const size_t axis = call.axis("axis", x.spec.shape.size());
  const Item at = from_front(call, call.tensor("indices"), x.spec.shape[axis]);
  return {Item(picked(call.calls, x, at.tensor("indices"), axis))};
}

Items gather_elements(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Tensor& indices = call.tensor("indices");
  const size_t axis = call.axis("axis", x.spec.shape.size());
  if (indices.spec.shape.size() != x.spec.shape.size())
    call.refuse("indices", "must have as many axes as x", to_string(indices.spec));
  std::vector<Slice> slices(x.spec.shape.size());
  for (size_t i = 0; i < slices.size(); ++i) {
    if (i != axis) slices[i] = {0, indices.spec.shape[i], 1};
  }
  const Item part = Item(part_of(call.calls, x, slices));
  const Item at = from_front(call, indices, x.spec.shape[axis]);
  return {Item(
      call.calls.one("take_along_axis", {part, at}, {{"axis", Item(static_cast<int64_t>(axis))}}))};
}

constexpr NamedRule kShapingRules[] = {
    {"reshape", reshape},
    {"squeeze", squeeze},
    {"unsqueeze", unsqueeze},
    {"flatten", flatten},
    {"expand", expand},
    {"concat", concat},
    {"split", split},
    {"slice_of", slice_of},
    {"pad", pad},
    {"center_crop_pad", center_crop_pad},
    {"gather", gather},
    {"gather_elements", gather_elements},
};

}  // namespace

Item from_front(const RuleCall& call, const Tensor& indices, int64_t size) {
  const Item at(indices);
  const Item wrapped(call.calls.one("add", {at, Item(size)}));
  const Item is_negative(call.calls.one("less", {at, Item(int64_t{0})}));
  return Item(call.calls.one("where", {is_negative, wrapped, at}));
}

std::span<const NamedRule> shaping_rules() { return kShapingRules; }

}  // namespace tensorlike::onnx
