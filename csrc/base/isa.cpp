// Asks the processor for its level, once, and lets TENSORLIKE_ISA lower it: to test the kernels of
// older machines on a new one, and to get the same bits on all of them.
#include "base/isa.h"

#include <algorithm>
#include <string_view>

#include "base/environment.h"

namespace tensorlike {
namespace {

Isa processor_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool is_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                     __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                     __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt");
  const bool is_v4 = is_v3 && __builtin_cpu_supports("avx512f") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (is_v4) return Isa::kV4;
  if (is_v3) return Isa::kV3;
#endif
  return Isa::kV2;
}

constexpr Isa kBuilt[] = {
#if defined(TL_HAS_v2)
    Isa::kV2,
#endif
#if defined(TL_HAS_v3)
    Isa::kV3,
#endif
#if defined(TL_HAS_v4)
    Isa::kV4,
#endif
};

Isa choose() {
  Isa wanted = processor_isa();
  if (const char* text = variable("TENSORLIKE_ISA")) {
    const std::string_view name = text;
    if (name == "v2") {
      wanted = Isa::kV2;
    } else if (name == "v3") {
      wanted = std::min(wanted, Isa::kV3);
    } else if (name != "v4") {
      refuse_variable("TENSORLIKE_ISA", "v2, v3 or v4");
    }
  }
  Isa chosen = kBuilt[0];
  for (Isa level : kBuilt) {
    if (level <= wanted) chosen = level;
  }
  return chosen;
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

std::span<const Isa> built_levels() { return kBuilt; }

const char* name_of(Isa level) {
  return level == Isa::kV4 ? "v4" : level == Isa::kV3 ? "v3" : "v2";
}

}  // namespace tensorlike
