// Identities: what is the same, written in two ways, as declarations say it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "op/op.h"

namespace tensorlike {

// Over the same arguments and attributes.
struct IdentitySpec {
  enum class Holds : uint8_t {
    kExactly,       // to the last bit, for all numbers
    kNearly,        // of real numbers; floats round, overflow or lose the sign of zero
    kByDefinition,  // what one op is, in others
    kAsBody,        // what an op without a body is, written out
  };
  std::string text;
  Holds holds = Holds::kExactly;
  OpSpec from, to;  // each with a body
};

// An identity with its bodies, which are those of two ops that nobody calls.
struct Identity {
  explicit Identity(IdentitySpec s);
  IdentitySpec spec;
  OpClass from, to;
};

// All of them, which are read when somebody first asks.
const std::vector<std::unique_ptr<Identity>>& identities();
// What an op is in others, by an identity; null: nobody says so.
const CompiledBody* definition_of(const Op& op);
// Whether f(x, y) is f(y, x), by an identity; `exactly`: to the last bit.
bool commutes(const Scalar& scalar, bool exactly);

}  // namespace tensorlike
