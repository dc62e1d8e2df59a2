// Elementwise programs of one operand of bytes: a table of what each of the 256 gives.
#pragma once

#include "memory/array.h"
#include "op/tile_program.h"

namespace tensorlike {

// Runs such a program by a table. False: it is none, or the elements are too few for a table.
bool run_by_table(const TileProgram& program, const Dims& shape, Arrays operands, Arrays outputs);

}  // namespace tensorlike
