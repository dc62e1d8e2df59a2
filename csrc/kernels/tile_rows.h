// Elementwise programs whose operands lie in rows, such as a column beside a part of a matrix.
#pragma once

#include "kernels/tile.h"

namespace tensorlike {

// Runs the program over `shape` as run_tiles does, where operands lie in rows that are read as they
// lie, in rows in steps, or in rows that are one number each. False: nothing was done.
bool run_rows(const TileLoops& program, std::span<const int64_t> shape,
              std::span<const TileOperand> operands, std::span<const TileOutput> outputs);

}  // namespace tensorlike
