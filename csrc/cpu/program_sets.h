// A program over many sets of operands: see ProgramSets in memory/backend.h.
#pragma once

#include <memory>

#include "memory/backend.h"

namespace tensorlike {

std::unique_ptr<ProgramSets> program_sets(const TileProgram& program, Arrays shared);

}  // namespace tensorlike
