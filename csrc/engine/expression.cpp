#include "engine/expression.h"

#include <algorithm>

#include "engine/lazy.h"

namespace tensorlike {
namespace {

// Elements: to wait costs about two microseconds, which are saved from so many on.
constexpr int64_t kLeastInExpression = 32768;

}  // namespace

bool launch_in_expression(const Op& op, Args args, uint32_t donated, int64_t holds, Values& out) {
  if (!has_embedder()) return false;
  const bool is_elementwise = op.scalar != nullptr;
  const auto has = [&](auto&& is_so) {
    return std::any_of(args.begin(), args.end(),
                       [&](Value* arg) { return is_so(*static_cast<RawTensor*>(arg)); });
  };
  const bool waits = has([](const RawTensor& x) { return bool(x.pending); });
  const bool is_large = has([](const RawTensor& x) { return x.count >= kLeastInExpression; });
  if (!waits && !(is_elementwise && is_large)) return false;
  if (OneExpression::is_open()) {
    return is_elementwise && is_large && push_lazily(op, args, kLeastInExpression, {}, out);
  }
  const UsersPlace place = users_place == nullptr ? UsersPlace{} : users_place();
  if (!place.is_passed_on && !waits) return false;
  // Who binds an operand anew counts the reference of its name among those that end.
  const LazyNode::Reader reader{place, donated == 0 ? holds : holds - 1, donated};
  if (!push_lazily(op, args, waits ? 1 : kLeastInExpression, reader, out)) return false;
  if (!place.is_passed_on) static_cast<RawTensor&>(*out[0]).ready("the expression ends");
  return true;
}

void OneExpression::end() {
  is_ended_ = true;
  --open_;
  if (open_ > 0 || !runs_at_once()) return;
  finish_read(callers_place == nullptr ? UsersPlace{} : callers_place(), "the expression ends");
}

}  // namespace tensorlike
