// Ops that pick and place elements by index; negative indices count from the end.
#include <algorithm>

#include "onnx/rules.h"

namespace tensorlike::onnx {
namespace {

// 0, 1, ... along one axis of a shape, as an index beside others.
Item numbers_along(const RuleCall& call, const Dims& shape, size_t axis) {
  const Item numbers(
      call.calls.one("arange", {}, {{"start", Item(int64_t{0})}, {"stop", Item(shape[axis])}}));
  Sizes sizes(shape.size(), 1);
  sizes[axis] = shape[axis];
  const Item spread = call.reshaped(numbers.tensor("numbers"), sizes);
  return call.one("broadcast_to", {spread}, {{"shape", list_of(shape)}});
}

Item first_axes(size_t count) {
  return calculate("upwards", {Item(int64_t{0}), Item(static_cast<int64_t>(count))});
}

// Elements in a row: those of x, those that are combined with them, and where these belong.
struct Row {
  Item x, updates, at;
};

// x and the updates as rows, of which places along the first axes say where updates belong.
Row in_a_row(const RuleCall& call, const Items& places) {
  const Tensor& x = call.tensor("x");
  const Dims& shape = x.spec.shape;
  const Sizes row{-1};
  Item at = places[0];
  for (size_t i = 1; i < places.size(); ++i) {
    at = call.one("add", {call.one("multiply", {at, Item(shape[i])}), places[i]});
  }
  int64_t inner = 1;
  for (size_t i = places.size(); i < shape.size(); ++i) inner *= shape[i];
  if (places.size() < shape.size()) {  // each place is a part of so many elements
    const Item first =
        call.one("multiply", {call.reshaped(at.tensor("places"), Sizes{-1, 1}), Item(inner)});
    at = call.one("add", {first, numbers_along(call, {1, inner}, 1)});
  }
  return {call.reshaped(x, row), call.reshaped(call.tensor("updates"), row),
          call.reshaped(at.tensor("places"), row)};
}

Item first_axis() { return list_of(Sizes{0}); }

Item along_row(const RuleCall& call, const char* function, Items args, const Item& at) {
  args.push_back(at);
  return call.one(function, args, {{"axes", first_axis()}});
}

// The largest or the smallest: in rising order, the last one that is written stays, and NaN comes
// last.
Item extremes(const RuleCall& call, const Row& row, bool is_largest) {
  const bool is_real = kind_of(call.tensor("x").spec.dtype) == Kind::kFloating;
  const bool turns = !is_largest && is_real;
  const Item order =
      call.one("argsort", {turns ? call.one("negative", {row.updates}) : row.updates},
               {{"axis", Item(int64_t{0})}, {"descending", Item(!is_largest && !is_real)}});
  const Item values = along_row(call, "gather", {row.updates}, order);
  const Item at = along_row(call, "gather", {row.at}, order);
  const Item written = along_row(call, "scatter_set", {row.x, values}, at);
  return call.one(is_largest ? "maximum" : "minimum", {written, row.x});
}

// Products of runs of one place, by doubling: the last element of a run has them all.
Item products(const RuleCall& call, const Row& row) {
  const Item order = call.one("argsort", {row.at}, {{"axis", Item(int64_t{0})}});
  const Tensor at = along_row(call, "gather", {row.at}, order).tensor("places");
  Tensor found = along_row(call, "gather", {row.updates}, order).tensor("updates");
  const auto part = [&](const Tensor& x, int64_t first, int64_t last) {
    return Item(part_of(call.calls, x, std::vector<Slice>{{first, last, 1}}));
  };
  const int64_t count = at.spec.shape[0];
  for (int64_t step = 1; step < count; step *= 2) {
    const Item is_same = call.one("equal", {part(at, step, count), part(at, 0, count - step)});
    const Item own = part(found, step, count);
    const Item both = call.one("multiply", {own, part(found, 0, count - step)});
    const Items parts{part(found, 0, step), call.one("where", {is_same, both, own})};
    found = call.calls.one("concat", parts, {{"axis", Item(int64_t{0})}});
  }
  const Tensor& x = row.x.tensor("x");
  const Item ones = call.one("full", {},
                             {{"shape", list_of(sizes_of(x))},
                              {"fill_value", Item(int64_t{1})},
                              {"dtype", Item(x.spec.dtype)}});
  return call.one("multiply",
                  {row.x, along_row(call, "scatter_set", {ones, Item(found)}, Item(at))});
}

// A tensor with elements at places replaced by updates, or combined with them.
Items placed(const RuleCall& call, const Items& places) {
  std::string reduction = "none";
  const auto found = call.values.find("reduction");
  if (found != call.values.end()) reduction = found->second.text("reduction");
  if (reduction == "none" || reduction == "add") {
    Items args{call.item("x"), call.item("updates")};
    args.insert(args.end(), places.begin(), places.end());
    return {call.one(reduction == "none" ? "scatter_set" : "scatter_add", args,
                     {{"axes", first_axes(places.size())}})};
  }
  if (reduction != "mul" && reduction != "max" && reduction != "min") {
    call.refuse("reduction", "must be none, add, mul, max or min", reduction);
  }
  const Row row = in_a_row(call, places);
  const Item made =
      reduction == "mul" ? products(call, row) : extremes(call, row, reduction == "max");
  return {call.reshaped(made.tensor("elements"), sizes_of(call.tensor("x")))};
}

Items scatter_elements(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Tensor& indices = call.tensor("indices");
  const Dims& shape = indices.spec.shape;
  const size_t axis = call.axis("axis", x.spec.shape.size());
  if (shape.size() != x.spec.shape.size()) {
    call.refuse("indices", "must have as many axes as x", to_string(indices.spec));
  }
  Items places;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_own = i == axis;
    places.push_back(is_own ? from_front(call, indices, x.spec.shape[axis])
                            : numbers_along(call, shape, i));
  }
  return placed(call, places);
}

// Index tensors, one for each of the first axes of x: those of batches, then those that the last
// axis of the indices has.
Items places_of(const RuleCall& call, size_t batch) {
  const Tensor& x = call.tensor("x");
  const Tensor& indices = call.tensor("indices");
  const Dims& shape = indices.spec.shape;
  const int64_t count = shape.empty() ? 0 : shape.back();
  if (count < 1 || batch >= shape.size() ||
      batch + static_cast<size_t>(count) > x.spec.shape.size()) {
    call.refuse("indices", "must end with as many numbers as there are axes to pick from",
                to_string(indices.spec));
  }
  const Dims outer(shape.begin(), shape.end() - 1);
  Items places;
  for (size_t i = 0; i < batch; ++i) places.push_back(numbers_along(call, outer, i));
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Slice> slices(shape.size());
    slices.back() = {i, i + 1, 1};
    const Tensor part = part_of(call.calls, indices, slices);
    const Item own = call.reshaped(part, outer);
    places.push_back(
        from_front(call, own.tensor("indices"), x.spec.shape[batch + static_cast<size_t>(i)]));
  }
  return places;
}

Items gather_nd(const RuleCall& call) {
  const int64_t batch = call.integer("batch_dims");
  if (batch < 0) call.refuse("batch_dims", "must be from 0", text(batch));
  const Items places = places_of(call, static_cast<size_t>(batch));
  Items args{call.item("x")};
  args.insert(args.end(), places.begin(), places.end());
  return {call.one("gather", args, {{"axes", first_axes(places.size())}})};
}

Items scatter_nd(const RuleCall& call) { return placed(call, places_of(call, 0)); }

// The rows where a condition holds, which must be known: it says how many there are.
Items compress(const RuleCall& call) {
  Tensor x = call.tensor("x");
  if (!call.is_given("axis")) x = call.reshaped(x, Sizes{-1}).tensor("x");
  const size_t axis = call.is_given("axis") ? call.axis("axis", x.spec.shape.size()) : 0;
  const Tensor& condition = call.tensor("condition");
  if (!condition.known) need_numbers(condition, "Compress", "condition");
  Sizes rows;
  const Sizes flags = integers_of(condition, "condition");
  for (size_t i = 0; i < flags.size() && static_cast<int64_t>(i) < x.spec.shape[axis]; ++i) {
    if (flags[i] != 0) rows.push_back(static_cast<int64_t>(i));
  }
  const Ref<RawTensor> made = RawTensor::empty(DType::kInt64, {static_cast<int64_t>(rows.size())});
  std::copy(rows.begin(), rows.end(), made->as<int64_t>());
  return {Item(picked(call.calls, x, call.calls.known(made), axis))};
}

// Each example's first steps, as many as its length, the other way round.
Items reverse_sequence(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Dims& shape = x.spec.shape;
  const size_t time = call.axis("time_axis", shape.size());
  const size_t batch = call.axis("batch_axis", shape.size());
  if (time + batch != 1)
    call.refuse("time_axis", "must be 0 or 1, and batch_axis the other", "others");
  const Dims outer(shape.begin(), shape.begin() + 2);
  Sizes sizes(2, 1);
  sizes[batch] = -1;
  const Item wide = call.one("astype", {call.item("lengths")}, {{"dtype", Item(DType::kInt64)}});
  const Item lengths = call.reshaped(wide.tensor("lengths"), sizes);
  const Item steps = numbers_along(call, outer, time);
  const Item last = call.one("subtract", {lengths, Item(int64_t{1})});
  const Item is_on = call.one("less", {steps, lengths});
  const Item turned = call.one("where", {is_on, call.one("subtract", {last, steps}), steps});
  const Item examples = numbers_along(call, outer, batch);
  const Items places = time == 0 ? Items{turned, examples} : Items{examples, turned};
  return {call.one("gather", {Item(x), places[0], places[1]}, {{"axes", first_axes(2)}})};
}

constexpr NamedRule kIndexingRules[] = {
    {"reverse_sequence", reverse_sequence},
    {"scatter_elements", scatter_elements},
    {"scatter_nd", scatter_nd},
    {"gather_nd", gather_nd},
    {"compress", compress},
};

}  // namespace

std::span<const NamedRule> indexing_rules() { return kIndexingRules; }

}  // namespace tensorlike::onnx
