// LSTM, GRU and RNN as ONNX may say them, where our recurrences have another formula: with other
// functions, bounds, peepholes, or a reset before the product. A scan over the steps.
#pragma once

#include <functional>
#include <optional>

#include "onnx/rules.h"

namespace tensorlike::onnx {

// A function of a cell, by ONNX's name, and the numbers that it may have.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};
// The functions that a node names, for each direction; `usual`: where it names none.
// ErrorKind::kArgument: there are others, or too few.
std::vector<std::vector<Activation>> activations_of(const RuleCall& call,
                                                    std::span<const std::string_view> usual,
                                                    size_t directions);

struct Cell {
  std::string_view kind;  // lstm, gru or tanh
  std::vector<Activation> functions = {};
  std::optional<double> clip = {};
  bool resets_after = false;  // a GRU: when the product is made
  bool joins_forget = false;  // an LSTM: what comes in is forgotten
};

// What one direction is given, its gates in ONNX's order.
struct Steps {
  // What a state adds to so many elements of the gates from one on, as calls of the scan's body.
  std::function<Item(Calls& calls, const Item& h, int64_t first, int64_t count)> product;
  Tensor bias, h;
  std::optional<Tensor> c = {}, peepholes = {}, lengths = {};
};

// After each step, the last one, and an LSTM's last cell.
struct States {
  Tensor all, last, cell;
};
// The states after each step, and an LSTM's cell states; `sums`: what the inputs add to the gates,
// of steps, examples and gates. Those of examples that have ended are 0.
std::vector<Tensor> scanned(Calls& calls, const Cell& cell, const Steps& given, const Tensor& sums,
                            bool is_back);

}  // namespace tensorlike::onnx
