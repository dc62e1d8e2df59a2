// The gradient of a recurrence: one kernel where there are elements to compute with; where the
// gradient is to be differentiated again, the same step by step in plain calls.
#include <algorithm>

#include "op/families.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

Ref<Value> multiply(const Ref<Value>& x, const Ref<Value>& y) {
  return call("multiply", {x.get(), y.get()});
}
Ref<Value> add(const Ref<Value>& x, const Ref<Value>& y) { return call("add", {x.get(), y.get()}); }
Ref<Value> one_less(const Ref<Value>& x) {  // 1 - x
  return call("subtract", {lift_literal(1.0, *x).get(), x.get()});
}
Ref<Value> reshape(Value& x, std::vector<int64_t> shape) {
  return call("reshape", {&x}, {{"shape", std::move(shape)}});
}
Ref<Value> joined(const char* function, const std::vector<Ref<Value>>& parts, int64_t axis) {
  SmallVector<Value*, 8> args;
  for (const Ref<Value>& part : parts) args.push_back(part.get());
  const Ref<Op> op = registry().find_function(function)->make_op({axis});
  return apply(*op, {args.data(), args.size()})[0];
}
Values parts_of(Value& x, const std::vector<int64_t>& sizes, int64_t axis) {
  const Ref<Op> op = registry().find_function("split")->make_op({sizes, axis});
  Value* args[] = {&x};
  return apply(*op, args);
}

// The steps of a tensor (length, batch, width).
std::vector<Ref<Value>> steps_of(Value& x, const Dims& shape, int64_t width) {
  std::vector<Ref<Value>> steps;
  for (const Ref<Value>& part :
       parts_of(x, std::vector<int64_t>(static_cast<size_t>(shape[0]), 1), 0)) {
    steps.push_back(reshape(*part, {shape[1], width}));
  }
  return steps;
}

// What flows back through one cell.
struct Flow {
  Ref<Value> hidden, cell;

  // The gradient by the gates' sums; `cell` becomes that by the cell state before.
  Ref<Value> through(Value& gates, int64_t size, const Ref<Value>& before, const Ref<Value>& kept) {
    const Values sums = parts_of(gates, {size, size, size, size}, 1);
    const Ref<Value> enter = call("sigmoid", {sums[0].get()});
    const Ref<Value> forget = call("sigmoid", {sums[1].get()});
    const Ref<Value> candidate = call("tanh", {sums[2].get()});
    const Ref<Value> leave = call("sigmoid", {sums[3].get()});
    const Ref<Value> shown = call("tanh", {kept.get()});
    cell = add(cell, multiply(multiply(hidden, leave), one_less(multiply(shown, shown))));
    auto of_gate = [](const Ref<Value>& flow, const Ref<Value>& gate) {
      return multiply(flow, multiply(gate, one_less(gate)));
    };
    const Ref<Value> by_gates =
        joined("concat",
               {of_gate(multiply(cell, candidate), enter), of_gate(multiply(cell, before), forget),
                multiply(multiply(cell, enter), one_less(multiply(candidate, candidate))),
                of_gate(multiply(hidden, shown), leave)},
               1);
    cell = multiply(cell, forget);
    return by_gates;
  }
};

void by_calls(GradCall& c, Value& dstates, Value& dcells) {
  const Dims shape = c.node.outputs[0].shape;
  const int64_t length = shape[0];
  const int64_t size = shape[2];
  const bool is_reverse = c.op.get<bool>("reverse");
  const auto states = steps_of(*c.outputs[0], shape, size);
  const auto cells = steps_of(*c.outputs[1], shape, size);
  const auto gates = steps_of(*c.outputs[2], shape, 4 * size);
  const auto by_states = steps_of(dstates, shape, size);
  const auto by_cells = steps_of(dcells, shape, size);
  std::vector<Ref<Value>> by_gates;
  if (c.cotangents[2] != nullptr) by_gates = steps_of(*c.cotangents[2], shape, 4 * size);

  std::vector<Ref<Value>> sums(gates.size());
  std::vector<Ref<Value>> before(gates.size());  // the hidden state before each step
  Flow flow;
  for (int64_t step = length - 1; step >= 0; --step) {
    const size_t time = static_cast<size_t>(is_reverse ? length - 1 - step : step);
    const size_t earlier = is_reverse ? time + 1 : time - 1;
    flow.hidden = flow.hidden ? add(by_states[time], flow.hidden) : by_states[time];
    flow.cell = flow.cell ? add(by_cells[time], flow.cell) : by_cells[time];
    before[time] = step == 0 ? Ref<Value>(c.inputs[2]) : states[earlier];
    const Ref<Value> cell = step == 0 ? Ref<Value>(c.inputs[3]) : cells[earlier];
    sums[time] = flow.through(*gates[time], size, cell, cells[time]);
    if (!by_gates.empty()) sums[time] = add(sums[time], by_gates[time]);
    flow.hidden = call("matmul", {sums[time].get(), c.inputs[1]});
  }
  c.result(0) = joined("stack", sums, 0);
  const Ref<Value> rows = joined("concat", sums, 0);
  const Ref<Value> columns =
      call("permute_dims", {rows.get()}, {{"axes", std::vector<int64_t>{1, 0}}});
  c.result(1) = call("matmul", {columns.get(), joined("concat", before, 0).get()});
  c.result(2) = flow.hidden;
  c.result(3) = flow.cell;
}

void grad_lstm(GradCall& c) {
  Value* const like = *std::find_if(c.cotangents.begin(), c.cotangents.end(),
                                    [](Value* x) { return x != nullptr; });
  Ref<Value> flows[2];
  for (size_t i = 0; i < 2; ++i) {
    flows[i] =
        c.cotangents[i] != nullptr ? Ref<Value>(c.cotangents[i]) : zeros(c.node.outputs[i], *like);
  }
  SmallVector<Value*, 12> args(c.inputs.begin() + 1, c.inputs.end());
  for (Value* output : c.outputs) args.push_back(output);
  for (const Ref<Value>& flow : flows) args.push_back(flow.get());
  if (c.cotangents[2] != nullptr) args.push_back(c.cotangents[2]);
  const bool is_plain =
      std::all_of(args.begin(), args.end(), [](Value* x) { return x->tag == Value::kRaw; });
  if (!is_plain && c.node.outputs[0].shape[0] > 0) {
    by_calls(c, *flows[0], *flows[1]);
  } else if (!is_plain) {
    for (size_t i = 0; i < c.inputs.size(); ++i) c.result(i) = zeros(c.node.input_spec(i), *like);
  } else {
    const Ref<Op> op = registry().find_function("lstm_grad")->make_op({c.op.attr("reverse")});
    c.results = apply(*op, {args.data(), args.size()});
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.wants(i)) c.result(i) = Ref<Value>();
  }
}

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"lstm", {grad_lstm, ~1U, true}},
};

}  // namespace

RuleTable<GradRule> recurrent_gradients() { return kRules; }

}  // namespace tensorlike
