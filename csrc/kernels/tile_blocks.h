// Elementwise programs whose operands lie in different orders of axes, such as x + y.T.
#pragma once

#include "kernels/tile.h"

namespace tensorlike {

// Runs the program over `shape` as run_tiles does, in blocks of two dimensions, where operands lie
// transposed and blocks pay. False: nothing was done.
bool run_blocks(const TileLoops& program, std::span<const int64_t> shape,
                std::span<const TileOperand> operands, std::span<const TileOutput> outputs);

}  // namespace tensorlike
