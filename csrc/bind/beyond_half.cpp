#include "bind/beyond_half.h"

#include <algorithm>

#include "bind/objects.h"
#include "bind/programs.h"
#include "dispatch/dispatcher.h"
#include "tensor/body.h"

namespace tensorlike::bind {
namespace {

bool chooses(const Scalar& scalar) {
  const std::vector<ArgSpec>& args = scalar.spec.args;
  return std::any_of(args.begin(), args.end(),
                     [](const ArgSpec& arg) { return arg.category == Category::kBoolean; });
}

}  // namespace

bool size_exceeds_half(PyObject* object) {
  return is_size(object) && tensorlike::exceeds_half(literal_of_size(object));
}

Values applied_beyond_half(const Op& op, PyObject* const* args, size_t n) {
  if (op.scalar == nullptr ||
      !std::any_of(args, args + n, [](PyObject* x) { return exceeds_half(x); }))
    return {};
  if (chooses(*op.scalar) || !dispatcher().is_wrapper_plain()) return {};
  std::vector<Ref<Value>> held;
  std::vector<Operand> operands;
  bool has_half = false;
  for (size_t i = 0; i < n; ++i) {
    Literal literal;
    if (is_tensor_like(args[i])) {
      held.push_back(to_value(args[i]));
      has_half = has_half || holds_half(*held.back());
      operands.push_back({held.back().get(), {}});
    } else if (to_literal(args[i], literal)) {
      operands.push_back({nullptr, literal});
    } else {
      return {};
    }
  }
  return has_half ? apply_wide(op, operands) : Values();
}

}  // namespace tensorlike::bind
