// The gradient of a recurrence: an op, and what that op is step by step in calls.
#include "op/recurrent.h"

#include "op/families.h"
#include "op/infer.h"
#include "rules/matrix_terms.h"

namespace tensorlike {
namespace {

Term joined_all(const char* function, const std::vector<Term>& parts, int64_t axis) {
  SmallVector<Value*, 8> args;
  for (const Term& part : parts) args.push_back(part.get());
  const Ref<Op> op = registry().find_function(function)->make_op({axis});
  return {apply(*op, {args.data(), args.size()})[0]};
}
std::vector<Term> parts_of(const Term& x, std::vector<int64_t> sizes, int64_t axis) {
  return results_of("split", x, {std::move(sizes), axis});
}
Term sigmoid(const Term& x) { return {call("sigmoid", {x.get()})}; }
Term tanh(const Term& x) { return {call("tanh", {x.get()})}; }
Term rest_of(const Term& x) { return number(1, x) - x; }
// The slope of the logistic function, and of tanh, by the value.
Term of_gate(const Term& flow, const Term& gate) { return flow * (gate * rest_of(gate)); }
Term of_tanh(const Term& flow, const Term& y) { return flow * rest_of(y * y); }

// The steps of a tensor (length, batch, width).
std::vector<Term> steps_of(const Term& x) {
  const Dims shape = x.spec().shape;
  std::vector<Term> steps;
  for (const Term& part : parts_of(x, std::vector<int64_t>(static_cast<size_t>(shape[0]), 1), 0)) {
    steps.push_back(reshaped(part, {shape[1], shape[2]}));
  }
  return steps;
}

// The gradients of one step of a cell of any kind: by its gates (by its sums where it has no
// gates), and by the hidden state as far as that reaches the next step past the gates.
struct Flow {
  Cell kind;
  int64_t size;
  Term hidden, cell, past;

  Term through(const Term& gates, const Term& before, const Term& state, const Term& cell_before,
               const Term& kept) {
    switch (kind.kind) {
      case CellKind::kLSTM:
        return through_lstm(gates, cell_before, kept);
      case CellKind::kGRU:
        return through_gru(gates, before);
      case CellKind::kTanh:
        return of_tanh(hidden, state);
      case CellKind::kRelu:
        break;
    }
    const Term is_on = {call("greater", {state.get(), number(0, state).get()})};
    return {call("where", {is_on.get(), hidden.get(), number(0, hidden).get()})};
  }

 private:
  Term through_lstm(const Term& gates, const Term& before, const Term& kept) {
    const std::vector<Term> sums = parts_of(gates, {size, size, size, size}, 1);
    const Term enter = sigmoid(sums[0]);
    const Term forget = sigmoid(sums[1]);
    const Term candidate = tanh(sums[2]);
    const Term leave = sigmoid(sums[3]);
    const Term shown = tanh(kept);
    cell = cell + of_tanh(hidden * leave, shown);
    const Term by_gates =
        joined_all("concat",
                   {of_gate(cell * candidate, enter), of_gate(cell * before, forget),
                    of_tanh(cell * enter, candidate), of_gate(hidden * shown, leave)},
                   1);
    cell = cell * forget;
    return by_gates;
  }

  Term through_gru(const Term& gates, const Term& before) {
    const std::vector<Term> sums = parts_of(gates, {size, size, size, size}, 1);
    const Term reset = sigmoid(sums[0]);
    const Term update = sigmoid(sums[1]);
    const Term next = tanh(sums[3] + reset * sums[2]);
    const Term by_candidate = of_tanh(hidden * rest_of(update), next);
    past = hidden * update;
    return joined_all(
        "concat",
        {of_gate(by_candidate * sums[2], reset), of_gate(hidden * (before - next), update),
         by_candidate * reset, by_candidate},
        1);
  }
};

std::vector<Term> all_or_none(Value* x) {
  return x != nullptr ? steps_of(term(x)) : std::vector<Term>{};
}

// The arguments of the gradient's op, by name; null: a cell of this kind has none.
struct Arguments {
  Value *weight, *hidden, *states, *by_states;
  Value *cell = nullptr, *cells = nullptr, *gates = nullptr, *by_cells = nullptr;
  Value* by_gates = nullptr;

  Arguments(const Cell& kind, Args all)
      : weight(all[0]), hidden(all[1]), states(all[2]), by_states(all[3]) {
    size_t next = 4;
    if (kind.is_lstm()) {
      cell = all[next++];
      cells = all[next++];
    }
    if (kind.has_gates()) gates = all[next++];
    if (kind.is_lstm()) by_cells = all[next++];
    if (next < all.size()) by_gates = all[next];
  }
};

Values recurrence_grad_by_steps(const Op& op, const Cell& kind, const Arguments& x) {
  const bool is_reverse = op.get<bool>("reverse");
  const std::vector<Term> states = steps_of(term(x.states));
  const std::vector<Term> by_states = steps_of(term(x.by_states));
  const std::vector<Term> cells = all_or_none(x.cells);
  const std::vector<Term> by_cells = all_or_none(x.by_cells);
  const std::vector<Term> gates = all_or_none(x.gates);
  const std::vector<Term> by_gates = all_or_none(x.by_gates);
  const int64_t size = term(x.states).columns();
  const int64_t length = static_cast<int64_t>(states.size());

  std::vector<Term> sums(states.size());
  std::vector<Term> products(states.size());
  std::vector<Term> before(states.size());  // the hidden state before each step
  Flow flow{kind, size, {}, {}, {}};
  for (int64_t step = length - 1; step >= 0; --step) {
    const size_t time = static_cast<size_t>(is_reverse ? length - 1 - step : step);
    const size_t earlier = is_reverse ? time + 1 : time - 1;
    const bool is_first = step == 0;
    flow.hidden = flow.hidden.value ? by_states[time] + flow.hidden : by_states[time];
    before[time] = is_first ? term(x.hidden) : states[earlier];
    Term cell_before;
    if (kind.is_lstm()) {
      flow.cell = flow.cell.value ? by_cells[time] + flow.cell : by_cells[time];
      cell_before = is_first ? term(x.cell) : cells[earlier];
    }
    Term found = flow.through(kind.has_gates() ? gates[time] : Term{}, before[time], states[time],
                              cell_before, kind.is_lstm() ? cells[time] : Term{});
    if (!by_gates.empty()) found = found + by_gates[time];
    sums[time] = products[time] = found;
    if (kind.is_gru()) {
      products[time] = part(found, false, 0, 3 * size);
      sums[time] =
          joined(part(found, false, 0, 2 * size), part(found, false, 3 * size, 4 * size), false);
    }
    flow.hidden = product(products[time], term(x.weight));
    if (kind.is_gru()) flow.hidden = flow.hidden + flow.past;
  }
  const Term rows = joined_all("concat", products, 0);
  Values found;
  found.push_back(joined_all("stack", sums, 0).value);
  found.push_back(product(transpose(rows), joined_all("concat", before, 0)).value);
  found.push_back(flow.hidden.value);
  if (kind.is_lstm()) found.push_back(flow.cell.value);
  if (kind.is_gru()) {
    found.push_back(call("sum", {rows.get()}, {{"axis", std::vector<int64_t>{0}}}));
  }
  return found;
}

Values recurrence_grad_body(const Op& op, Args inputs) {
  Specs specs;
  for (Value* input : inputs) specs.push_back(spec_of(op.name(), *input));
  const Specs wanted = infer(op, specs);
  const Cell kind = cell_of(op);
  const Arguments x(kind, inputs);
  Values found;
  if (specs[2].shape[0] > 0) found = recurrence_grad_by_steps(op, kind, x);
  for (size_t i = found.size(); i < wanted.size(); ++i) {
    found.push_back(zeros(wanted[i], *x.by_states));
  }
  for (size_t i = 0; i < wanted.size(); ++i) found[i] = fit(std::move(found[i]), wanted[i]);
  return found;
}

void grad_recurrence(GradCall& c) {
  const Cell kind = cell_of(c.op);
  const size_t last = c.outputs.size() - 1;
  SmallVector<Ref<Value>, 4> flowing;
  flowing.push_back(cotangent(c, 0).value);
  SmallVector<Value*, 12> args;
  for (Value* x : {c.inputs[1], c.inputs[2], c.outputs[0], flowing[0].get()}) args.push_back(x);
  if (kind.is_lstm()) {
    flowing.push_back(cotangent(c, 1).value);
    for (Value* x : {c.inputs[3], c.outputs[1], c.outputs[2], flowing[1].get()}) args.push_back(x);
  }
  if (kind.is_gru()) args.push_back(c.outputs[1]);
  if (kind.has_gates() && flows(c, last)) args.push_back(c.cotangents[last]);
  const Ref<Op> op = registry()
                         .find_function("recurrence_grad")
                         ->make_op({c.op.attr("cell"), c.op.attr("reverse")});
  c.results = apply(*op, {args.data(), args.size()});
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.wants(i)) c.result(i) = Ref<Value>();
  }
}

constexpr std::pair<std::string_view, GradRule> kRecurrentGradients[] = {
    {"recurrence", {grad_recurrence, ~1U, true}},
};
constexpr std::pair<std::string_view, ExpandRule> kRecurrentBodies[] = {
    {"recurrence_grad", recurrence_grad_body},
};

}  // namespace

RuleTable<GradRule> recurrent_gradients() { return kRecurrentGradients; }
RuleTable<ExpandRule> recurrent_bodies() { return kRecurrentBodies; }

}  // namespace tensorlike
