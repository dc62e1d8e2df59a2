#include "engine/expression.h"

#include <algorithm>

#include "engine/lazy.h"

namespace tensorlike {
namespace {

// Elements: to wait costs about two microseconds, which are saved from so many on.
constexpr int64_t kLeastInExpression = 32768;

}  // namespace

bool launch_in_expression(const Op& op, Args args, uint32_t donated, int64_t holds, Values& out) {
  if (op.scalar == nullptr) return false;
  const auto has = [&](auto&& is_so) {
    return std::any_of(args.begin(), args.end(),
                       [&](Value* arg) { return is_so(*static_cast<RawTensor*>(arg)); });
  };
  if (!has([](const RawTensor& x) { return x.count >= kLeastInExpression; })) return false;
  if (OneExpression::is_open()) return push_lazily(op, args, kLeastInExpression, {}, out);
  const bool is_passed_on =
      donated == 0 && is_passed_on_by_user != nullptr && is_passed_on_by_user();
  if (!is_passed_on && !has([](const RawTensor& x) { return bool(x.pending); })) return false;
  // Beside those that the caller counts there is Python's, unless it is among them.
  const LazyNode::Operator reader{is_passed_on, donated == 0 ? holds + 1 : holds, donated};
  if (!push_lazily(op, args, kLeastInExpression, reader, out)) return false;
  if (!is_passed_on) static_cast<RawTensor&>(*out[0]).ready("the expression ends");
  return true;
}

void OneExpression::end() {
  is_ended_ = true;
  --open_;
  if (runs_at_once()) finish_lazy("the expression ends");
}

}  // namespace tensorlike
