// Linking what was added: the calls of bodies and rules are found by name.
#include <algorithm>
#include <functional>
#include <utility>

#include "op/reduction_program.h"
#include "op/registry.h"

namespace tensorlike {

template <class Spec>
Gradients Registry::compile_gradients(const Spec& spec, int inputs, int outputs) const {
  Gradients out;
  out.differentiable = spec.differentiable;
  out.outputs = outputs;
  compile_rules(*spec.grads, inputs, outputs, spec.source, out);
  if (!spec.complex_grads->empty()) {
    auto found = std::make_shared<Gradients>();
    found->outputs = outputs;
    compile_rules(*spec.complex_grads, inputs, outputs, spec.source, *found);
    out.complex = std::move(found);
  }
  return out;
}

// Who reads the last argument, which stands for any number, reads all of those.
static void read_all_of_last(int args, Gradients& out) {
  const uint32_t last = 1U << (args - 1);
  if ((out.inputs_read & last) != 0) out.inputs_read |= ~(last - 1);
}

// How many outputs rules speak of: where attributes decide how many there are, the most.
static int counted_outputs(const OpSpec& op) {
  size_t most = 1;
  for (const ShapeCase& each : op.shapes.cases) most = std::max(most, each.results.size());
  return op.outputs >= 0 ? std::max(op.outputs, 1) : static_cast<int>(most);
}

// The rules by the values of an attribute, where any of them is for one value alone.
static void split_choices(const OpClass& op, const std::vector<Grad>& grads, Gradients& out,
                          const std::function<void(const std::vector<Grad>&, Gradients&)>& fill) {
  std::vector<std::string> choices;
  for (const Grad& grad : grads) {
    if (grad.match.empty()) continue;
    out.match = op.attr_index(grad.match);
    if (std::find(choices.begin(), choices.end(), grad.choice) == choices.end())
      choices.push_back(grad.choice);
  }
  for (const std::string& choice : choices) {
    std::vector<Grad> own;
    for (const Grad& grad : grads) {
      if (grad.match.empty() || grad.choice == choice) own.push_back(grad);
    }
    auto found = std::make_shared<Gradients>();
    found->differentiable = out.differentiable;
    found->outputs = out.outputs;
    fill(own, *found);
    out.choices.emplace_back(choice, std::move(found));
  }
}

// One more attribute of a call: it must be one of the op's.
static void place(Function& function, const std::string& name) {
  const int index = function.op_class->attr_index(name);
  if (index < 0 || index >= 64) {
    fail(ErrorKind::kDeclaration, function.spec.name, ": ", function.op_class->name(),
         " has no attribute '", name, "'.");
  }
  function.places.push_back(static_cast<size_t>(index));
}

void Registry::link(Function& function) const {
  function.op_class = find_op(function.spec.op);
  if (function.op_class == nullptr) {
    fail(ErrorKind::kDeclaration, function.spec.name, ": there is no op '", function.spec.op, "'.");
  }
  for (const auto& [name, value] : function.spec.fixed) place(function, name);
  for (const AttrSpec& attr : function.spec.attrs) place(function, attr.name);
  if (function.op_class == elemwise_ && function.spec.attrs.empty()) {
    function.shared_op = find_scalar(function.spec.name)->op;
  } else if (function.spec.attrs.empty()) {
    function.shared_op = function.make_op({});
  }
}

// What the entries of a set have when somebody asks: of built-in ones, most of which a process
// never needs; others are compiled now, so that their mistakes come to light.
void Registry::compile_later(Scalar& scalar) const {
  if (scalar.spec.expansion) {
    scalar.expansion = Late<CompiledBody>(
        [this, &scalar] { return compile(*scalar.spec.expansion, scalar.spec.source); });
  }
  scalar.gradients = Late<Gradients>([this, &scalar] {
    return compile_gradients(scalar.spec, static_cast<int>(scalar.spec.args.size()),
                             scalar.spec.outputs);
  });
}

void Registry::compile_later(OpClass& op) const {
  if (op.spec.define) {
    op.define =
        Late<CompiledBody>([this, &op] { return compile(*op.spec.define, op.spec.source); });
  }
  op.gradients = Late<Gradients>([this, &op] { return gradients_of(op); });
}

Gradients Registry::gradients_of(const OpClass& op) const {
  const int args = static_cast<int>(op.spec.args.size());
  const int outputs = counted_outputs(op.spec);
  const bool is_many = !op.spec.args.empty() && op.spec.args.back().variadic;
  Gradients found = compile_gradients(op.spec, args, outputs);
  auto finish = [&](const std::vector<Grad>& all, Gradients& gradients) {
    split_choices(op, all, gradients, [&](const std::vector<Grad>& grads, Gradients& out) {
      compile_rules(grads, args, outputs, op.spec.source, out);
      if (is_many) read_all_of_last(args, out);
    });
    if (is_many) read_all_of_last(args, gradients);
  };
  finish(*op.spec.grads, found);
  if (found.complex == nullptr) return found;
  auto complex = std::make_shared<Gradients>(*found.complex);
  finish(*op.spec.complex_grads, *complex);
  found.complex = std::move(complex);
  return found;
}

void Registry::make_shared_op(Scalar& scalar) const {
  scalar.op = make_op(*elemwise_, {{"mode", scalar.spec.name}});
}

void Registry::link(Scalar& scalar) const {
  if (!scalar.op) make_shared_op(scalar);
  scalar.conditions = compile_conditions(scalar.spec.conditions, scalar.spec.source);
  compile_later(scalar);
}

void Registry::link(Reduction& reduction) const {
  reduction.gradients =
      Late<Gradients>([this, &reduction] { return compile_gradients(reduction.spec, 1, 1); });
  if (!reduction.spec.map.results.empty()) {
    reduction.map = compiled(reduction.spec.map, reduction.spec.source);
    reduction.combine = compiled(reduction.spec.combine, reduction.spec.source);
    reduction.finish = compiled(reduction.spec.finish, reduction.spec.source);
    prepare_reduction(reduction);
  }
  for (const auto& [kind, source] : sources_) {
    if (source.reduction != nullptr) source.reduction(reduction);
  }
}

void Registry::link(OpClass& op) const {
  op.conditions = compile_conditions(op.spec.conditions, op.spec.source);
  compile_later(op);
  take(op);
}

void Registry::link() {
  for (Scalar* scalar : unlinked_scalars_) make_shared_op(*scalar);
  // Conditions before any op is made that they speak of; their functions have no attributes.
  for (Scalar* scalar : unlinked_scalars_) link(*scalar);
  for (OpClass* op : unlinked_ops_) link(*op);
  for (Function* function : unlinked_functions_) link(*function);
  for (Reduction* reduction : unlinked_reductions_) link(*reduction);
  if (has_built_in_) compile_now();
  unlinked_scalars_.clear();
  unlinked_reductions_.clear();
  unlinked_ops_.clear();
  unlinked_functions_.clear();
}

void Registry::compile_now() const {
  for (const Scalar* scalar : unlinked_scalars_) {
    *scalar->expansion;
    *scalar->gradients;
  }
  for (const Reduction* reduction : unlinked_reductions_) *reduction->gradients;
  for (const OpClass* op : unlinked_ops_) {
    *op->define;
    *op->gradients;
  }
}

static CompiledStep::Kind kind_of_step(std::string_view call) {
  using Kind = CompiledStep::Kind;
  if (call == "size") return Kind::kSize;
  if (call == "attribute") return Kind::kAttribute;
  if (call == "if") return Kind::kChoice;
  return call == "raise" ? Kind::kRefusal : Kind::kCall;
}

// The groups of a step's arguments that its function is linear in.
static std::vector<uint32_t> linear_args(const Step& step, const Scalar* scalar,
                                         const Reduction* reduction, const Function* function) {
  if (reduction != nullptr && reduction->spec.linear) return {1U};
  const OpClass* const op = function == nullptr ? nullptr : function->op_class;
  if (scalar == nullptr && op == nullptr) return {};
  const std::vector<ArgSpec>& args = scalar != nullptr ? scalar->spec.args : op->spec.args;
  std::vector<uint32_t> groups;
  for (const auto& members : scalar != nullptr ? scalar->spec.linear : op->spec.linear) {
    uint32_t& group = groups.emplace_back(0);
    for (int member : members) {
      const bool is_many = args[static_cast<size_t>(member)].variadic;
      const size_t first = static_cast<size_t>(member);
      const size_t last = is_many ? std::min<size_t>(step.args.size(), 32) : first + 1;
      for (size_t i = first; i < last; ++i) group |= 1U << i;
    }
  }
  return groups;
}

std::shared_ptr<CompiledBody> Registry::compiled(const Body& body,
                                                 const std::string& source) const {
  return std::make_shared<CompiledBody>(compile(body, source));
}

CompiledBody Registry::compile(const Body& body, const std::string& source) const {
  CompiledBody made{body.inputs, body.constants, {}, body.results};
  made.steps.reserve(body.steps.size());
  int slot = body.inputs + static_cast<int>(body.constants.size());
  for (const Step& step : body.steps) {
    CompiledStep& out = made.steps.emplace_back();
    out.args = step.args;
    out.outputs = step.outputs;
    out.slot = std::exchange(slot, slot + step.outputs);
    out.kind = kind_of_step(step.call);
    if (out.kind != CompiledStep::Kind::kCall) {
      if (out.kind == CompiledStep::Kind::kChoice) made.has_choices = true;
      if (!step.attrs.empty()) out.attrs.emplace_back(0, step.attrs[0].second);
      continue;
    }
    // Derived scalars have no functional call of their own.
    const Scalar* scalar = find_scalar(step.call);
    out.function = find_function(step.call);
    out.linear = linear_args(step, scalar, find_reduction(step.call), out.function);
    if (scalar != nullptr) {
      out.op = scalar->op;
      continue;
    }
    if (out.function == nullptr) {
      fail(ErrorKind::kDeclaration, source, ": there is no function '", step.call, "'",
           did_you_mean(step.call, true, true), ".");
    }
    bool is_constant = true;
    const std::vector<AttrSpec>& specs = out.function->spec.attrs;
    std::vector<Attr> values;
    for (const AttrSpec& spec : specs) values.push_back(spec.fallback);
    for (const auto& [name, expr] : step.attrs) {
      const auto at = std::find_if(specs.begin(), specs.end(),
                                   [&n = name](const AttrSpec& spec) { return spec.name == n; });
      if (at == specs.end()) {
        fail(ErrorKind::kDeclaration, source, ": ", step.call, " has no attribute '", name, "'.");
      }
      const int index = static_cast<int>(at - specs.begin());
      out.attrs.emplace_back(index, expr);
      is_constant = is_constant && expr.kind == AttrExpr::Kind::kLiteral;
      values[static_cast<size_t>(index)] = expr.literal;
    }
    if (is_constant) out.op = out.function->make_op(std::move(values));
  }
  return made;
}

std::vector<CompiledCondition> Registry::compile_conditions(
    const std::vector<Condition>& conditions, const std::string& source) const {
  std::vector<CompiledCondition> out;
  for (const Condition& each : conditions) out.push_back({each.text, compiled(each.body, source)});
  return out;
}

void Registry::compile_rules(const std::vector<Grad>& grads, int inputs, int outputs,
                             const std::string& source, Gradients& out) const {
  for (const Grad& grad : grads) {
    out.rules.push_back({grad.input, compiled(grad.body, source), grad.adds_up, grad.beside});
    auto read = [&](int slot) {
      if (slot < inputs) {
        out.inputs_read |= 1U << slot;
      } else if (slot < inputs + outputs) {
        out.outputs_read |= 1U << (slot - inputs);
      }
    };
    for (const Step& step : grad.body.steps) {
      // "size" and the shape forms read only what is known without the value.
      if (step.call != "size") std::for_each(step.args.begin(), step.args.end(), read);
    }
    std::for_each(grad.body.results.begin(), grad.body.results.end(), read);
  }
}

}  // namespace tensorlike
