// Expressions: of `x * y + z` the product is read by the sum and by nobody else. While the engine
// runs launches at once, an op whose result another one reads, with nothing in between that could
// tell the difference, waits for that one, and both run as one chain (chain.h): what is passed on
// within an expression is not written to memory, unless a name holds it that is read again.
//
// That a result is passed on is what the user's program looks like, and no promise. So it stays a
// tensor that waits: who reads it after all gets its elements.
#pragma once

#include <limits>

#include "tensor/raw_tensor.h"

namespace tensorlike {

// By when the name, or the stack, that holds a result is done with it: places in the user's code.
struct HeldUntil {
  static constexpr int kAlways = std::numeric_limits<int>::max();
  int last_read = kAlways;  // by what is known
  int unbound = kAlways;    // from here on it is not held any more
};

// Where the user's code applies an op, and what becomes of the result there.
struct UsersPlace {
  const void* code = nullptr;  // null: nobody knows
  int at = 0;
  bool is_passed_on = false;  // another op of the expression reads it, and nothing else before
  HeldUntil held;

  // Whether the user's own reference to a result of this place ends with the op at another one.
  bool ends_at(const UsersPlace& reader) const {
    return code != nullptr && code == reader.code && held.last_read <= reader.at &&
           reader.at < held.unbound;
  }
};

// The embedder's answer to where the op that is being applied stands, or who called the function
// that applies it; null where nobody knows.
inline UsersPlace (*users_place)() = nullptr;
inline UsersPlace (*callers_place)() = nullptr;

// Makes a launch part of an expression; false: it is none of one. `donated`, `holds`: as for
// `launch`; an operator that binds its first operand anew, as that of `p -= lr * g`, ends one.
bool launch_in_expression(const Op& op, Args args, uint32_t donated, int64_t holds, Values& out);

// While launches run at once: all that this thread applies until `end` is one expression. What
// operators over many elements give waits for who reads it, as gradients do within a backward pass.
// Within another one it is a part of that.
class OneExpression {
 public:
  OneExpression() { ++open_; }
  ~OneExpression() {
    if (!is_ended_) --open_;
  }
  OneExpression(const OneExpression&) = delete;
  OneExpression& operator=(const OneExpression&) = delete;

  // Runs what waits and is read. Where it does not come to this, what is held runs when it is read.
  void end();
  static bool is_open() { return open_ > 0; }

 private:
  static inline thread_local int open_ = 0;
  bool is_ended_ = false;
};

}  // namespace tensorlike
