// Elementwise calls of one shape that are known before they run, as those of a program are: they
// run as one tile program, to the same bits. (What the lazy engine finds as it goes is chain.h.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "op/tile_program.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

struct KnownChain {
  PreparedProgram prepared;  // its operands and outputs are the chain's
  std::vector<ChainStep> steps;
  std::vector<int> written;  // slots of the steps: the outputs, or what is reduced
  std::vector<std::string> ops;
  std::string place;  // the user's line of the last
  // What reads the one output, without its being written, in a dtype; null: outputs are written.
  Ref<const Op> reduction = {};
  DType fed = DType::kFloat32;
};

// The first operand among those of these numbers to whose memory an output with elements of so many
// bytes may be written; it is free no more. Null: none.
const Array* take_operand(const TileProgram& program, Arrays operands, std::vector<int>& free,
                          size_t bytes, int output);

// The strides of what the chain makes beside these operands, call by call; nothing: they differ.
std::optional<Dims> strides_of(const KnownChain& chain, const Dims& shape, Arrays operands);

// Runs it; operands whose bit is set in `donated` may be written over where the caller holds the
// one reference. Nothing where it has to go another way, call by call: values of another kind, on
// several devices, results that do not lie alike, an engine in another mode.
Values launch_chain(const KnownChain& chain, const Dims& shape, Args operands, uint32_t donated);
// The same of one that ends in a reduction, which gives such a result.
Ref<Value> launch_reduction(const KnownChain& chain, const Dims& shape, const Spec& result,
                            Args operands);

}  // namespace tensorlike
