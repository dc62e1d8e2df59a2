// Gradient rules: the declared ones, run as bodies over any tensor-likes, and the few that need
// code. No rule mentions broadcasting, or that an input is real among complex ones: the result is
// fitted to the input's shape and dtype here, once.
#include "tape/gradient.h"

#include <algorithm>

#include "engine/engine.h"
#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

std::vector<int64_t> as_ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

Ref<Value> reshape(Value& x, const Dims& shape) {
  return call("reshape", {&x}, {{"shape", as_ints(shape)}});
}

// A saved value as it was on the tape, when the gradient is to be differentiable again.
Ref<Value> restore(const Ref<Value>& saved, const Edge& edge, Tape& tape, bool create_graph) {
  if (!saved || !create_graph || !edge.node) return saved;
  return make_ref<Tracer>(saved, edge, Ref<Tape>(&tape));
}

// The op of a body that is one call on its inputs, as most derivatives are.
const Op* only_step(const CompiledBody& body) {
  const bool is_single = body.steps.size() == 1 && body.body.constants.empty() &&
                         body.body.results[0] == body.body.inputs;
  return is_single ? body.steps[0].op.get() : nullptr;
}

// What is known of the slots whose values were not kept.
std::vector<Spec> slot_specs(const GradCall& call) {
  std::vector<Spec> specs;
  for (size_t i = 0; i < call.inputs.size(); ++i) specs.push_back(call.node.input_spec(i));
  for (size_t i = 0; i < call.outputs.size(); ++i) specs.push_back(call.node.outputs[i]);
  for (size_t i = 0; i < call.outputs.size(); ++i) specs.push_back(call.node.outputs[i]);
  return specs;
}

bool has_complex(const Node& node) {
  auto any = [](const Specs& specs) {
    return std::any_of(specs.begin(), specs.end(),
                       [](const Spec& spec) { return kind_of(spec.dtype) == Kind::kComplex; });
  };
  return any(node.outputs) || (node.input_specs && any(*node.input_specs));
}

}  // namespace

void run_declared(const Gradients& declared, GradCall& call) {
  const Gradients& gradients = declared.of(has_complex(call.node));
  SmallVector<Value*, 8> slots;
  for (Value* input : call.inputs) slots.push_back(input);
  for (Value* output : call.outputs) slots.push_back(output);
  Values held;
  for (size_t i = 0; i < call.cotangents.size(); ++i) {
    Value* cotangent = call.cotangents[i];
    if (cotangent == nullptr) {
      Value* like = *std::find_if(call.cotangents.begin(), call.cotangents.end(),
                                  [](Value* v) { return v != nullptr; });
      held.push_back(zeros(call.node.outputs[i], *like));
      cotangent = held.back().get();
    }
    slots.push_back(cotangent);
  }
  const CompiledGrad* last = nullptr;
  for (const CompiledGrad& rule : gradients.rules) {
    if (call.wants(static_cast<size_t>(rule.input))) last = &rule;
  }
  for (const CompiledGrad& rule : gradients.rules) {
    const size_t input = static_cast<size_t>(rule.input);
    if (!call.wants(input)) continue;
    if (const Op* only = only_step(*rule.body)) {
      SmallVector<Value*, 4> args;
      uint32_t given_up = 0;
      for (int slot : rule.body->steps[0].args) {
        const size_t place = static_cast<size_t>(slot);
        const bool is_cotangent = place >= call.inputs.size() + call.outputs.size();
        if (call.gives_up && &rule == last && is_cotangent) given_up |= 1U << args.size();
        args.push_back(slots[place]);
      }
      call.result(input) = apply_over(*only, {args.data(), args.size()}, given_up);
      continue;
    }
    if (rule.body->steps.empty() && rule.body->body.constants.empty()) {
      call.result(input) = Ref<Value>(slots[static_cast<size_t>(rule.body->body.results[0])]);
      continue;
    }
    const std::vector<Spec> specs = slot_specs(call);
    call.result(input) = run_body(*rule.body, call.op, {slots.data(), slots.size()},
                                  {specs.data(), specs.size()})[0];
  }
}

namespace {

// A reduction's rule sees its output and cotangent with the reduced axes kept as 1.
void run_reduction(GradCall& call) {
  const Dims& shape = call.node.input_spec(0).shape;
  Dims kept = shape;
  size_t last = 0;
  const Dims axes = named_axes(call.op, static_cast<int64_t>(shape.size()));
  for (int64_t axis : axes) {
    kept[static_cast<size_t>(axis)] = 1;
    last = std::max(last, static_cast<size_t>(axis) + 1);
  }
  // Without leading axes a tensor broadcasts as it is.
  if (last == axes.size() || kept == call.node.outputs[0].shape) {
    run_declared(call.op.reduction->gradients, call);
    return;
  }
  Values held;
  auto keep = [&](Value* value) {
    if (value == nullptr || kept == call.node.outputs[0].shape) return value;
    held.push_back(reshape(*value, kept));
    return held.back().get();
  };
  Value* output[] = {keep(call.outputs[0])};
  Value* cotangent[] = {keep(call.cotangents[0])};
  Node view;
  view.inputs = call.node.inputs;
  view.outputs.push_back({call.node.outputs[0].dtype, kept});
  view.input_specs = std::make_unique<Specs>(1, call.node.input_spec(0));
  GradCall inner{call.op, view, call.inputs, output, cotangent, Values(1), {}, call.live};
  run_declared(call.op.reduction->gradients, inner);
  call.result(0) = inner.results[0];
}

void grad_transpose(GradCall& c) {
  const std::vector<int64_t>& axes = c.op.get<std::vector<int64_t>>("axes");
  const int64_t ndim = static_cast<int64_t>(axes.size());
  std::vector<int64_t> inverse(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    inverse[static_cast<size_t>(normalize_axis(c.op.name(), axes[i], ndim))] =
        static_cast<int64_t>(i);
  }
  c.result(0) = call("permute_dims", {c.cotangents[0]}, {{"axes", inverse}});
}

// Each of many parts of one tensor adds to its own elements: they cost what the parts cost.
void grad_subtensor(GradCall& c) {
  const Attr& items = c.op.attr("items");
  Ref<Value> part(c.cotangents[0]);
  if (c.has_total(0)) {
    const Ref<Value> before = call("subtensor", {c.totals[0]->get()}, {{"items", items}});
    part = call("add", {before.get(), part.get()});
  }
  const Ref<Op> set = registry().find_function("set_subtensor")->make_op({items});
  Value* value = part.get();
  c.result(0) = apply_over(*set, c.take_total(0), {&value, 1});
}

void grad_set_subtensor(GradCall& c) {
  if (c.wants(0)) {
    const Ref<Value> zero = zeros({c.node.input_spec(1).dtype, {}}, *c.cotangents[0]);
    c.result(0) =
        call("set_subtensor", {c.cotangents[0], zero.get()}, {{"items", c.op.attr("items")}});
  }
  if (c.wants(1)) {
    c.result(1) = call("subtensor", {c.cotangents[0]}, {{"items", c.op.attr("items")}});
  }
}

// The op of an indexing function along the node's axes.
Ref<Op> index_op(const GradCall& c, const char* name) {
  return registry().find_function(name)->make_op({c.op.attr("axes")});
}

// `first`, and behind it the indices that the node has saved.
SmallVector<Value*, 4> with_indices(const GradCall& c, std::initializer_list<Value*> first,
                                    size_t first_index) {
  SmallVector<Value*, 4> args(first.begin(), first.end());
  for (size_t i = first_index; i < c.inputs.size(); ++i) args.push_back(c.inputs[i]);
  return args;
}

Ref<Value> index_call(GradCall& c, const char* name, std::initializer_list<Value*> first,
                      size_t first_index) {
  const SmallVector<Value*, 4> args = with_indices(c, first, first_index);
  return apply(*index_op(c, name), {args.data(), args.size()})[0];
}

void grad_gather(GradCall& c) {
  const SmallVector<Value*, 4> others = with_indices(c, {c.cotangents[0]}, 1);
  c.result(0) =
      apply_over(*index_op(c, "scatter_add"), c.take_total(0), {others.data(), others.size()});
}

void grad_scatter_set(GradCall& c) {
  if (c.wants(0)) {
    const Ref<Value> zero = zeros({c.node.input_spec(0).dtype, {}}, *c.cotangents[0]);
    c.result(0) = index_call(c, "scatter_set", {c.cotangents[0], zero.get()}, 2);
  }
  if (c.wants(1) && c.inputs.size() == 3 && has_no_duplicates(*c.inputs[2])) {
    c.result(1) = index_call(c, "gather", {c.cotangents[0]}, 2);
  } else if (c.wants(1)) {
    c.result(1) = of_last_written(
        index_call(c, "gather", {c.cotangents[0]}, 2), c.node.outputs[0].shape,
        [&](Value& x, Value& value) { return index_call(c, "scatter_set", {&x, &value}, 2); },
        [&](Value& x) { return index_call(c, "gather", {&x}, 2); });
  }
}

void grad_scatter_add(GradCall& c) {
  if (c.wants(0)) c.result(0) = Ref<Value>(c.cotangents[0]);
  if (c.wants(1)) c.result(1) = index_call(c, "gather", {c.cotangents[0]}, 2);
}

std::vector<int64_t> whole_slices(size_t ndim) {
  std::vector<int64_t> items;
  for (size_t i = 0; i < ndim; ++i) {
    items.insert(items.end(),
                 {static_cast<int64_t>(ItemKind::kSlice), kNoBound, kNoBound, kNoBound});
  }
  return items;
}

void grad_concat(GradCall& c) {
  const size_t ndim = c.node.outputs[0].shape.size();
  const size_t axis = static_cast<size_t>(
      normalize_axis(c.op.name(), c.op.get<int64_t>("axis"), static_cast<int64_t>(ndim)));
  int64_t at = 0;
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    const int64_t end = at + c.node.input_spec(i).shape[axis];
    std::vector<int64_t> items = whole_slices(ndim);
    items[axis * 4 + 1] = at;
    items[axis * 4 + 2] = end;
    if (c.wants(i)) c.result(i) = call("subtensor", {c.cotangents[0]}, {{"items", items}});
    at = end;
  }
}

void grad_stack(GradCall& c) {
  const size_t ndim = c.node.outputs[0].shape.size();
  const size_t axis = static_cast<size_t>(
      normalize_axis(c.op.name(), c.op.get<int64_t>("axis"), static_cast<int64_t>(ndim)));
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    if (!c.wants(i)) continue;
    std::vector<int64_t> items = whole_slices(ndim);
    items[axis * 4] = static_cast<int64_t>(ItemKind::kInteger);
    items[axis * 4 + 1] = static_cast<int64_t>(i);
    c.result(i) = call("subtensor", {c.cotangents[0]}, {{"items", items}});
  }
}

void grad_split(GradCall& c) {
  Values held;
  SmallVector<Value*, 4> parts;
  Value* like = *std::find_if(c.cotangents.begin(), c.cotangents.end(),
                              [](Value* v) { return v != nullptr; });
  for (size_t i = 0; i < c.cotangents.size(); ++i) {
    held.push_back(c.cotangents[i] != nullptr ? Ref<Value>(c.cotangents[i])
                                              : zeros(c.node.outputs[i], *like));
    parts.push_back(held.back().get());
  }
  const Ref<Op> op = registry().find_function("concat")->make_op({c.op.attr("axis")});
  c.result(0) = apply(*op, {parts.data(), parts.size()})[0];
}

constexpr uint32_t kIndices1 = ~1U;  // every input but the first
constexpr uint32_t kIndices2 = ~3U;

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"transpose", {grad_transpose, 0, false}},
    {"subtensor", {grad_subtensor, 0, false, nullptr, nullptr, true}},
    {"set_subtensor", {grad_set_subtensor, 0, false}},
    {"gather", {grad_gather, kIndices1, false, nullptr, nullptr, true}},
    {"scatter_set", {grad_scatter_set, kIndices2, false}},
    {"scatter_add", {grad_scatter_add, kIndices2, false}},
    {"concat", {grad_concat, 0, false}},
    {"stack", {grad_stack, 0, false}},
    {"split", {grad_split, 0, false}},
};

}  // namespace

RuleTable<GradRule> layout_gradients() { return kRules; }

const GradRule* find_grad(std::string_view name) {
  for (const auto& family : {
           layout_gradients(),
           indexing_gradients(),
           linear_algebra_gradients(),
           row_gradients(),
           attention_gradients(),
           recurrent_gradients(),
           alignment_gradients(),
           convolution_gradients(),
           scan_gradients(),
           sorting_gradients(),
           fft_gradients(),
           linear_solver_gradients(),
           spectral_gradients(),
           determinant_gradients(),
       }) {
    for (const auto& [key, rule] : family) {
      if (key == name) return &rule;
    }
  }
  return nullptr;
}

Ref<Value> call(std::string_view function, std::initializer_list<Value*> args,
                std::span<const NamedAttr> attrs) {
  const Function* f = registry().find_function(function);
  std::vector<Attr> values;
  if (!f->shared_op) {
    values.reserve(f->spec.attrs.size());
    for (const AttrSpec& spec : f->spec.attrs) {
      const auto given = std::find_if(attrs.begin(), attrs.end(), [&](const NamedAttr& attr) {
        return attr.first == spec.name;
      });
      values.push_back(given == attrs.end() ? spec.fallback : given->second);
    }
  }
  const Ref<Op> op = f->shared_op ? f->shared_op : f->make_op(std::move(values));
  SmallVector<Value*, 4> pointers(args.begin(), args.end());
  return apply(*op, {pointers.data(), pointers.size()})[0];
}

Ref<Value> conjugate(Value& x) {
  const bool is_real = kind_of(spec_of("gradient", x).dtype) != Kind::kComplex;
  return is_real ? Ref<Value>(&x) : call("conj", {&x});
}

Ref<Value> zeros(const Spec& spec, Value& like) {
  Ref<Value> zero = lift_literal(int64_t{0}, like);
  if (spec_of("zeros", *zero).dtype != spec.dtype) {
    zero = call("astype", {zero.get()}, {{"dtype", spec.dtype}});
  }
  return call("broadcast_to", {zero.get()}, {{"shape", as_ints(spec.shape)}});
}

Ref<Value> fit(Ref<Value> value, const Spec& spec) {
  if (value->tag == Value::kRaw) {
    const auto& raw = static_cast<const RawTensor&>(*value);
    if (raw.dtype == spec.dtype && raw.shape == spec.shape) return value;
    // The shortest way for the gradient of a sum.
    if (raw.dtype == spec.dtype && raw.shape.empty() && !raw.pending) {
      return broadcast_to(raw, spec.shape);
    }
  }
  Spec got = spec_of("gradient", *value);
  if (kind_of(got.dtype) == Kind::kComplex && kind_of(spec.dtype) != Kind::kComplex) {
    value = call("real", {value.get()});
    got.dtype = real_of(got.dtype);
  }
  if (got.shape.size() >= spec.shape.size()) {
    const size_t lead = got.shape.size() - spec.shape.size();
    std::vector<int64_t> axes;
    for (size_t i = 0; i < got.shape.size(); ++i) {
      if (i < lead || (spec.shape[i - lead] == 1 && got.shape[i] != 1)) {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    if (!axes.empty()) {
      value = call("sum", {value.get()}, {{"axis", axes}, {"keepdims", true}});
      if (lead > 0) value = reshape(*value, spec.shape);
    }
  }
  if (!(spec_of("gradient", *value).shape == spec.shape)) {
    value = call("broadcast_to", {value.get()}, {{"shape", as_ints(spec.shape)}});
  }
  if (got.dtype != spec.dtype) value = call("astype", {value.get()}, {{"dtype", spec.dtype}});
  return value;
}

bool small_gradients(const Node& node, Value& cotangent, LiveInputs live, Values& out) {
  const Scalar* scalar = node.op->scalar;
  if (scalar == nullptr || cotangent.tag != Value::kRaw || node.saved_outputs.size() != 1) {
    return false;
  }
  const size_t n = node.inputs.size();
  // Slots as the rules number them: inputs, the output, its cotangent.
  Value* slots[5];
  if (n > 3) return false;
  for (size_t i = 0; i < n; ++i) slots[i] = node.inputs[i].saved.get();
  slots[n] = node.saved_outputs[0].get();
  slots[n + 1] = &cotangent;
  for (const CompiledGrad& rule : scalar->gradients.of(has_complex(node)).rules) {
    const size_t input = static_cast<size_t>(rule.input);
    if (!live.has(node, input)) continue;
    const CompiledBody& body = *rule.body;
    Ref<Value> result;
    if (body.steps.empty() && body.body.constants.empty()) {
      result = Ref<Value>(slots[body.body.results[0]]);
    } else if (const Op* only = only_step(body)) {
      Value* args[4];
      const size_t count = body.steps[0].args.size();
      bool is_raw = count <= 4 && only->cls.plain.load(std::memory_order_relaxed);
      for (size_t k = 0; is_raw && k < count; ++k) {
        args[k] = slots[body.steps[0].args[k]];
        is_raw = args[k] != nullptr && args[k]->tag == Value::kRaw;
      }
      if (!is_raw) return false;
      result = launch_small(*only, {args, count});
    }
    if (!result || result->tag != Value::kRaw) return false;
    const auto& raw = static_cast<const RawTensor&>(*result);
    const Spec& wanted = node.input_specs ? (*node.input_specs)[input] : node.outputs[0];
    if (raw.dtype != wanted.dtype || !(raw.shape == wanted.shape)) return false;
    out[input] = std::move(result);
  }
  return true;
}

Ref<Value> GradCall::take_total(size_t input) {
  if (has_total(input)) return std::move(*totals[input]);
  return zeros(node.input_spec(input), *cotangents[0]);
}

Ref<Value> apply_over(const Op& op, Args args, uint32_t given_up) {
  bool is_plain = given_up != 0 && engine_options().mode == EngineMode::kSync && op.cls.plain;
  for (Value* arg : args) is_plain = is_plain && arg->tag == Value::kRaw;
  if (!is_plain) return apply_one(op, args);
  if (Ref<Value> out = launch_small(op, args)) return out;
  return launch(op, args, given_up, 1)[0];
}

Ref<Value> apply_over(const Op& op, Ref<Value> first, Args others) {
  SmallVector<Value*, 4> args{first.get()};
  for (Value* other : others) args.push_back(other);
  return apply_over(op, {args.data(), args.size()}, 1);
}

Values input_gradients(const Node& node, Tape& tape, Args cotangents, bool create_graph,
                       std::span<Ref<Value>* const> totals, LiveInputs live, bool gives_up) {
  const Op& op = *node.op;
  Values held;
  SmallVector<Value*, 4> inputs;
  SmallVector<Value*, 2> outputs;
  for (const Node::Input& input : node.inputs) {
    held.push_back(restore(input.saved, input, tape, create_graph));
    inputs.push_back(held.back().get());
  }
  for (size_t i = 0; i < node.saved_outputs.size(); ++i) {
    const Edge self{Ref<Node>(const_cast<Node*>(&node)), static_cast<int>(i)};
    held.push_back(restore(node.saved_outputs[i], self, tape, create_graph));
    outputs.push_back(held.back().get());
  }
  GradCall call{op,
                node,
                {inputs.data(), inputs.size()},
                {outputs.data(), outputs.size()},
                cotangents,
                Values(node.inputs.size()),
                totals,
                live,
                gives_up};
  if (op.scalar != nullptr) {
    run_declared(op.scalar->gradients, call);
  } else if (op.reduction != nullptr) {
    run_reduction(call);
  } else if (const GradRule& rule = op.grad_rule(); rule.run != nullptr) {
    rule.run(call);
  } else {
    run_declared(op.cls.gradients, call);
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (!call.results[i]) continue;
    const Spec& wanted = node.input_specs ? (*node.input_specs)[i] : node.outputs[0];
    call.results[i] = fit(std::move(call.results[i]), wanted);
  }
  return std::move(call.results);
}

}  // namespace tensorlike
