// What a rule is for: a class of ops, and kinds of tensor-likes; and which of two signatures comes
// first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/value.h"

namespace tensorlike {

// What one argument may be: any of these kinds.
using Kinds = std::vector<const Type*>;

struct Signature {
  const Type* op = nullptr;
  std::vector<Kinds> args;
  bool is_variadic = false;  // the last kind repeats, from zero times on

  // What argument i may be; null: there is none.
  const Kinds* kinds_at(size_t i) const;
};

std::string to_string(const Signature& signature);

// Whether a call of the op with arguments of these kinds is one of those that the signature takes.
bool matches(const Signature& signature, const Type& op, std::span<const Type* const> kinds);

enum class Order : uint8_t { kBefore, kAfter, kSame, kNone };

// The more specific one comes before: the op's class decides first, then the arguments.
Order compare(const Signature& a, const Signature& b);

// Whether arguments may fit both.
bool args_meet(const Signature& a, const Signature& b);

}  // namespace tensorlike
