#include "op/identities.h"

#include <algorithm>
#include <unordered_map>

#include "op/registry.h"

namespace tensorlike {
namespace {

std::vector<IdentitySpec>& declared() {
  static auto& specs = *new std::vector<IdentitySpec>;
  return specs;
}

// A body with its calls resolved; their ops are made when it runs.
std::shared_ptr<CompiledBody> resolved(const Body& body, const std::string& source) {
  auto made = std::make_shared<CompiledBody>();
  made->body = body;
  int slot = body.inputs + static_cast<int>(body.constants.size());
  for (const Step& step : body.steps) {
    CompiledStep& out = made->steps.emplace_back();
    out.args = step.args;
    out.outputs = step.outputs;
    out.slot = std::exchange(slot, slot + step.outputs);
    if (step.call == "size") out.kind = CompiledStep::Kind::kSize;
    if (step.call == "attribute") out.kind = CompiledStep::Kind::kAttribute;
    const bool is_number = step.call == "size" || step.call == "attribute";
    out.function = is_number ? nullptr : registry().find_function(step.call);
    if (is_number) {
      if (!step.attrs.empty()) out.attrs.emplace_back(0, step.attrs[0].second);
      continue;
    }
    if (out.function == nullptr) {
      fail(ErrorKind::kDeclaration, source, ": there is no function '", step.call, "'.");
    }
    out.op = out.function->shared_op;
    const std::vector<AttrSpec>& specs = out.function->spec.attrs;
    for (const auto& [name, expr] : step.attrs) {
      const auto at = std::find_if(specs.begin(), specs.end(),
                                   [&n = name](const AttrSpec& spec) { return spec.name == n; });
      if (at == specs.end()) {
        fail(ErrorKind::kDeclaration, source, ": ", step.call, " has no attribute '", name, "'.");
      }
      out.attrs.emplace_back(static_cast<int>(at - specs.begin()), expr);
    }
  }
  return made;
}

// What tells an op from others: the scalar function, the reduction, or the class.
const void* meaning_of(const Function& function) {
  const std::string* mode = nullptr;
  for (const auto& [name, value] : function.spec.fixed) {
    if (name == "mode") mode = std::get_if<std::string>(&value);
  }
  if (mode == nullptr) return function.op_class;
  if (const Scalar* scalar = registry().find_scalar(*mode)) return scalar;
  return registry().find_reduction(*mode);
}

// One call of all arguments, in their order.
bool is_plain_call(const Body& body) {
  if (body.steps.size() != 1 || !body.constants.empty()) return false;
  const std::vector<int>& args = body.steps[0].args;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] != static_cast<int>(i)) return false;
  }
  return static_cast<int>(args.size()) == body.inputs;
}

bool is_swapped_call(const Body& from, const Body& to) {
  return is_plain_call(from) && from.inputs == 2 && to.steps.size() == 1 &&
         to.steps[0].call == from.steps[0].call && to.steps[0].args == std::vector<int>{1, 0};
}

struct Tables {
  std::vector<std::unique_ptr<Identity>> identities;
  std::unordered_map<const void*, const CompiledBody*> definitions;  // by what the op is
  std::unordered_map<const Scalar*, bool> commuting;                 // whether to the last bit

  Tables() {
    registry();
    for (IdentitySpec& spec : declared()) {
      identities.push_back(std::make_unique<Identity>(std::move(spec)));
      Identity& identity = *identities.back();
      identity.from.define = resolved(identity.spec.from.define, identity.spec.text);
      identity.to.define = resolved(identity.spec.to.define, identity.spec.text);
      const CompiledBody& from = *identity.from.define;
      if (is_swapped_call(from.body, identity.to.define->body)) {
        commuting[registry().find_scalar(from.body.steps[0].call)] =
            identity.spec.holds == IdentitySpec::Holds::kExactly;
      } else if (identity.spec.holds == IdentitySpec::Holds::kByDefinition) {
        definitions[meaning_of(*from.steps[0].function)] = identity.to.define.get();
      }
    }
  }
};

const Tables& tables() {
  static const Tables& made = *new Tables;
  return made;
}

}  // namespace

Identity::Identity(IdentitySpec s)
    : spec(std::move(s)), from(spec.from, &op_base_type()), to(spec.to, &op_base_type()) {}

void add_identity(IdentitySpec spec) { declared().push_back(std::move(spec)); }

const std::vector<std::unique_ptr<Identity>>& identities() { return tables().identities; }

const CompiledBody* definition_of(const Op& op) {
  const void* key = &op.cls;
  if (op.scalar != nullptr) key = op.scalar;
  if (op.reduction != nullptr) key = op.reduction;
  const auto found = tables().definitions.find(key);
  return found == tables().definitions.end() ? nullptr : found->second;
}

bool commutes(const Scalar& scalar, bool exactly) {
  const auto found = tables().commuting.find(&scalar);
  return found != tables().commuting.end() && (found->second || !exactly);
}

}  // namespace tensorlike
