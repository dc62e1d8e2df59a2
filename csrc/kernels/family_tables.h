// Kernels that only the files of one family of ops call, by family and dtype. They stand beside
// the kernel table so that a new family does not recompile what has nothing to do with it.
#pragma once

#include "kernels/fft.h"
#include "kernels/kernel_table.h"
#include "kernels/random.h"

namespace tensorlike {

struct FamilyTables {
  ByDType<FftKernels> ffts;       // by the dtype of the real numbers
  ByDType<RandomKernels> random;  // by what comes out
};

// The tables of the level that this process runs at.
const FamilyTables& family_tables();

}  // namespace tensorlike
