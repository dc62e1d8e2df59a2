// Elementwise programs of one loop, such as a row or a column beside a matrix.
#pragma once

#include "kernels/tile.h"

namespace tensorlike {

// Whether the elements of a row are neither neighbours nor one number, and none along another
// dimension lie closer together.
bool is_in_steps(const TileOperand& operand);

// Runs the program over `shape` as run_tiles does, where it is one loop and operands lie in rows
// that are read as they lie, in rows in steps, or in rows that are one number each. False: nothing
// was done.
bool run_rows(const TileLoops& program, std::span<const int64_t> shape,
              std::span<const TileOperand> operands, std::span<const TileOutput> outputs);

}  // namespace tensorlike
