// What the cells of recurrences have: read once here, for inference, kernels and gradients.
#pragma once

#include "op/op.h"

namespace tensorlike {

enum class CellKind : uint8_t { kLSTM, kGRU, kTanh, kRelu };

struct Cell {
  CellKind kind;
  int64_t
      products;   // rows of the weight by the hidden size: what the hidden state is multiplied to
  int64_t gates;  // columns of the gates that backward passes read, by the hidden size

  bool is_lstm() const { return kind == CellKind::kLSTM; }
  bool is_gru() const { return kind == CellKind::kGRU; }
  bool has_gates() const { return gates > 0; }
  // Tensors behind sums, weight and hidden: an LSTM's cell state, a GRU's bias.
  size_t rest() const { return has_gates() ? 1 : 0; }
};

// The cell that the op's attribute names.
Cell cell_of(const Op& op);

}  // namespace tensorlike
