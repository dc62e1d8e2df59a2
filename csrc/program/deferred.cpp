// Adding ops to a tape, and running them.
#include "program/deferred.h"

#include <algorithm>
#include <atomic>

#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "op/conditions.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike::tape {
namespace {

std::atomic<uint64_t> last_number{0};

struct ThreadState {
  std::unique_ptr<Tape> global;
  Tape* current = nullptr;  // null: the global one
};

ThreadState& state() {
  static thread_local ThreadState instance;
  return instance;
}

Symbol& symbol_in(Value* value) { return *static_cast<Symbol*>(value); }

std::string describe(const Op& op, Args args) {
  std::string out;
  for (size_t i = 0; i < args.size(); ++i) {
    const Desc& desc = *symbol_in(args[i]).desc;
    out += (out.empty() ? "" : ", ") + slot_name(op, i) + "='" + desc.name + "' " +
           to_string(desc.spec);
  }
  return out;
}

// Shapes and dtypes of the results; through the body where the op has nothing else.
Specs infer_results(const Op& op, Args args) try {
  Specs specs;
  for (Value* arg : args) specs.push_back(symbol_in(arg).desc->spec);
  const bool has_rule = op.scalar != nullptr || op.reduction != nullptr || op.cls.infer != nullptr;
  return has_rule ? infer(op, specs) : infer_any(op, specs);
} catch (const Error& error) {
  ErrorFields fields = error.fields();
  fields.slots = describe(op, args);
  throw Error(error.kind(), std::move(fields));
}

bool is_known(const Specs& specs) {
  return std::all_of(specs.begin(), specs.end(), [](const Spec& spec) {
    return std::find(spec.shape.begin(), spec.shape.end(), kUnknownSize) == spec.shape.end();
  });
}

// The op on elements. Those of `held` that nobody else has may be written over.
Values compute(const Op& op, std::vector<Ref<RawTensor>>& held, bool may_take) {
  SmallVector<Value*, 4> args;
  for (const Ref<RawTensor>& value : held) args.push_back(value.get());
  const uint32_t all = (uint32_t{1} << std::min<size_t>(args.size(), 31)) - 1;
  return apply_donating(op, {args.data(), args.size()}, may_take ? all : 0);
}

bool apply_symbol(const Op& op, Args args, Values& out) {
  if (&op.cls != &registry().constant()) {
    out = current_tape().append(op, args);
    return true;
  }
  const Spec like = symbol_in(args[0]).desc->spec;
  const auto& constant = static_cast<const ConstOp&>(op);
  const auto name = [](auto value) { return to_string(Attr(value)); };
  out.push_back(make_ref<Symbol>(
      constant.literal ? std::visit(name, *constant.literal) : "constant", make_const(op, &like)));
  return true;
}

class SymbolRule final : public Rule {
 public:
  using Call = bool (*)(const Op&, Args, Values&);
  SymbolRule(std::string name, const Type& kind, Call call)
      : Rule(std::move(name), "built in", {&op_base_type(), {{&kind}}, true}), call_(call) {}
  bool call(const Op& op, Args args, Values& out) override { return call_(op, args, out); }
  bool is_native() const override { return true; }

 private:
  Call call_;
};

}  // namespace

bool apply_variable(const Op& op, Args args, Values& out) {
  Tape& tape = current_tape();
  Values entered;
  SmallVector<Value*, 4> inner;
  for (Value* arg : args) {
    entered.push_back(tape.enter(*static_cast<Variable*>(arg)));
    inner.push_back(entered.back().get());
  }
  const CurrentTape scope(tape);
  for (VariableHandle& result : tape.wrap(apply(op, {inner.data(), inner.size()}))) {
    out.push_back(std::move(result));
  }
  return true;
}

const Type& symbol_type() {
  static const Type* type = [] {
    const Type* made = new Type("Symbol", &tensor_base_type());
    dispatcher().add(std::make_shared<SymbolRule>("apply_symbol", *made, &apply_symbol));
    return made;
  }();
  return *type;
}

const Type& variable_type() {
  static const Type* type = [] {
    const Type* made = new Type("Variable", &tensor_base_type());
    dispatcher().add(std::make_shared<SymbolRule>("apply_variable", *made, &apply_variable));
    return made;
  }();
  return *type;
}

Tape::Tape() : number_(last_number.fetch_add(1) + 1) {}

Tape::~Tape() {
  abandon();
  for (const VariableHandle& variable : received_) {
    if (variable->gradient_of_ == number_) variable->gradient_ = nullptr;
  }
}

void Tape::abandon() {
  for (; position_ < held_.size(); ++position_) {
    for (const Ref<Symbol>& output : held_[position_].outputs) output->tape_ = nullptr;
  }
}

int Tape::number_of(const Symbol& symbol) {
  const auto [found, is_new] = numbers_.try_emplace(symbol.desc->id, 0);
  if (!is_new) return found->second;
  std::vector<Program::Dimension> dimensions;
  for (int64_t size : symbol.desc->spec.shape) dimensions.push_back({size, {}});
  found->second = program_->add_input(symbol.desc->name, symbol.desc->spec.dtype, dimensions);
  descs_.push_back(symbol.desc);
  return found->second;
}

void Tape::rename(Desc& desc, std::string name) {
  desc.name = std::move(name);
  if (const auto found = numbers_.find(desc.id); found != numbers_.end()) {
    program_->rename(found->second, desc.name);
  }
}

Ref<Value> Tape::enter(Variable& variable) {
  if (variable.result_of_ == number_) return variable.held_;
  Ref<Symbol> symbol(&variable.symbol());
  if (!variable.wants_gradient_ || !is_differentiable(symbol->desc->spec.dtype)) return symbol;
  Leaf& leaf = leaves_[&variable];
  if (!leaf.tracer || !(leaf.symbol == symbol)) {
    leaf = {symbol, make_leaf(symbol, Ref(&base_tape()))};
    ask(VariableHandle(&variable), *leaf.tracer);
  }
  return leaf.tracer;
}

Results Tape::wrap(const Values& values) const {
  Results out;
  for (const Ref<Value>& value : values) {
    VariableHandle variable = make_ref<Variable>("");
    variable->held_ = value;
    if (value->tag == Value::kRaw) {
      variable->held_ =
          make_ref<Symbol>("constant", Ref<RawTensor>(static_cast<RawTensor*>(value.get())));
    }
    variable->name_ = variable->symbol().desc->name;
    variable->result_of_ = number_;
    out.push_back(std::move(variable));
  }
  return out;
}

Values Tape::append(const Op& op, Args args) {
  Specs specs = infer_results(op, args);
  Values computed;
  const bool runs_now = !is_known(specs);
  if (runs_now) {
    run_to(held_.size());
    std::vector<Ref<RawTensor>> values;
    for (Value* arg : args) values.push_back(symbol_in(arg).value());
    computed = compute(op, values, false);
    for (size_t i = 0; i < specs.size(); ++i) specs[i] = spec_of(op.name(), *computed[i]);
  }
  std::vector<int> inputs;
  Held held;
  for (Value* arg : args) {
    held.inputs.push_back(Ref<Symbol>(&symbol_in(arg)));
    inputs.push_back(number_of(*held.inputs.back()));
  }
  const size_t index = held_.size();
  const std::vector<int> outputs = program_->append(op, inputs, "", specs);
  Values out;
  for (size_t i = 0; i < specs.size(); ++i) {
    std::string name = op.name() + "_" + std::to_string(index);
    if (specs.size() > 1) name += "." + std::to_string(i);
    const Ref<Symbol> symbol = make_ref<Symbol>(name, specs[i]);
    if (runs_now) {
      symbol->fill(Ref<RawTensor>(static_cast<RawTensor*>(computed[i].get())));
    } else {
      symbol->tape_ = this;
      symbol->index_ = index;
    }
    program_->rename(outputs[i], std::move(name));
    numbers_[symbol->desc->id] = outputs[i];
    descs_.push_back(symbol->desc);
    held.outputs.push_back(symbol);
    out.push_back(symbol);
  }
  held_.push_back(std::move(held));
  if (runs_now) position_ = held_.size();
  return out;
}

void Tape::run_to(size_t end) {
  for (; position_ < end; ++position_) {
    Held& held = held_[position_];
    const Ref<const Op> op = program_->steps()[position_].op;
    std::vector<Ref<RawTensor>> values;
    for (const Ref<Symbol>& input : held.inputs) values.push_back(input->value());
    const std::vector<Ref<Symbol>> results = held.outputs;
    if (releases_) {  // this op can't be tried again
      held = {};
      for (const Ref<Symbol>& result : results) result->tape_ = nullptr;
    }
    const Values out = compute(*op, values, releases_);
    for (size_t i = 0; i < results.size(); ++i) {
      results[i]->fill(Ref<RawTensor>(static_cast<RawTensor*>(out[i].get())));
    }
  }
}

void Tape::Forward() { run_to(held_.size()); }

Results Tape::add(const Op& op, const std::vector<VariableHandle>& inputs, Attributes numbers) {
  for (const VariableHandle& input : inputs) check_given(op.name().c_str(), input.get());
  const CurrentTape scope(*this);
  if (inputs.empty()) return wrap(append(op, {}));
  std::vector<VariableHandle> all = inputs;
  const std::span<const ArgSpec> specs = arguments_of(op);
  SmallVector<Given, 4> known;
  known.resize(all.size());
  for (size_t i = all.size(); i < specs.size(); ++i) {
    const auto given = std::find_if(numbers.begin(), numbers.end(),
                                    [&](const auto& pair) { return pair.first == specs[i].name; });
    const Attr& value = given == numbers.end() ? specs[i].fallback : given->second;
    if (std::holds_alternative<Nothing>(value)) break;
    known.push_back(Given(literal_of(value)));
    Ref<Value> number = lift_literal(literal_of(value), *all[0]);
    all.push_back(Ref<Variable>(static_cast<Variable*>(number.get())));
    if (given != numbers.end()) numbers.erase(given);
  }
  if (!numbers.empty()) {
    fail(ErrorKind::kAttribute, said::op(op.name()), numbers[0].first, " must be given once",
         said::got("a variable among the inputs and a number"));
  }
  if (op.scalar != nullptr) check_numbers(*op.scalar, {known.data(), known.size()});
  SmallVector<Value*, 4> args;
  for (const VariableHandle& variable : all) args.push_back(variable.get());
  Results out;
  for (const Ref<Value>& value : apply(op, {args.data(), args.size()})) {
    out.push_back(Ref<Variable>(static_cast<Variable*>(value.get())));
  }
  return out;
}

Results Tape::AddOp(const std::string& type, const std::vector<VariableHandle>& inputs,
                    Attributes attributes) {
  Attributes numbers = take_numbers(type, attributes);
  const Ref<Op> op = op_by_name(type, std::move(attributes));
  return add(*op, inputs, std::move(numbers));
}

Results Tape::AddOp(const std::string& type, const Slots& inputs, const Slots& outputs,
                    Attributes attributes) {
  Attributes numbers = take_numbers(type, attributes);
  const Ref<Op> op = op_by_name(type, std::move(attributes));
  std::vector<VariableHandle> ordered;
  size_t used = 0;
  const size_t count = arguments_of(*op).size();
  for (size_t i = 0; i < count; ++i) {
    const auto found = inputs.find(slot_name(*op, i));
    if (found == inputs.end()) continue;
    ordered.insert(ordered.end(), found->second.begin(), found->second.end());
    ++used;
  }
  if (used < inputs.size()) {
    std::string names;
    for (size_t i = 0; i < count; ++i) names += (i > 0 ? ", " : "") + slot_name(*op, i);
    std::string got;
    for (const auto& [name, variables] : inputs) got += (got.empty() ? "" : ", ") + name;
    fail(ErrorKind::kAttribute, said::op(op->name()), "its input slots are ", names,
         said::got(got));
  }
  Results results = add(*op, ordered, std::move(numbers));
  for (size_t i = 0; i < results.size(); ++i) {
    const auto found = outputs.find(results.size() == 1 ? "y" : "y" + std::to_string(i));
    if (found == outputs.end() || found->second.empty()) continue;
    const VariableHandle& given = found->second[0];
    check_given(op->name().c_str(), given.get());
    given->held_ = results[i]->held_;
    given->result_of_ = number_;
    rename(*given->symbol().desc, given->name_);
    results[i] = given;
  }
  return results;
}

Tape& get_global_tape() {
  ThreadState& own = state();
  if (!own.global) own.global = std::make_unique<Tape>();
  return *own.global;
}

void reset_global_tape() { state().global = std::make_unique<Tape>(); }

Tape& current_tape() {
  Tape* current = state().current;
  return current != nullptr ? *current : get_global_tape();
}

CurrentTape::CurrentTape(Tape& tape) : previous_(state().current) { state().current = &tape; }
CurrentTape::~CurrentTape() { state().current = previous_; }

}  // namespace tensorlike::tape
