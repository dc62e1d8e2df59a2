#include "dispatch/signature.h"

#include <algorithm>

namespace tensorlike {
namespace {

bool covers(const Kinds& wide, const Kinds& narrow) {
  return std::all_of(narrow.begin(), narrow.end(), [&](const Type* n) {
    return std::any_of(wide.begin(), wide.end(), [&](const Type* w) { return n->is_a(*w); });
  });
}

bool meets(const Kinds& a, const Kinds& b) {
  return std::any_of(a.begin(), a.end(), [&](const Type* x) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Type* y) { return x->is_a(*y) || y->is_a(*x); });
  });
}

// Positions to compare: both fixed parts, and one beyond where both go on.
size_t compared(const Signature& a, const Signature& b) {
  return std::max(a.args.size(), b.args.size());
}

// Whether every call that `a` takes is one that `b` takes, by their arguments.
bool args_within(const Signature& a, const Signature& b) {
  if (a.is_variadic && !b.is_variadic) return false;
  const size_t fixed_a = a.args.size() - (a.is_variadic ? 1 : 0);
  const size_t fixed_b = b.args.size() - (b.is_variadic ? 1 : 0);
  if (fixed_a < fixed_b) return false;
  if (!b.is_variadic && a.args.size() != b.args.size()) return false;
  for (size_t i = 0; i < compared(a, b); ++i) {
    const Kinds* x = a.kinds_at(i);
    const Kinds* y = b.kinds_at(i);
    if (x == nullptr) break;
    if (y == nullptr || !covers(*y, *x)) return false;
  }
  return true;
}

}  // namespace

const Kinds* Signature::kinds_at(size_t i) const {
  if (i < args.size()) return &args[i];
  return is_variadic && !args.empty() ? &args.back() : nullptr;
}

std::string to_string(const Signature& signature) {
  std::string out = "(op: " + signature.op->name();
  for (size_t i = 0; i < signature.args.size(); ++i) {
    const bool is_last = i + 1 == signature.args.size();
    out += is_last && signature.is_variadic ? ", *args: " : ", ";
    for (size_t k = 0; k < signature.args[i].size(); ++k) {
      out += (k > 0 ? " | " : "") + signature.args[i][k]->name();
    }
  }
  return out + ")";
}

bool matches(const Signature& signature, const Type& op, std::span<const Type* const> kinds) {
  const size_t fixed = signature.args.size() - (signature.is_variadic ? 1 : 0);
  if (kinds.size() < fixed || (kinds.size() > fixed && !signature.is_variadic)) return false;
  if (!op.is_a(*signature.op)) return false;
  // A call without tensor-likes concerns only the rules that are for all of them.
  if (kinds.empty() && signature.is_variadic) {
    const Kinds& all = signature.args.back();
    return std::find(all.begin(), all.end(), &tensor_base_type()) != all.end();
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    const Kinds& wanted = *signature.kinds_at(i);
    if (std::none_of(wanted.begin(), wanted.end(),
                     [&](const Type* type) { return kinds[i]->is_a(*type); })) {
      return false;
    }
  }
  return true;
}

Order compare(const Signature& a, const Signature& b) {
  const bool a_op = a.op->is_a(*b.op);
  const bool b_op = b.op->is_a(*a.op);
  if (a_op != b_op) return a_op ? Order::kBefore : Order::kAfter;
  if (!a_op) return Order::kNone;
  const bool a_in = args_within(a, b);
  const bool b_in = args_within(b, a);
  if (a_in && b_in) return Order::kSame;
  if (a_in) return Order::kBefore;
  return b_in ? Order::kAfter : Order::kNone;
}

bool args_meet(const Signature& a, const Signature& b) {
  const size_t fixed_a = a.args.size() - (a.is_variadic ? 1 : 0);
  const size_t fixed_b = b.args.size() - (b.is_variadic ? 1 : 0);
  if (!a.is_variadic && fixed_b > fixed_a) return false;
  if (!b.is_variadic && fixed_a > fixed_b) return false;
  // The repeated kinds are compared too: a call without arguments is no overlap worth the name.
  for (size_t i = 0; i < compared(a, b); ++i) {
    const Kinds* x = a.kinds_at(i);
    const Kinds* y = b.kinds_at(i);
    if (x != nullptr && y != nullptr && !meets(*x, *y)) return false;
  }
  return true;
}

}  // namespace tensorlike
