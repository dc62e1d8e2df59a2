// Ops with sample attributes and arguments, on which bodies are tried out.
#pragma once

#include <vector>

#include "program/terms.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

struct Sample {
  Ref<Op> op;
  Specs args;
};

// Attributes by which a pattern tells where they went: axes are 1, numbers unusual ones, and each
// flag and choice has all its values. With arguments that go together; empty where none are found.
std::vector<Sample> samples_of(const OpClass& cls);
Sample sample_of(const Scalar& scalar);

// Numbers of both signs that no formula is likely to be special at; `is_wide`: of all magnitudes.
Ref<RawTensor> sample_array(const Spec& spec, size_t index, bool is_wide = false);

// What a term is for tensor-likes in the place of its leaves.
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
