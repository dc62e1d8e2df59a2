// If, Loop and Scan: at once where what decides is known, else as programs that an op holds.
#include <algorithm>

#include "onnx/rules.h"
#include "onnx/subgraph.h"

namespace tensorlike::onnx {
namespace {

constexpr int64_t kMostWrittenOut = 10'000;         // steps of which each becomes steps of its own
constexpr int64_t kMostCounted = int64_t{1} << 24;  // steps whose numbers are made before

Item flag(bool is_set) {
  return Item(Tensor{-1, RawTensor::scalar(DType::kBool, is_set), {DType::kBool, {}}});
}
Item integer(int64_t number) {
  return Item(Tensor{-1, RawTensor::scalar(DType::kInt64, number), {DType::kInt64, {}}});
}

// An op that holds programs, as a step.
Items held(const RuleCall& call, Holder::Kind kind, std::vector<Ref<Stretch>> programs,
           std::vector<Attr> params, std::vector<Tensor> given,
           const std::vector<Tensor>& outside) {
  Items made;
  for (Tensor& x : add_holder(call.calls, kind, std::move(programs), std::move(params),
                              std::move(given), outside)) {
    made.emplace_back(std::move(x));
  }
  return made;
}

std::vector<Tensor> tensors(const Items& items) {
  std::vector<Tensor> found;
  for (const Item& item : items) found.push_back(item.tensor("a value"));
  return found;
}

// A condition or a count, of no dimensions.
Tensor scalar(const RuleCall& call, const char* name) {
  return call.reshaped(call.tensor(name), {}).tensor(name);
}

Items choose(const RuleCall& call) {
  const Subgraph& yes = call.item("then_branch").graph("then_branch");
  const Subgraph& no = call.item("else_branch").graph("else_branch");
  const Tensor condition = scalar(call, "condition");
  if (condition.known) {
    return (integers_of(condition, "condition").at(0) != 0 ? yes : no).run(call.calls, {});
  }
  try {
    Recording first, second;
    first.give(yes.run(first.calls(), {}));
    second.give(no.run(second.calls(), {}));
    first.join(second);
    return held(call, Holder::Kind::kCond, {first.finish(), second.finish()}, {}, {condition},
                first.outside());
  } catch (const Error&) {
    // A branch that no run takes need not go with these sizes, nor give the same shapes.
    need_numbers(condition, "If", "condition");
  }
}

class Loop {
 public:
  explicit Loop(const RuleCall& call)
      : call_(call),
        body_(call.item("body").graph("body")),
        initial_(call.item("initial").list("initial")) {
    if (call.is_given("count")) most_ = scalar(call, "count");
    flag_ = call.is_given("condition") ? scalar(call, "condition") : flag(true).tensor("a flag");
    if (body_.outputs() < 1 + initial_.size()) {
      call.refuse("body", "must give a condition, and what goes on", text(body_.outputs()));
    }
    rows_ = body_.outputs() - 1 - initial_.size();
  }

  Items results() const {
    const bool is_counted = flag_.known && (!most_ || most_->known);
    if (is_counted && std::all_of(initial_.begin(), initial_.end(), is_known)) {
      try {
        return written_out();
      } catch (const NumberNeeded&) {
        // It depends on something else that the body reads: that is recorded.
      }
    }
    try {
      return recorded();
    } catch (const Error&) {
      if (!flag_.known) need_numbers(flag_, "Loop", "condition");
      if (most_ && !most_->known) need_numbers(*most_, "Loop", "count");
    }
    return written_out();
  }

 private:
  static bool is_known(const Item& item) {
    const auto* x = std::get_if<Tensor>(&item.value);
    return x == nullptr || x->known;
  }
  static bool is_true(const Tensor& x) { return x.known && integers_of(x, "condition").at(0) != 0; }
  static Items joined(Items first, const Items& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  // What a step gives, its condition of no dimensions.
  Items step(Calls& calls, const Item& number, const Item& again, const Items& values) const {
    Items found = body_.run(calls, joined({number, again}, values));
    found[0] = Item(calls.one("reshape", {found[0]}, {{"shape", list_of(Items())}}));
    return found;
  }

  // A scan over the numbers of the steps where they are known, else a while loop.
  Items recorded() const {
    const bool is_counted = most_ && most_->known && is_true(flag_);
    if (is_counted && integers_of(*most_, "count").at(0) <= kMostCounted) {
      if (const std::optional<Items> found = scanned()) return *found;
    }
    if (rows_ > 0) call_.refuse("condition", "must be true where a loop gives rows", "a tensor");
    return repeated();
  }

  // None: its steps may end before.
  std::optional<Items> scanned() const {
    Recording body;
    body.calls().place = call_.calls.place;
    const Items values = body.parameters(initial_);
    const Item number = body.parameter({DType::kInt64, {}});
    Items found = step(body.calls(), number, flag(true), values);
    if (!is_true(found[0].tensor("a condition"))) return std::nullopt;
    found.erase(found.begin());
    body.give(found);
    std::vector<Tensor> given = tensors(initial_);
    given.push_back(call_.calls.one(
        "arange", {},
        {{"start", Item(int64_t{0})}, {"stop", Item(integers_of(*most_, "count")[0])}}));
    const std::vector<Attr> params{static_cast<int64_t>(initial_.size()), int64_t{1}, false};
    const std::vector<Tensor> outside = body.outside();
    return held(call_, Holder::Kind::kScanLoop, {body.finish()}, params, given, outside);
  }

  Items repeated() const {
    const Items start = joined({integer(0), Item(flag_)}, initial_);
    Recording asks, body;
    const Items now = asks.parameters(start), old = body.parameters(start);
    Item again = now[1];
    if (most_) {
      const Item is_before(asks.calls().one("less", {now[0], Item(*most_)}));
      again = Item(asks.calls().one("logical_and", {again, is_before}));
    }
    asks.give({again});
    body.calls().place = call_.calls.place;
    Items found = step(body.calls(), old[0], old[1], Items(old.begin() + 2, old.end()));
    found.insert(found.begin(), Item(body.calls().one("add", {old[0], Item(int64_t{1})})));
    body.give(found);
    asks.join(body);
    const std::vector<Tensor> outside = body.outside();
    const Items made = held(call_, Holder::Kind::kWhileLoop, {asks.finish(), body.finish()},
                            {Nothing()}, tensors(start), outside);
    return Items(made.begin() + 2, made.end());
  }

  // Each step as steps of the program.
  Items written_out() const {
    std::vector<Items> rows(rows_);
    Items values = initial_;
    Tensor again = flag_;
    const int64_t most = most_ ? integers_of(*most_, "count").at(0) : kMostWrittenOut + 1;
    for (int64_t number = 0; number < most; ++number) {
      if (!again.known) need_numbers(again, "Loop", "condition");
      if (!is_true(again)) break;
      if (number == kMostWrittenOut) {
        call_.refuse("count", text("must be at most ", kMostWrittenOut, " here"), "more");
      }
      const Items found = step(call_.calls, integer(number), flag(true), values);
      again = found[0].tensor("a condition");
      const auto first_row = found.begin() + 1 + static_cast<std::ptrdiff_t>(initial_.size());
      values = Items(found.begin() + 1, first_row);
      for (size_t i = 0; i < rows_; ++i)
        rows[i].push_back(first_row[static_cast<std::ptrdiff_t>(i)]);
    }
    for (const Items& row : rows) values.push_back(stacked(row));
    return values;
  }

  // Of no rows nobody has said the shape.
  Item stacked(const Items& row) const {
    if (row.empty()) return Item(call_.calls.known(RawTensor::empty(DType::kFloat32, {0})));
    return call_.one("stack", row, {{"axis", Item(int64_t{0})}});
  }

  const RuleCall& call_;
  const Subgraph& body_;
  const Items& initial_;
  std::optional<Tensor> most_;
  Tensor flag_;
  size_t rows_ = 0;
};

Items loop(const RuleCall& call) { return Loop(call).results(); }

// Whether rows go the other way, and along which axis, for each of so many.
std::vector<int64_t> numbers(const RuleCall& call, const char* name, size_t count) {
  std::vector<int64_t> found(count, 0);
  if (call.is_given(name)) found = call.integers(name);
  if (found.size() != count)
    call.refuse(name, text("must be ", count, " numbers"), text(found.size()));
  return found;
}

Tensor turned(const RuleCall& call, const Tensor& x) {
  std::vector<Slice> slices(x.spec.shape.size());
  slices.at(0).step = -1;
  return part_of(call.calls, x, slices);
}

// With an axis in another place.
Tensor moved(const RuleCall& call, const Tensor& x, int64_t from, int64_t to) {
  const auto rank = static_cast<int64_t>(x.spec.shape.size());
  const auto place = [&](int64_t axis) {
    return calculate("normal_axis", {Item(axis), Item(rank)}).integer("axis");
  };
  const int64_t first = place(from), last = place(to);
  if (first == last) return x;
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != first) order.push_back(i);
  }
  order.insert(order.begin() + last, first);
  return call.calls.one("permute_dims", {Item(x)}, {{"axes", list_of(order)}});
}

Items scan(const RuleCall& call) {
  const Subgraph& graph = call.item("body").graph("body");
  const Items& values = call.item("values").list("values");
  const int64_t along = call.integer("num_scan_inputs");
  if (along < 1 || static_cast<uint64_t>(along) > values.size()) {
    call.refuse("num_scan_inputs", text("must be from 1 to ", values.size()), text(along));
  }
  const size_t carries = values.size() - static_cast<size_t>(along);
  if (graph.outputs() < carries)
    call.refuse("body", "must give what goes on", text(graph.outputs()));
  const size_t made = graph.outputs() - carries;
  const auto axes = numbers(call, "scan_input_axes", static_cast<size_t>(along));
  const auto backs = numbers(call, "scan_input_directions", static_cast<size_t>(along));
  std::vector<Tensor> given = tensors(values);
  Recording body;
  body.calls().place = call.calls.place;
  Items inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    Spec spec = given[i].spec;
    if (i >= carries) {
      Tensor& x = given[i];
      if (x.spec.shape.empty()) call.refuse("values", "must have an axis to go along", "a scalar");
      x = moved(call, x, axes[i - carries], 0);
      if (backs[i - carries] != 0) x = turned(call, x);
      spec.shape = Dims(x.spec.shape.begin() + 1, x.spec.shape.end());
    }
    inputs.push_back(body.parameter(spec));
  }
  body.give(graph.run(body.calls(), inputs));
  const std::vector<Attr> params{static_cast<int64_t>(carries), along, false};
  const std::vector<Tensor> outside = body.outside();
  Items found = held(call, Holder::Kind::kScanLoop, {body.finish()}, params, given, outside);
  const auto places = numbers(call, "scan_output_axes", made);
  const auto ways = numbers(call, "scan_output_directions", made);
  for (size_t i = 0; i < made; ++i) {
    Tensor x = found[carries + i].tensor("rows");
    if (ways[i] != 0) x = turned(call, x);
    found[carries + i] = Item(moved(call, x, 0, places[i]));
  }
  return found;
}

// As opset 8 has it: the same for each example along a first axis.
Items scan_of_batches(const RuleCall& call) {
  if (call.is_given("lengths")) call.refuse("sequence_lens", "must not be given", "a tensor");
  const std::vector<Tensor> values = tensors(call.item("values").list("values"));
  for (const Tensor& x : values) {
    if (!x.spec.shape.empty() && x.spec.shape[0] == values[0].spec.shape[0]) continue;
    call.refuse("values", "must have as many examples", to_string(x.spec));
  }
  const int64_t count = values.empty() ? 0 : values[0].spec.shape[0];
  if (count < 1 || count > kMostWrittenOut) {
    call.refuse("values", text("must have from 1 to ", kMostWrittenOut, " examples"), text(count));
  }
  Named own = call.values;
  own["scan_input_directions"] = call.item("directions");
  for (const char* name : {"scan_input_axes", "scan_output_axes", "scan_output_directions"}) {
    own[name] = Item();
  }
  std::vector<Items> rows;
  for (int64_t i = 0; i < count; ++i) {
    Items parts;
    for (const Tensor& x : values) {
      std::vector<Slice> slices(x.spec.shape.size());
      slices[0] = {i, i + 1, 1};
      const std::vector<int64_t> rest(x.spec.shape.begin() + 1, x.spec.shape.end());
      parts.push_back(call.reshaped(part_of(call.calls, x, slices), rest));
    }
    own["values"] = list_of(parts);
    const Items found = scan({call.entry, own, call.calls, call.outputs});
    rows.resize(found.size());
    for (size_t k = 0; k < found.size(); ++k) rows[k].push_back(found[k]);
  }
  Items stacked;
  for (const Items& row : rows) {
    stacked.push_back(call.one("stack", row, {{"axis", Item(int64_t{0})}}));
  }
  return stacked;
}

constexpr NamedRule kControlFlowRules[] = {
    {"choose", choose}, {"loop", loop}, {"scan", scan}, {"scan_of_batches", scan_of_batches}};

}  // namespace

std::span<const NamedRule> control_flow_rules() { return kControlFlowRules; }

}  // namespace tensorlike::onnx
