#include "op/identities.h"

#include <unordered_map>

#include "op/declaration_text.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

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
    const Registry& calls = registry();
    for (const std::string_view text : built_ins().identities) {
      identities.push_back(std::make_unique<Identity>(read_identity(text)));
      Identity& identity = *identities.back();
      identity.from.define = calls.compile(*identity.spec.from.define, identity.spec.text);
      identity.to.define = calls.compile(*identity.spec.to.define, identity.spec.text);
      const CompiledBody& from = *identity.from.define;
      if (is_swapped_call(*identity.spec.from.define, *identity.spec.to.define)) {
        commuting[calls.find_scalar(identity.spec.from.define->steps[0].call)] =
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
