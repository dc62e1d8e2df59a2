// The instruction set level that the kernels use. Each kernel is compiled once per level; this is
// the one place that asks the processor, so that all of them agree.
#pragma once

#include <span>

namespace tensorlike {

// The x86-64 levels of the psABI. Elsewhere there is one baseline, and it is called kV2.
enum class Isa { kV2, kV3, kV4 };

// Chosen once: the best level that the processor has, or a lower one named by TENSORLIKE_ISA
// (v2, v3, v4).
Isa isa();

// What this library was built for, lowest first.
std::span<const Isa> built_levels();

// "v2", "v3" or "v4".
const char* name_of(Isa level);

}  // namespace tensorlike
