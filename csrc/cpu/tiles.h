// Elementwise programs on the CPU: each instruction becomes the loop that was compiled for it.
#pragma once

#include "kernels/tile.h"
#include "memory/array.h"
#include "op/tile_program.h"

namespace tensorlike {

// The loops of a program; found when it first runs, and kept with it.
const TileLoops& loops_of(const TileProgram& program);

// An array as an operand that is broadcast to `shape`.
TileOperand tile_operand(const Array& x, const Dims& shape);

// Runs a program over `shape`, to which the operands broadcast; the outputs are in order, or all in
// the same other order of axes without gaps.
void run_program(const TileProgram& program, const Dims& shape, Arrays operands, Arrays outputs);

}  // namespace tensorlike
