// A reduction declared at run time: map, combine and finish as tile programs, in place of compiled
// loops.
#pragma once

#include "op/op.h"
#include "op/tile_program.h"

namespace tensorlike {

// For elements of one dtype. As the compiled loops do, sums and products of floats and of integers
// accumulate in the widest dtype of their kind; everything else as it is mapped.
struct ReductionProgram {
  DType element;
  DType accumulator;
  DType result;
  alignas(16) unsigned char first[16] = {};  // the identity
  PreparedProgram map;                       // an element -> what is combined
  PreparedProgram combine;                   // two of these -> one
  PreparedProgram finish;                    // the last one, and how many (int64) -> the result
};

// Makes the programs of a reduction that has bodies, for every dtype that it takes.
void prepare_reduction(Reduction& reduction);

}  // namespace tensorlike
