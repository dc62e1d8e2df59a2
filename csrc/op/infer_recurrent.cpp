// Inference for recurrences over whole sequences.
#include "op/families.h"
#include "op/infer.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

constexpr int64_t kGates = 4;

void check_shape(const Op& op, const std::string& arg, const Spec& got, const Dims& wanted,
                 const char* why) {
  if (got.shape == wanted) return;
  fail(ErrorKind::kShape, op.name(), ": ", arg, ".shape must be ", to_string(wanted), ", ", why,
       "; got ", to_string(got.shape), ".");
}

void check_ndim(const Op& op, const std::string& arg, const Spec& got, size_t ndim,
                const char* shape) {
  if (got.shape.size() == ndim) return;
  fail(ErrorKind::kShape, op.name(), ": ", arg, " must have the shape ", shape, "; got ", arg,
       ".shape=", to_string(got.shape), ".");
}

DType joint_dtype(const Op& op, Inputs inputs) {
  const std::vector<ArgSpec>& args = op.cls.spec.args;
  DType dtype = real_floating(op, args[0].name.c_str(), inputs[0].dtype);
  for (size_t i = 1; i < inputs.size(); ++i) {
    const ArgSpec& arg = args[std::min(i, args.size() - 1)];
    dtype = promote(dtype, real_floating(op, arg.name.c_str(), inputs[i].dtype));
  }
  return dtype;
}

Specs infer_lstm(const Op& op, Inputs inputs) {
  const DType dtype = joint_dtype(op, inputs);
  check_ndim(op, "sums", inputs[0], 3, "(length, batch, 4 * hidden size)");
  check_ndim(op, "hidden", inputs[2], 2, "(batch, hidden size)");
  const int64_t length = inputs[0].shape[0];
  const int64_t batch = inputs[0].shape[1];
  const int64_t size = inputs[2].shape[1];
  const char* const of_sums = "(length, batch, 4 * hidden size) with those of hidden";
  check_shape(op, "sums", inputs[0], {length, inputs[2].shape[0], kGates * size}, of_sums);
  check_shape(op, "weight", inputs[1], {kGates * size, size}, "(4 * hidden size, hidden size)");
  check_shape(op, "cell", inputs[3], {batch, size}, "as hidden");
  Specs specs(2, Spec{dtype, {length, batch, size}});
  specs.push_back({dtype, {length, batch, kGates * size}});
  return specs;
}

Specs infer_lstm_grad(const Op& op, Inputs inputs) {
  const DType dtype = joint_dtype(op, inputs);
  check_ndim(op, "states", inputs[3], 3, "(length, batch, hidden size)");
  const Dims states = inputs[3].shape;
  const int64_t size = states[2];
  const Dims gates = {states[0], states[1], kGates * size};
  check_shape(op, "weight", inputs[0], {kGates * size, size}, "(4 * hidden size, hidden size)");
  check_shape(op, "hidden", inputs[1], {states[1], size}, "(batch, hidden size)");
  check_shape(op, "cell", inputs[2], {states[1], size}, "(batch, hidden size)");
  check_shape(op, "cells", inputs[4], states, "as states");
  check_shape(op, "gates", inputs[5], gates, "(length, batch, 4 * hidden size)");
  check_shape(op, "dstates", inputs[6], states, "as states");
  check_shape(op, "dcells", inputs[7], states, "as states");
  if (inputs.size() > 9) {
    fail(ErrorKind::kDispatch, op.name(), ": there may be one dgates; got ", inputs.size() - 8,
         ".");
  }
  if (inputs.size() > 8) check_shape(op, "dgates", inputs[8], gates, "as gates");
  Specs specs(1, Spec{dtype, gates});
  for (size_t i = 0; i < 3; ++i) specs.push_back({dtype, inputs[i].shape});
  return specs;
}

constexpr std::pair<std::string_view, InferRule> kRules[] = {
    {"lstm", infer_lstm},
    {"lstm_grad", infer_lstm_grad},
};

}  // namespace

RuleTable<InferRule> recurrent_rules() { return kRules; }

}  // namespace tensorlike
