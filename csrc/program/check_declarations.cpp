// Whether declarations that come from outside may go into the registry. What is built in, or
// declared from YAML, was checked by the compiler of declarations; nothing below looks at it again.
#include <algorithm>
#include <map>

#include "program/checks.h"

namespace tensorlike {
namespace {

using namespace checks;

constexpr size_t kMostArgs = 20;
constexpr size_t kMostAttrs = 60;
constexpr size_t kMostOutputs = 8;
constexpr size_t kMostConstants = 1024;
constexpr int64_t kMostWrittenOut =
    10'000;  // calls of one declaration, those in its calls included
constexpr int64_t kMostOfReductions = 4'000;  // of all reductions, which are made ready at once
constexpr int kMostThrough = 64;              // declarations that go through each other

bool is_identifier(const std::string& name) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 128 && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), is_part);
}

class Checker {
 public:
  explicit Checker(const std::vector<AnySpec>& specs) : specs_(specs) {
    for (const AnySpec& spec : specs) {
      auto& named = by_name_[spec.index()];
      const std::string& name = name_of(spec);
      require(is_identifier(name), name, "a name of letters, digits and _");
      require(named.emplace(name, &spec).second, name, "a name of its own");
    }
  }

  void check() {
    for (const AnySpec& spec : specs_) std::visit([this](const auto& each) { check(each); }, spec);
    int64_t of_reductions = 0;
    for (const AnySpec& spec : specs_) {
      const int64_t calls = calls_of(spec, 0);
      if (std::holds_alternative<ReductionSpec>(spec)) of_reductions += calls;
      require(calls <= kMostWrittenOut && of_reductions <= kMostOfReductions, name_of(spec),
              "fewer calls");
    }
  }

 private:
  template <class T>
  const T* find(const std::string& name) const {
    const auto& named = by_name_[AnySpec(T()).index()];
    const auto found = named.find(name);
    return found == named.end() ? nullptr : &std::get<T>(*found->second);
  }
  const ScalarSpec* find_scalar(const std::string& name) const {
    if (const auto* own = find<ScalarSpec>(name)) return own;
    const Scalar* known = registry().find_scalar(name);
    return known == nullptr ? nullptr : &known->spec;
  }
  const OpSpec* find_op(const std::string& name) const {
    if (const auto* own = find<OpSpec>(name)) return own;
    const OpClass* known = registry().find_op(name);
    return known == nullptr ? nullptr : &known->spec;
  }
  const FunctionSpec* find_function(const std::string& name) const {
    if (const auto* own = find<FunctionSpec>(name)) return own;
    const Function* known = registry().find_function(name);
    return known == nullptr ? nullptr : &known->spec;
  }

  // An op, or a function of numbers, whose parts are checked.
  struct Owner {
    const std::string& name;
    const std::vector<AttrSpec>* attrs = nullptr;
    bool has(const std::string& attr) const {
      return attrs != nullptr && std::any_of(attrs->begin(), attrs->end(),
                                             [&](const auto& each) { return each.name == attr; });
    }
  };

  void check(const ScalarSpec& spec) {
    const Owner owner{spec.name};
    const size_t count = spec.args.size();
    check_args(spec.name, spec.args, false);
    require(spec.outputs >= 1 && spec.outputs <= static_cast<int>(kMostOutputs), spec.name,
            "results");
    check_formula(owner, *spec.expansion, count, static_cast<size_t>(spec.outputs));
    check_grads(owner, *spec.grads, count, spec.outputs);
    check_grads(owner, *spec.complex_grads, count, spec.outputs);
    check_conditions(owner, spec.conditions, count);
  }

  void check(const ReductionSpec& spec) {
    const Owner owner{spec.name};
    check_args(spec.name, {spec.arg}, false);
    require(!spec.single_axis, spec.name, "no position as its result");
    static constexpr std::string_view kInits[] = {"0", "1", "lowest", "highest", "false", "true"};
    require(std::find(std::begin(kInits), std::end(kInits), spec.init) != std::end(kInits),
            spec.name, "a known beginning");
    check_formula(owner, spec.map, 1, 1);
    check_formula(owner, spec.combine, 2, 1);
    check_formula(owner, spec.finish, 2, 1);
    check_grads(owner, *spec.grads, 1, 1);
    check_grads(owner, *spec.complex_grads, 1, 1);
  }

  void check(const OpSpec& spec) {
    const Owner owner{spec.name, &spec.attrs};
    const size_t count = spec.args.size();
    check_args(spec.name, spec.args, true);
    check_attrs(spec.name, spec.attrs);
    require(spec.kernel.empty() && spec.infer.empty() && spec.grad.empty() && spec.expand.empty() &&
                spec.batch.empty(),
            spec.name, "a body, and no rule of the core");
    require(spec.outputs >= 1 && spec.outputs <= static_cast<int>(kMostOutputs), spec.name,
            "results");
    require(spec.version >= 1, spec.name, "a version from 1");
    require(spec.effects.empty() || spec.effects == "random", spec.name, "no unknown effects");
    check_body(owner, *spec.define, count, false);
    require(spec.define->results.size() == static_cast<size_t>(spec.outputs), spec.name,
            "a body with as many results as it says");
    check_grads(owner, *spec.grads, count, spec.outputs);
    check_grads(owner, *spec.complex_grads, count, spec.outputs);
    check_conditions(owner, spec.conditions, spec.attrs.size());
    for (const std::vector<int>& group : spec.linear) {
      for (int arg : group) require(is_below(arg, count), spec.name, "arguments that it has");
    }
    for (const std::vector<int>& channel : spec.channels) {
      require(channel.size() == 2 && (channel[0] == -1 || is_below(channel[0], count)), spec.name,
              "axes of arguments that it has");
    }
    if (!spec.shapes.cases.empty()) check_shapes(spec);
  }

  void check(const FunctionSpec& spec) {
    check_args(spec.name, spec.args, true);
    check_attrs(spec.name, spec.attrs);
    const OpSpec* op = find_op(spec.op);
    require(op != nullptr, spec.name, "an op that is declared");
    require(spec.op != "Const", spec.name, "another op than a constant");
    const auto has = [&](const std::string& name) { return has_attribute(op->attrs, name); };
    static constexpr const char* kOfItsOp = "attributes that its op has";
    for (const auto& [name, value] : spec.fixed) require(has(name), spec.name, kOfItsOp);
    for (const AttrSpec& attr : spec.attrs) require(has(attr.name), spec.name, kOfItsOp);
    const OpClass* cls = registry().find_op(spec.op);
    if (cls == nullptr || cls->family != OpClass::Family::kElemwise) return;
    require(spec.attrs.empty() && find_scalar(spec.name) != nullptr && spec.fixed.size() == 1 &&
                spec.fixed[0] == std::pair<std::string, Attr>("mode", spec.name),
            spec.name, "the name of the function of numbers that it calls");
  }

  static void check_args(const std::string& name, const std::vector<ArgSpec>& args,
                         bool may_be_many) {
    require(!args.empty() && args.size() <= kMostArgs, name, "from 1 to 20 arguments");
    for (size_t i = 0; i < args.size(); ++i) {
      const ArgSpec& arg = args[i];
      require(is_identifier(arg.name), name, "names of arguments");
      const bool may_be = may_be_many && i > 0 && i + 1 == args.size();
      require(!arg.variadic || may_be, name, "one argument at least, and only the last for many");
      require(arg.variadic || !arg.optional, name, "only the last argument left out");
      const bool is_none = std::holds_alternative<Nothing>(arg.fallback);
      require(is_none || is_number(arg.fallback), name, "numbers as defaults of arguments");
    }
  }

  static void check_attrs(const std::string& name, const std::vector<AttrSpec>& attrs) {
    require(attrs.size() <= kMostAttrs, name, "fewer attributes");
    for (const AttrSpec& attr : attrs) {
      require(is_identifier(attr.name), name, "names of attributes");
      const auto same = [&](const AttrSpec& other) { return other.name == attr.name; };
      require(std::count_if(attrs.begin(), attrs.end(), same) == 1, name, "each attribute once");
      require(attr.type != nullptr, name, "attributes of known types");
    }
  }

  void check_formula(const Owner& owner, const Body& body, size_t inputs, size_t results) const {
    check_body(owner, body, inputs, true);
    require(body.results.size() == results, owner.name, "a formula for each result");
  }

  void check_grads(const Owner& owner, const std::vector<Grad>& grads, size_t args,
                   int outputs) const {
    for (const Grad& grad : grads) {
      require(is_below(grad.input, args), owner.name, "gradients of its arguments");
      require(grad.match.empty() || owner.has(grad.match), owner.name,
              "gradients by an attribute that it has");
      const size_t inputs = args + 2 * static_cast<size_t>(outputs) + (grad.adds_up ? 1 : 0);
      check_body(owner, grad.body, inputs, false, true);
      for (int input : grad.beside) {
        require(is_below(input, args), owner.name, "gradients of its arguments");
      }
      const Body& body = grad.body;  // an empty one says that there is no gradient
      const bool is_none = body.results.empty() && body.steps.empty() && body.constants.empty() &&
                           grad.beside.empty();
      require(is_none || body.results.size() == 1 + grad.beside.size(), owner.name,
              "one gradient for an argument");
    }
  }

  void check_conditions(const Owner& owner, const std::vector<Condition>& conditions,
                        size_t inputs) const {
    for (const Condition& condition : conditions) {
      check_formula({owner.name}, condition.body, inputs, 1);
    }
  }

  // `is_formula`: functions of numbers alone. `is_rule`: a gradient's, where there are choices.
  void check_body(const Owner& owner, const Body& body, size_t inputs, bool is_formula,
                  bool is_rule = false) const {
    require(body.inputs >= 0 && static_cast<size_t>(body.inputs) == inputs, owner.name,
            "bodies of its arguments");
    require(body.constants.size() <= kMostConstants, owner.name, "fewer constants");
    size_t slots = inputs + body.constants.size();
    for (const Step& step : body.steps) {
      for (int arg : step.args) require(is_below(arg, slots), owner.name, "slots that are there");
      for (const auto& [name, expr] : step.attrs) check_expr(owner, expr, slots, is_rule);
      require(step.outputs >= 1 && step.outputs <= static_cast<int>(kMostOutputs), owner.name,
              "calls of results");
      if (!is_rule || !is_pseudo(owner, step)) check_call(owner, step, is_formula);
      slots += static_cast<size_t>(step.outputs);
    }
    for (int slot : body.results) require(is_below(slot, slots), owner.name, "results in slots");
  }

  // A choice between two slots, or an error.
  static bool is_pseudo(const Owner& owner, const Step& step) {
    if (step.call != "if" && step.call != "raise") return false;
    const bool is_choice = step.call == "if";
    require(
        step.outputs == 1 && step.args.size() == (is_choice ? 2U : 0U) && step.attrs.size() == 1,
        owner.name, "choices of two, by one condition");
    const AttrExpr& said = step.attrs[0].second;
    require(is_choice || (said.kind == AttrExpr::Kind::kLiteral &&
                          std::holds_alternative<std::string>(said.literal)),
            owner.name, "errors that are texts");
    return true;
  }

  void check_call(const Owner& owner, const Step& step, bool is_formula) const {
    require(step.outputs == 1 || !is_formula, owner.name, "functions of one result");
    if (step.call == "size" || step.call == "attribute") {
      const size_t args = step.call == "size" ? 1 : 0;
      require(!is_formula && step.outputs == 1 && step.args.size() == args &&
                  step.attrs.size() == 1 - args,
              owner.name, "sizes of one tensor, and attributes by one name");
      return;
    }
    if (const ScalarSpec* scalar = find_scalar(step.call)) {
      require(step.args.size() == scalar->args.size() && step.attrs.empty() &&
                  step.outputs <= scalar->outputs,
              owner.name, "functions of numbers with all their arguments");
      return;
    }
    const FunctionSpec* function = find_function(step.call);
    if (is_formula || function == nullptr) {
      refuse(owner.name, text("calls that are declared; got '", step.call.substr(0, 40), "'"));
    }
    for (const auto& [name, expr] : step.attrs) {
      const auto is_it = [&n = name](const AttrSpec& attr) { return attr.name == n; };
      require(std::any_of(function->attrs.begin(), function->attrs.end(), is_it), owner.name,
              "attributes that its calls have");
    }
  }

  // In a body: slots are values.
  static void check_expr(const Owner& owner, const AttrExpr& expr, size_t slots, bool is_rule) {
    using Kind = AttrExpr::Kind;
    for (const AttrExpr& part : expr.parts) check_expr(owner, part, slots, is_rule);
    const bool reads_slot = expr.kind == Kind::kShape || expr.kind == Kind::kDim ||
                            expr.kind == Kind::kDType || expr.kind == Kind::kRank ||
                            expr.kind == Kind::kFlows;
    require(expr.kind != Kind::kFlows || is_rule, owner.name, "no question for cotangents");
    require(!reads_slot || is_below(expr.slot, slots), owner.name, "slots that are there");
    require(expr.kind != Kind::kAttr || owner.has(expr.attr), owner.name,
            "attributes that are its own");
    if (expr.kind == Kind::kDim) require(expr.parts.size() <= 1, owner.name, "one axis");
    if (expr.kind != Kind::kArithmetic) return;
    const bool is_of_one = expr.attr == "inverse" || expr.attr == "size" ||
                           expr.attr == "swapped" || expr.attr == "logical_not";
    const bool is_of_three = expr.attr == "resized" || expr.attr == "sliced";
    const size_t parts = is_of_one ? 1 : is_of_three ? 3 : 2;
    require(expr.parts.size() == parts, owner.name, "arithmetic on as many parts as it takes");
  }

  // How many calls a declaration is, written out: those of its body with those of their bodies.
  int64_t calls_of(const AnySpec& spec, int depth) {
    const std::string& name = name_of(spec);
    const auto known = calls_.find(&spec);
    if (known != calls_.end()) {
      require(known->second >= 0, name, "no body that goes through itself");
      return known->second;
    }
    require(depth < kMostThrough, name, "bodies that do not go through so many others");
    calls_[&spec] = -1;
    int64_t sum = 1;
    const auto add = [&](const Body& body) {
      for (const Step& step : body.steps) {
        sum += calls_of_call(step.call, depth + 1);
        for (const auto& [attr, expr] : step.attrs) sum += calls_of_named(expr, depth + 1);
        sum = std::min(sum, kMostWrittenOut + 1);
      }
    };
    if (const auto* scalar = std::get_if<ScalarSpec>(&spec)) add(*scalar->expansion);
    if (const auto* op = std::get_if<OpSpec>(&spec)) add(*op->define);
    if (const auto* reduction = std::get_if<ReductionSpec>(&spec)) {
      for (const Body* body : {&reduction->map, &reduction->combine, &reduction->finish}) {
        add(*body);
      }
    }
    return calls_[&spec] = sum;
  }

  int64_t calls_of_call(const std::string& name, int depth) {
    const auto scalar = by_name_[kScalar].find(name);
    if (scalar != by_name_[kScalar].end()) return calls_of(*scalar->second, depth);
    const auto* call = find<FunctionSpec>(name);
    if (call == nullptr) return 1;
    int64_t sum = 1 + calls_of_name(call->op, depth);
    for (const auto& [attr, value] : call->fixed) {
      if (const auto* word = std::get_if<std::string>(&value)) sum += calls_of_name(*word, depth);
    }
    return sum;
  }

  // What an attribute names, as the function that is applied, is called too.
  int64_t calls_of_named(const AttrExpr& expr, int depth) {
    const auto* word = std::get_if<std::string>(&expr.literal);
    int64_t sum = word == nullptr ? 0 : calls_of_name(*word, depth);
    for (const AttrExpr& part : expr.parts) sum += calls_of_named(part, depth);
    return sum;
  }

  int64_t calls_of_name(const std::string& name, int depth) {
    int64_t sum = 0;
    for (size_t kind = 0; kind < kFunction; ++kind) {
      const auto found = by_name_[kind].find(name);
      if (found != by_name_[kind].end()) sum += calls_of(*found->second, depth);
    }
    return sum;
  }

  // The order of AnySpec.
  static constexpr size_t kScalar = 0, kFunction = 3;
  const std::vector<AnySpec>& specs_;
  std::map<std::string, const AnySpec*> by_name_[4];
  std::map<const AnySpec*, int64_t> calls_;  // -1: it is being counted
};

}  // namespace

void check_declarations(const std::vector<AnySpec>& specs) { Checker(specs).check(); }

}  // namespace tensorlike
