// Inference for alignments of labels with steps.
#include "op/families.h"
#include "op/infer.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

void check_shape(const Op& op, const char* arg, const Spec& got, const Dims& wanted,
                 const char* why) {
  if (got.shape == wanted) return;
  fail(ErrorKind::kShape, said::op(op.name()), arg, ".shape must be ", to_string(wanted), ", ", why,
       said::got(to_string(got.shape)));
}

// Checks what both ops are given, and returns the number of sequences.
int64_t check_sequences(const Op& op, Inputs inputs) {
  const Dims& shape = inputs[0].shape;
  if (shape.size() != 3) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("log_probs"),
         "must be (steps, sequences, classes)", said::got("log_probs.shape=", to_string(shape)));
  }
  const int64_t count = shape[1];
  const int64_t blank = op.get<int64_t>("blank");
  if (blank < 0 || blank >= shape[2]) {
    fail(ErrorKind::kIndex, said::op(op.name()), said::argument("blank"), "must be in [0, ",
         shape[2] - 1, "]", said::got(blank));
  }
  if (inputs[1].shape.size() != 2 || inputs[1].shape[0] != count) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("labels"), "must be (", count,
         ", longest), a row for each sequence",
         said::got("labels.shape=", to_string(inputs[1].shape)));
  }
  for (size_t i = 1; i < 4; ++i) {
    const char* const name = op.cls.spec.args[i].name.c_str();
    if (kind_of(inputs[i].dtype) != Kind::kInteger) {
      const bool is_complex = kind_of(inputs[i].dtype) == Kind::kComplex;
      fail(ErrorKind::kDType, said::op(op.name()), said::argument(name), "must be integer",
           said::got(name_of(inputs[i].dtype)),
           said::fix(is_complex ? "take one of its parts: real(x), imag(x), abs(x), and " : "",
                     "cast it: x.astype(int64)"));
    }
    if (i > 1) check_shape(op, name, inputs[i], {count}, "a number for each sequence");
  }
  return count;
}

Specs infer_ctc(const Op& op, Inputs inputs) {
  const DType dtype = real_floating(op, "log_probs", inputs[0].dtype);
  return Specs(1, Spec{dtype, {check_sequences(op, inputs)}});
}

Specs infer_ctc_grad(const Op& op, Inputs inputs) {
  const DType dtype = real_floating(op, "log_probs", inputs[0].dtype);
  const int64_t count = check_sequences(op, inputs);
  check_shape(op, "cotangent", inputs[4], {count}, "a number for each sequence");
  return Specs(
      1, Spec{promote(dtype, real_floating(op, "cotangent", inputs[4].dtype)), inputs[0].shape});
}

constexpr std::pair<std::string_view, InferRule> kRules[] = {
    {"ctc", infer_ctc},
    {"ctc_grad", infer_ctc_grad},
};

}  // namespace

RuleTable<InferRule> alignment_rules() { return kRules; }

}  // namespace tensorlike
