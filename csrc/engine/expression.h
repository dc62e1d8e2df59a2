// Expressions: of `x * y + z` the product is read by the sum and by nobody else. While the engine
// runs launches at once, an operator whose result the next one of its expression reads waits for
// that one, and both run as one chain (chain.h): what is passed on within an expression is not
// written to memory. A line that ends has run.
//
// That a result is passed on is what the user's program looks like, and no promise. So it stays a
// tensor that waits: who reads it after all gets its elements.
#pragma once

#include "tensor/raw_tensor.h"

namespace tensorlike {

// The embedder's answer to "does an operator of the expression that is being evaluated read what
// this launch gives, and nothing else before it"; null where nobody knows.
inline bool (*is_passed_on_by_user)() = nullptr;

// Makes a launch part of an expression; false: it is none of one. `donated`, `holds`: as for
// `launch`; an operator that binds its first operand anew, as that of `p -= lr * g`, ends one.
bool launch_in_expression(const Op& op, Args args, uint32_t donated, int64_t holds, Values& out);

// While launches run at once: all that this thread applies until `end` is one expression. What
// operators over many elements give waits for who reads it, as gradients do within a backward pass.
class OneExpression {
 public:
  OneExpression() { ++open_; }
  ~OneExpression() {
    if (!is_ended_) --open_;
  }
  OneExpression(const OneExpression&) = delete;
  OneExpression& operator=(const OneExpression&) = delete;

  // Runs what waits. Where it does not come to this, what is held runs when it is read.
  void end();
  static bool is_open() { return open_ > 0; }

 private:
  static inline thread_local int open_ = 0;
  bool is_ended_ = false;
};

}  // namespace tensorlike
