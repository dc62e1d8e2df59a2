// Inference for recurrences over whole sequences.
#include "op/families.h"
#include "op/infer.h"
#include "op/recurrent.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

constexpr std::pair<std::string_view, Cell> kCells[] = {
    {"lstm", {CellKind::kLSTM, 4, 4}},
    {"gru", {CellKind::kGRU, 3, 4}},
    {"tanh", {CellKind::kTanh, 1, 0}},
    {"relu", {CellKind::kRelu, 1, 0}},
};

void check_shape(const Op& op, const std::string& arg, const Spec& got, const Dims& wanted,
                 const std::string& why) {
  if (got.shape == wanted) return;
  fail(ErrorKind::kShape, said::op(op.name()), arg, ".shape must be ", to_string(wanted), ", ", why,
       said::got(to_string(got.shape)));
}

void check_ndim(const Op& op, const std::string& arg, const Spec& got, size_t ndim,
                const std::string& shape) {
  if (got.shape.size() == ndim) return;
  fail(ErrorKind::kShape, said::op(op.name()), arg, " must have the shape ", shape,
       said::got(arg, ".shape=", to_string(got.shape)));
}

void check_count(const Op& op, Inputs inputs, size_t least, size_t most, const char* what) {
  if (inputs.size() >= least && inputs.size() <= most) return;
  fail(ErrorKind::kDispatch, said::op(op.name()), "a cell '", op.get<std::string>("cell"),
       "' takes ", what, said::got(inputs.size(), " tensors"));
}

// "4 * hidden size".
std::string times_size(int64_t count) {
  return count == 1 ? "hidden size" : std::to_string(count) + " * hidden size";
}

Specs infer_recurrence(const Op& op, Inputs inputs) {
  const Cell cell = cell_of(op);
  const char* const taken = cell.is_lstm()  ? "sums, weight, hidden and cell"
                            : cell.is_gru() ? "sums, weight, hidden and bias"
                                            : "sums, weight and hidden";
  check_count(op, inputs, 3 + cell.rest(), 3 + cell.rest(), taken);
  const DType dtype = joint_real_dtype(op, inputs);
  const std::string products = times_size(cell.products);
  check_ndim(op, "sums", inputs[0], 3, "(length, batch, " + products + ")");
  check_ndim(op, "hidden", inputs[2], 2, "(batch, hidden size)");
  const int64_t length = inputs[0].shape[0];
  const int64_t batch = inputs[0].shape[1];
  const int64_t size = inputs[2].shape[1];
  const int64_t columns = cell.products * size;
  check_shape(op, "sums", inputs[0], {length, inputs[2].shape[0], columns},
              "(length, batch, " + products + ") with those of hidden");
  check_shape(op, "weight", inputs[1], {columns, size}, "(" + products + ", hidden size)");
  if (cell.is_lstm()) check_shape(op, "cell", inputs[3], {batch, size}, "as hidden");
  if (cell.is_gru()) check_shape(op, "bias", inputs[3], {columns}, "(" + products + ",)");
  Specs specs(cell.is_lstm() ? 2 : 1, Spec{dtype, {length, batch, size}});
  if (cell.has_gates()) specs.push_back({dtype, {length, batch, cell.gates * size}});
  return specs;
}

Specs infer_recurrence_grad(const Op& op, Inputs inputs) {
  const Cell cell = cell_of(op);
  const size_t known = cell.is_lstm() ? 8 : cell.is_gru() ? 5 : 4;
  const char* const taken =
      cell.is_lstm()  ? "weight, hidden, states, dstates, cell, cells, gates, dcells and dgates"
      : cell.is_gru() ? "weight, hidden, states, dstates, gates and dgates"
                      : "weight, hidden, states and dstates";
  check_count(op, inputs, known, known + cell.rest(), taken);
  const DType dtype = joint_real_dtype(op, inputs);
  check_ndim(op, "states", inputs[2], 3, "(length, batch, hidden size)");
  const Dims states = inputs[2].shape;
  const int64_t size = states[2];
  const int64_t columns = cell.products * size;
  const Dims before = {states[1], size};
  const Dims gates = {states[0], states[1], cell.gates * size};
  check_shape(op, "weight", inputs[0], {columns, size},
              "(" + times_size(cell.products) + ", hidden size)");
  check_shape(op, "hidden", inputs[1], before, "(batch, hidden size)");
  check_shape(op, "dstates", inputs[3], states, "as states");
  if (cell.is_lstm()) {
    check_shape(op, "cell", inputs[4], before, "(batch, hidden size)");
    check_shape(op, "cells", inputs[5], states, "as states");
    check_shape(op, "dcells", inputs[7], states, "as states");
  }
  const size_t at = cell.is_lstm() ? 6 : 4;
  const std::string shape = "(length, batch, " + times_size(cell.gates) + ")";
  if (cell.has_gates()) check_shape(op, "gates", inputs[at], gates, shape);
  if (inputs.size() > known) check_shape(op, "dgates", inputs[known], gates, "as gates");
  Specs specs(1, Spec{dtype, {states[0], states[1], columns}});
  for (size_t i = 0; i < 2; ++i) specs.push_back({dtype, inputs[i].shape});
  if (cell.is_lstm()) specs.push_back({dtype, before});
  if (cell.is_gru()) specs.push_back({dtype, {columns}});
  return specs;
}

constexpr std::pair<std::string_view, InferRule> kRecurrentRules[] = {
    {"recurrence", infer_recurrence},
    {"recurrence_grad", infer_recurrence_grad},
};

}  // namespace

Cell cell_of(const Op& op) {
  const std::string& name = op.get<std::string>("cell");
  for (const auto& [known, cell] : kCells) {
    if (known == name) return cell;
  }
  fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("cell"),
       "must be 'lstm', 'gru', 'tanh' or 'relu'", said::got("'", name, "'"));
}

RuleTable<InferRule> recurrent_rules() { return kRecurrentRules; }

}  // namespace tensorlike
