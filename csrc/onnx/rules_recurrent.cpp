// LSTM, GRU and RNN where ONNX's are our recurrences: their usual functions, without a clip.
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "onnx/rules.h"

namespace tensorlike::onnx {
namespace {

struct Kind {
  std::string_view cell;
  std::vector<std::string_view> functions;
  // The places of ONNX's gates in ours: input, output, forget, candidate; update, reset, candidate.
  std::vector<int64_t> order;
  bool joins_biases;  // whether the hidden state's bias may join the inputs'
};
const Kind kLstm{"lstm", {"sigmoid", "tanh", "tanh"}, {0, 2, 3, 1}, true};
const Kind kGru{"gru", {"sigmoid", "tanh"}, {1, 0, 2}, false};
const Kind kRnn{"tanh", {"tanh"}, {0}, true};

bool has(const RuleCall& call, const char* name) {
  const auto found = call.values.find(name);
  return found != call.values.end() && found->second.is_given();
}

void check(const RuleCall& call, const Kind& kind, size_t directions) {
  for (const char* name : {"clip", "p"}) {
    if (has(call, name)) call.refuse(name, "must not be given here", "some");
  }
  const auto forget = call.values.find("input_forget");
  if (forget != call.values.end() && forget->second.integer("input_forget") != 0) {
    call.refuse("input_forget", "must be 0 here", "1");
  }
  if (!call.is_given("activations")) return;
  const Items& names = call.item("activations").list("activations");
  bool is_usual = names.size() == kind.functions.size() * directions;
  for (size_t i = 0; is_usual && i < names.size(); ++i) {
    std::string name = names[i].text("activations");
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    is_usual = name == kind.functions[i % kind.functions.size()];
  }
  if (!is_usual) call.refuse("activations", "must be the usual ones here", "others");
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

// The gates along the first axis in our order.
Tensor ordered(Calls& calls, const Tensor& x, const Kind& kind) {
  if (kind.order.size() == 1) return x;
  const int64_t size = x.spec.shape[0] / static_cast<int64_t>(kind.order.size());
  Items parts;
  for (int64_t gate : kind.order) {
    parts.emplace_back(rows(calls, x, gate * size, (gate + 1) * size));
  }
  return calls.one("concat", parts, {{"axis", Item(int64_t{0})}});
}

struct States {
  Tensor all, last, cell;
};

std::vector<Tensor> stepped(Calls& calls, const Kind& kind, const Items& args, bool is_back) {
  const Item cell{std::string(kind.cell)};
  return calls.call("recurrence", args, {{"cell", cell}, {"reverse", Item(is_back)}});
}

// Each example up to its own length, back from there where it goes the other way. All go on to the
// longest, and what comes after an example's end is not looked at.
States of_lengths(const RuleCall& call, const Kind& kind, Items args, bool is_back) {
  Calls& calls = call.calls;
  const Dims shape = args[0].tensor("sums").spec.shape;
  const Item lengths = call.one("astype", {call.item("lengths")}, {{"dtype", Item(DType::kInt64)}});
  const auto numbers = [&](int64_t count, const std::vector<int64_t>& sizes) {
    const Item all = call.one("arange", {}, {{"start", Item(int64_t{0})}, {"stop", Item(count)}});
    return call.reshaped(all.tensor("numbers"), sizes);
  };
  const Item steps = numbers(shape[0], {-1, 1});
  const Item is_on = call.one("less", {steps, lengths});
  const Item last = call.one("subtract", {lengths, Item(int64_t{1})});
  const Item turned = call.one("where", {is_on, call.one("subtract", {last, steps}), steps});
  const Item examples = call.one("broadcast_to", {numbers(shape[1], {1, -1})},
                                 {{"shape", list_of(turned.tensor("places").spec.shape)}});
  const Item first_two = list_of(std::vector<int64_t>{0, 1});
  const auto turn = [&](const Item& x) {
    return is_back ? call.one("gather", {x, turned, examples}, {{"axes", first_two}}) : x;
  };
  // The states after so many steps; after none, those that it started with.
  const auto ended = [&](const Tensor& states, const Item& start) {
    const Item first =
        call.reshaped(start.tensor("a state"), std::vector<int64_t>{1, shape[1], -1});
    const Item all = call.one("concat", {first, Item(states)}, {{"axis", Item(int64_t{0})}});
    return calls.one("gather", {all, lengths, numbers(shape[1], {-1})}, {{"axes", first_two}});
  };
  args[0] = turn(args[0]);
  const std::vector<Tensor> made = stepped(calls, kind, args, false);
  const Tensor end = ended(made[0], args[2]);
  const Item spread =
      call.reshaped(is_on.tensor("a mask"), std::vector<int64_t>{shape[0], shape[1], 1});
  const Item all = call.one("where", {spread, turn(Item(made[0])), Item(0.0)});
  return {all.tensor("states"), end, kind.cell == "lstm" ? ended(made[1], args[3]) : end};
}

States run(const RuleCall& call, const Kind& kind, int64_t direction, bool is_back) {
  Calls& calls = call.calls;
  const Tensor& x = call.tensor("x");
  const Tensor w = ordered(calls, element(calls, call.tensor("w"), direction), kind);
  const Tensor r = ordered(calls, element(calls, call.tensor("r"), direction), kind);
  const Dims& inner = r.spec.shape;
  if (inner.size() != 2 || w.spec.shape.size() != 2 || x.spec.shape.size() != 3) {
    call.refuse("r", "must be weights of as many axes as the standard says", to_string(r.spec));
  }
  const int64_t size = inner[1], gates = inner[0], batch = x.spec.shape[1];
  const auto start = [&](const char* name) {
    if (has(call, name)) return element(calls, call.tensor(name), direction);
    const Item zero(calls.known(cast(*RawTensor::scalar(DType::kFloat32, 0.0), x.spec.dtype)));
    return calls.one("broadcast_to", {zero},
                     {{"shape", list_of(std::vector<int64_t>{batch, size})}});
  };
  const std::vector<int64_t> turned{1, 0};
  const Item columns(calls.one("permute_dims", {Item(w)}, {{"axes", list_of(turned)}}));
  Item sums(calls.one("matmul", {Item(x), columns}));
  const Item zero(calls.known(cast(*RawTensor::scalar(DType::kFloat32, 0.0), x.spec.dtype)));
  Tensor own = calls.one("broadcast_to", {zero}, {{"shape", list_of(std::vector<int64_t>{gates})}});
  if (call.is_given("b")) {
    const Tensor b = element(calls, call.tensor("b"), direction);
    Item bias(ordered(calls, rows(calls, b, 0, gates), kind));
    own = ordered(calls, rows(calls, b, gates, 2 * gates), kind);
    if (kind.joins_biases) bias = Item(calls.one("add", {bias, Item(own)}));
    sums = Item(calls.one("add", {sums, bias}));
  }
  Items args{sums, Item(r), Item(start("h"))};
  if (kind.cell == "lstm") args.emplace_back(start("c"));
  if (kind.cell == "gru") args.emplace_back(std::move(own));
  if (has(call, "lengths")) return of_lengths(call, kind, std::move(args), is_back);
  const std::vector<Tensor> made = stepped(calls, kind, args, is_back);
  const int64_t last = is_back ? 0 : -1;
  const Tensor end = element(calls, made[0], last);
  return {made[0], end, kind.cell == "lstm" ? element(calls, made[1], last) : end};
}

Item permuted(const RuleCall& call, const Item& x, const std::vector<int64_t>& axes) {
  return call.one("permute_dims", {x}, {{"axes", list_of(axes)}});
}

Items recurrent(const RuleCall& call, const Kind& kind);

// Examples come first, in what is given and in what is made.
Items recurrent_by_examples(const RuleCall& call, const Kind& kind) {
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

Items recurrent(const RuleCall& call, const Kind& kind) {
  if (call.integer("layout") != 0) return recurrent_by_examples(call, kind);
  const std::string& direction = call.item("direction").text("direction");
  const bool is_both = direction == "bidirectional";
  if (!is_both && direction != "forward" && direction != "reverse") {
    call.refuse("direction", "must be forward, reverse or bidirectional", direction);
  }
  check(call, kind, is_both ? 2 : 1);
  Items all, lasts, cells;
  for (int64_t i = 0; i < (is_both ? 2 : 1); ++i) {
    const States found = run(call, kind, i, i == 1 || direction == "reverse");
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
Items gru(const RuleCall& call) {
  if (call.integer("linear_before_reset") == 0) {
    call.refuse("linear_before_reset", "must be 1 here", "0");
  }
  return recurrent(call, kGru);
}
Items rnn(const RuleCall& call) { return recurrent(call, kRnn); }

constexpr NamedRule kRules[] = {{"lstm", lstm}, {"gru", gru}, {"rnn", rnn}};

}  // namespace

std::span<const NamedRule> recurrent_rules() { return kRules; }

}  // namespace tensorlike::onnx
