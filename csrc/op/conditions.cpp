#include "op/conditions.h"

#include <algorithm>

#include "op/tile_program.h"

namespace tensorlike {
namespace {

// The value of a body of scalar functions; nothing where it reads what is not known.
Given evaluate(const CompiledBody& body, std::span<const Given> inputs) {
  std::vector<Given> slots(inputs.begin(), inputs.end());
  for (const Literal& constant : body.constants) slots.push_back(Given(constant));
  for (const CompiledStep& step : body.steps) {
    SmallVector<Literal, 4> args;
    for (int slot : step.args) {
      if (const Given& arg = slots[static_cast<size_t>(slot)]) args.push_back(*arg);
    }
    const bool is_known = args.size() == step.args.size();
    slots.push_back(is_known ? fold(*step.op->scalar, {args.data(), args.size()}) : Given());
  }
  return slots[static_cast<size_t>(body.results[0])];
}

// "min_val=2.0, max_val=1.0": the inputs that the body reads.
template <class Names>
std::string shown(const CompiledBody& body, std::span<const Given> inputs, const Names& names) {
  std::string out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_read =
        std::any_of(body.steps.begin(), body.steps.end(), [i](const CompiledStep& step) {
          return std::find(step.args.begin(), step.args.end(), static_cast<int>(i)) !=
                 step.args.end();
        });
    if (!is_read || !inputs[i]) continue;
    const std::string value = std::visit([](auto v) { return to_string(Attr(v)); }, *inputs[i]);
    out += (out.empty() ? "" : ", ") + names[i].name + "=" + value;
  }
  return out;
}

template <class Names>
void check(const std::string& name, std::span<const CompiledCondition> conditions,
           std::span<const Given> inputs, const Names& names) {
  for (const CompiledCondition& condition : conditions) {
    const Given holds = evaluate(*condition.body, inputs);
    const bool* answer = holds ? std::get_if<bool>(&*holds) : nullptr;
    if (answer == nullptr || *answer) continue;
    fail(ErrorKind::kAttribute, said::op(name), condition.text, " must hold",
         said::got(shown(*condition.body, inputs, names)));
  }
}

}  // namespace

void check_numbers(const Scalar& scalar, std::span<const Given> args) {
  const std::vector<ArgSpec>& specs = scalar.spec.args;
  if (args.size() != specs.size()) return;  // which is refused elsewhere
  SmallVector<Given, 4> known;
  for (size_t i = 0; i < args.size(); ++i) {
    // A complex number among real arguments is refused by its dtype.
    const bool takes_complex = reduces(specs[i].category, Kind::kComplex);
    const bool fits = args[i] && (takes_complex || kind_of(*args[i]) != Kind::kComplex);
    known.push_back(fits ? args[i] : Given());
  }
  check(scalar.spec.name, scalar.conditions, {known.data(), known.size()}, specs);
}

void check_attributes(const Op& op) {
  SmallVector<Given, 8> known;
  for (const Attr& attr : op.attrs) known.push_back(is_number(attr) ? literal_of(attr) : Given());
  check(op.name(), op.cls.conditions, {known.data(), known.size()}, op.cls.spec.attrs);
}

}  // namespace tensorlike
