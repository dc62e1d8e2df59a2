// LSTM, GRU and RNN: our recurrences where ONNX's are they, with their usual functions and without
// a bound, else a scan over the cell's formula.
#include <algorithm>

#include "onnx/recurrent_cells.h"

namespace tensorlike::onnx {
namespace {

struct CellKind {
  std::string_view cell;
  std::vector<std::string_view> functions;
  // The places of ONNX's gates in ours: input, output, forget, candidate; update, reset, candidate.
  std::vector<int64_t> order;
  bool joins_biases;  // whether the hidden state's bias may join the inputs'
};
const CellKind kLstm{"lstm", {"Sigmoid", "Tanh", "Tanh"}, {0, 2, 3, 1}, true};
const CellKind kGru{"gru", {"Sigmoid", "Tanh"}, {1, 0, 2}, false};
const CellKind kRnn{"tanh", {"Tanh"}, {0}, true};

bool has(const RuleCall& call, const char* name) {
  const auto found = call.values.find(name);
  return found != call.values.end() && found->second.is_given();
}

// What a node says of each direction's cell.
std::vector<Cell> cells_of(const RuleCall& call, const CellKind& kind, size_t directions) {
  std::vector<Cell> found;
  for (auto& functions : activations_of(call, kind.functions, directions)) {
    Cell& cell = found.emplace_back(Cell{kind.cell, std::move(functions)});
    if (has(call, "clip")) cell.clip = call.item("clip").number("clip");
    cell.resets_after =
        has(call, "linear_before_reset") && call.integer("linear_before_reset") != 0;
    cell.joins_forget = has(call, "input_forget") && call.integer("input_forget") != 0;
  }
  return found;
}

// Whether our op has the cell's formula.
bool is_usual(const RuleCall& call, const CellKind& kind, const Cell& cell) {
  const bool is_plain = !cell.clip && !cell.joins_forget && !has(call, "p");
  return is_plain && (kind.cell != "gru" || cell.resets_after) &&
         std::equal(kind.functions.begin(), kind.functions.end(), cell.functions.begin(),
                    [](std::string_view name, const Activation& f) { return name == f.name; });
}

// An element of the first axis, without that axis.
Tensor element(Calls& calls, const Tensor& x, int64_t at) {
  const std::vector<int64_t> items{0, at, 0, 0};  // an integer, as Subtensor reads it
  return calls.one("subtensor", {Item(x)}, {{"items", list_of(items)}});
}
Tensor rows(Calls& calls, const Tensor& x, int64_t first, int64_t last) {
  std::vector<Slice> slices(x.spec.shape.size());
  slices[0] = {first, last, 1};
  return part_of(calls, x, slices);
}

// The gates along an axis in our order.
Tensor in_order(Calls& calls, const Tensor& x, const CellKind& kind, size_t axis = 0) {
  if (kind.order.size() == 1) return x;
  const int64_t size = x.spec.shape[axis] / static_cast<int64_t>(kind.order.size());
  Items parts;
  for (int64_t gate : kind.order) {
    std::vector<Slice> slices(x.spec.shape.size());
    slices[axis] = {gate * size, (gate + 1) * size, 1};
    parts.emplace_back(part_of(calls, x, slices));
  }
  return calls.one("concat", parts, {{"axis", Item(static_cast<int64_t>(axis))}});
}

// 0, 1 and on, in a shape of which one size is -1.
Item numbers(const RuleCall& call, int64_t count, const std::vector<int64_t>& sizes) {
  const Item all = call.one("arange", {}, {{"start", Item(int64_t{0})}, {"stop", Item(count)}});
  return call.reshaped(all.tensor("numbers"), sizes);
}

Item zeros_of(const RuleCall& call, const Tensor& like, const std::vector<int64_t>& shape) {
  const Item zero(
      call.calls.known(cast(*RawTensor::scalar(DType::kFloat32, 0.0), like.spec.dtype)));
  return call.one("broadcast_to", {zero}, {{"shape", list_of(shape)}});
}

// The states after each step, and an LSTM's cell states, of what the inputs add to the gates.
using Stepper = std::function<std::vector<Tensor>(const Item& sums, bool is_back)>;

// All examples by all steps, or each up to its own length, back from there where it goes the other
// way: all go on to the longest, and what comes after an end is not looked at.
States stepped(const RuleCall& call, const Stepper& stepper, const Item& sums, bool is_back) {
  Calls& calls = call.calls;
  if (!has(call, "lengths")) {
    const std::vector<Tensor> made = stepper(sums, is_back);
    const int64_t last = is_back ? 0 : -1;
    return {made[0], element(calls, made[0], last), element(calls, made.back(), last)};
  }
  const Dims shape = sums.tensor("sums").spec.shape;
  const Item lengths = call.one("astype", {call.item("lengths")}, {{"dtype", Item(DType::kInt64)}});
  const Item steps = numbers(call, shape[0], {-1, 1});
  const Item is_on = call.one("less", {steps, lengths});
  const Item last = call.one("subtract", {lengths, Item(int64_t{1})});
  const Item turned = call.one("where", {is_on, call.one("subtract", {last, steps}), steps});
  const Item examples = call.one("broadcast_to", {numbers(call, shape[1], {1, -1})},
                                 {{"shape", list_of(turned.tensor("places").spec.shape)}});
  const Item first_two = list_of(std::vector<int64_t>{0, 1});
  const auto turn = [&](const Item& x) {
    return is_back ? call.one("gather", {x, turned, examples}, {{"axes", first_two}}) : x;
  };
  // The states after so many steps; after none 0, as ONNX Runtime has it.
  const auto ended = [&](const Tensor& states) {
    const Item none = zeros_of(call, states, {1, shape[1], states.spec.shape[2]});
    const Item all = call.one("concat", {none, Item(states)}, {{"axis", Item(int64_t{0})}});
    return calls.one("gather", {all, lengths, numbers(call, shape[1], {-1})},
                     {{"axes", first_two}});
  };
  const std::vector<Tensor> made = stepper(turn(sums), false);
  const Item spread =
      call.reshaped(is_on.tensor("a mask"), std::vector<int64_t>{shape[0], shape[1], 1});
  const Item all = call.one("where", {spread, turn(Item(made[0])), Item(0.0)});
  return {all.tensor("states"), ended(made[0]), ended(made.back())};
}

// A direction's weights for its inputs or for its states: reals, whose rows are gates, or bytes
// with scales and zero points, whose columns are.
struct Weights {
  Tensor matrix;
  std::optional<Tensor> scale = {}, zero = {};

  bool is_real() const { return !scale; }
  int64_t gates() const { return matrix.spec.shape[is_real() ? 0 : 1]; }
  int64_t size() const { return matrix.spec.shape[is_real() ? 1 : 0]; }
  Weights ordered(Calls& calls, const CellKind& kind) const {
    if (is_real()) return {in_order(calls, matrix, kind)};
    const auto own = [&](const Tensor& x) {  // one of all gates, or one of each
      return x.spec.shape.empty() ? x : in_order(calls, x, kind);
    };
    return {in_order(calls, matrix, kind, 1), own(*scale), own(*zero)};
  }
  // What they make of inputs or states: all gates, or so many from one on. Reals become bytes in a
  // range of their own: inputs of all steps, or states before a step.
  Item product(Calls& calls, const Item& x, int64_t first, int64_t count) const {
    if (is_real()) {
      const Tensor part = count == gates() ? matrix : rows(calls, matrix, first, first + count);
      const Item columns(
          calls.one("permute_dims", {Item(part)}, {{"axes", list_of(std::vector<int64_t>{1, 0})}}));
      return Item(calls.one("matmul", {x, columns}));
    }
    const Named values{{"a", x},
                       {"b", Item(matrix)},
                       {"b_scale", Item(*scale)},
                       {"b_zero", Item(*zero)},
                       {"bias", Item()}};
    return run_body(*find_entry("com.microsoft", "DynamicQuantizeMatMul", 1), values, calls, 1)[0];
  }
};

Weights weights_of(const RuleCall& call, const std::string& name, int64_t direction) {
  const auto own = [&](const std::string& part) {
    return element(call.calls, call.tensor(part), direction);
  };
  Weights found{own(name)};
  if (found.matrix.spec.shape.size() != 2) {
    call.refuse(name, "must be weights of as many axes as the standard says",
                to_string(found.matrix.spec));
  }
  if (!has(call, (name + "_scale").c_str())) return found;
  found.scale = own(name + "_scale");
  found.zero = own(name + "_zero");
  return found;
}

// A direction's weights, and where it starts.
struct Given {
  Weights w, r;
  Tensor b, own_b, h, c;
};

Given given_to(const RuleCall& call, const CellKind& kind, int64_t direction) {
  Calls& calls = call.calls;
  const Tensor& x = call.tensor("x");
  if (x.spec.shape.size() != 3) {
    call.refuse("x", "must have as many axes as the standard says", to_string(x.spec));
  }
  Given found{weights_of(call, "w", direction), weights_of(call, "r", direction), {}, {}, {}, {}};
  const int64_t size = found.r.size(), gates = found.r.gates(), batch = x.spec.shape[1];
  const auto zeros = [&](const std::vector<int64_t>& shape) {
    return zeros_of(call, x, shape).tensor("zeros");
  };
  const auto start = [&](const char* name) {
    return has(call, name) ? element(calls, call.tensor(name), direction) : zeros({batch, size});
  };
  found.h = start("h");
  if (kind.cell == "lstm") found.c = start("c");
  if (call.is_given("b")) {
    const Tensor b = element(calls, call.tensor("b"), direction);
    found.b = rows(calls, b, 0, gates);
    found.own_b = rows(calls, b, gates, 2 * gates);
  } else {
    found.b = found.own_b = zeros({gates});
  }
  return found;
}

Item sums_of(const RuleCall& call, const Weights& w) {
  return w.product(call.calls, call.item("x"), 0, w.gates());
}

// The states of bytes are those of sequences that end.
States by_bytes(const RuleCall& call, const Given& given, const Weights& r, const Item& sums,
                bool is_back) {
  const Item rows =
      call.one("permute_dims", {Item(r.matrix)}, {{"axes", list_of(std::vector<int64_t>{1, 0})}});
  const int64_t length = sums.tensor("sums").spec.shape[0];
  const Item lengths = has(call, "lengths")
                           ? call.item("lengths")
                           : Item(call.calls.known(RawTensor::scalar(DType::kInt64, length)));
  const std::vector<Tensor> made = call.calls.call(
      "dynamic_quantized_lstm",
      {sums, rows, Item(*r.scale), Item(*r.zero), Item(given.h), Item(given.c), lengths},
      {{"reverse", Item(is_back)}});
  if (!has(call, "lengths")) return {made[0], made[1], made[2]};
  const Item is_any = call.one("greater", {lengths, Item(int64_t{0})});
  const Item spread = call.reshaped(is_any.tensor("a mask"), std::vector<int64_t>{-1, 1});
  const auto ended = [&](const Tensor& x) {
    return call.calls.one("where", {spread, Item(x), Item(0.0)});
  };
  return {made[0], ended(made[1]), ended(made[2])};
}

States by_op(const RuleCall& call, const CellKind& kind, const Given& given, bool is_back) {
  Calls& calls = call.calls;
  Item sums = sums_of(call, given.w.ordered(calls, kind));
  Tensor own = in_order(calls, given.own_b, kind);
  if (call.is_given("b")) {
    Item bias(in_order(calls, given.b, kind));
    if (kind.joins_biases) bias = call.one("add", {bias, Item(own)});
    sums = call.one("add", {sums, bias});
  }
  const Weights r = given.r.ordered(calls, kind);
  if (!r.is_real()) return by_bytes(call, given, r, sums, is_back);
  const Stepper stepper = [&](const Item& each, bool back) {
    Items args{each, Item(r.matrix), Item(given.h)};
    if (kind.cell == "lstm") args.emplace_back(given.c);
    if (kind.cell == "gru") args.emplace_back(own);
    const Item cell{std::string(kind.cell)};
    std::vector<Tensor> made =
        calls.call("recurrence", args, {{"cell", cell}, {"reverse", Item(back)}});
    made.resize(kind.cell == "lstm" ? 2 : 1);  // without the gates
    return made;
  };
  return stepped(call, stepper, sums, is_back);
}

States by_scan(const RuleCall& call, const CellKind& kind, const Cell& cell, const Given& given,
               int64_t direction, bool is_back) {
  const Item sums = call.one("add", {sums_of(call, given.w), Item(given.b)});
  const auto product = [&](Calls& calls, const Item& h, int64_t first, int64_t count) {
    return given.r.product(calls, h, first, count);
  };
  Steps steps{product, given.own_b, given.h};
  if (kind.cell == "lstm") steps.c = given.c;
  if (has(call, "p")) steps.peepholes = element(call.calls, call.tensor("p"), direction);
  if (has(call, "lengths")) {
    steps.lengths =
        call.calls.one("astype", {call.item("lengths")}, {{"dtype", Item(DType::kInt64)}});
  }
  const Stepper stepper = [&](const Item& each, bool back) {
    return scanned(call.calls, cell, steps, each.tensor("sums"), back);
  };
  return stepped(call, stepper, sums, is_back);
}

Item permuted(const RuleCall& call, const Item& x, const std::vector<int64_t>& axes) {
  return call.one("permute_dims", {x}, {{"axes", list_of(axes)}});
}

Items recurrent(const RuleCall& call, const CellKind& kind);

// Examples come first, in what is given and in what is made.
Items recurrent_by_examples(const RuleCall& call, const CellKind& kind) {
  Named values = call.values;
  values["layout"] = Item(int64_t{0});
  for (const char* name : {"x", "h", "c"}) {
    if (has(call, name)) values[name] = permuted(call, call.item(name), {1, 0, 2});
  }
  Items made = recurrent({call.entry, values, call.calls, call.outputs}, kind);
  made[0] = permuted(call, made[0], {2, 0, 1, 3});
  for (size_t i = 1; i < made.size(); ++i) made[i] = permuted(call, made[i], {1, 0, 2});
  return made;
}

Items recurrent(const RuleCall& call, const CellKind& kind) {
  if (call.integer("layout") != 0) return recurrent_by_examples(call, kind);
  const std::string& direction = call.item("direction").text("direction");
  const bool is_both = direction == "bidirectional";
  if (!is_both && direction != "forward" && direction != "reverse") {
    call.refuse("direction", "must be forward, reverse or bidirectional", direction);
  }
  const std::vector<Cell> own = cells_of(call, kind, is_both ? 2 : 1);
  Items all, lasts, cells;
  for (int64_t i = 0; i < (is_both ? 2 : 1); ++i) {
    const Cell& cell = own[static_cast<size_t>(i)];
    const Given given = given_to(call, kind, i);
    const bool is_back = i == 1 || direction == "reverse";
    const bool is_ours = is_usual(call, kind, cell);
    const States found =
        is_ours ? by_op(call, kind, given, is_back) : by_scan(call, kind, cell, given, i, is_back);
    const auto spread = [&](const Tensor& x, size_t axis) {
      std::vector<int64_t> shape(x.spec.shape.begin(), x.spec.shape.end());
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
      return call.reshaped(x, shape);
    };
    all.push_back(spread(found.all, 1));
    lasts.push_back(spread(found.last, 0));
    cells.push_back(spread(found.cell, 0));
  }
  const auto joined = [&](const Items& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : call.one("concat", parts, {{"axis", Item(axis)}});
  };
  return {joined(all, 1), joined(lasts, 0), joined(cells, 0)};
}

Items lstm(const RuleCall& call) { return recurrent(call, kLstm); }
Items gru(const RuleCall& call) { return recurrent(call, kGru); }
Items rnn(const RuleCall& call) { return recurrent(call, kRnn); }

Items quantized_lstm(const RuleCall& call) {
  Named values = call.values;
  values["layout"] = Item(int64_t{0});
  if (has(call, "lengths")) {  // steps of no example are not in the range
    const Tensor& x = call.tensor("x");
    const Item steps = numbers(call, x.spec.shape[0], {-1, 1});
    const Item is_on = call.one("less", {steps, call.item("lengths")});
    const Item axis = list_of(std::vector<int64_t>{1});
    const Item is_any = call.one("any", {is_on}, {{"axis", axis}});
    const Item spread =
        call.reshaped(is_any.tensor("a mask"), std::vector<int64_t>{x.spec.shape[0], 1, 1});
    values["x"] = call.one("where", {spread, Item(x), Item(0.0)});
  }
  return recurrent({call.entry, values, call.calls, call.outputs}, kLstm);
}

constexpr NamedRule kRecurrentRules[] = {
    {"lstm", lstm}, {"gru", gru}, {"rnn", rnn}, {"quantized_lstm", quantized_lstm}};

}  // namespace

std::span<const NamedRule> recurrent_rules() { return kRecurrentRules; }

}  // namespace tensorlike::onnx
