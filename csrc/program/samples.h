// Ops with sample attributes and arguments, on which bodies are tried out.
#pragma once

#include <vector>

#include "program/terms.h"

namespace tensorlike {

struct Sample {
  Ref<Op> op;
  Specs args;
};

// Attributes by which a pattern tells where they went: axes are 1, numbers unusual ones, and each
// flag and choice has all its values. With arguments that go together; empty where none are found.
std::vector<Sample> samples_of(const OpClass& cls);
Sample sample_of(const Scalar& scalar);

// The numbers that a term is for arrays in the place of its leaves.
class Evaluation {
 public:
  Evaluation(const Terms& terms, std::vector<Ref<Value>> leaves)
      : terms_(terms), leaves_(std::move(leaves)) {}
  Ref<Value> value(int term);

 private:
  Ref<Value> compute(const Term& term);

  const Terms& terms_;
  std::vector<Ref<Value>> leaves_;
  std::unordered_map<int, Ref<Value>> known_;
};

}  // namespace tensorlike
