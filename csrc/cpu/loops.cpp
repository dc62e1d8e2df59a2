#include "cpu/loops.h"

#include <algorithm>
#include <deque>

#include "cpu/reductions.h"
#include "op/families.h"
#include "op/reduction_program.h"

namespace tensorlike {
namespace {

// Declarations stay, and so do their loops.
template <class T>
T& keep() {
  static auto* kept = new std::deque<T>;
  return kept->emplace_back();
}

// Finds the dtypes for which a scalar function is one loop without casts.
void find_whole(const Scalar& scalar, ScalarLoops& found) {
  const bool is_uniform =
      scalar.spec.outputs == 1 &&
      std::none_of(scalar.spec.args.begin(), scalar.spec.args.end(),
                   [](const ArgSpec& arg) { return arg.category == Category::kBoolean; });
  for (int d = 0; is_uniform && d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    if (found.loops[dtype] == nullptr) continue;
    const std::vector<DType> args(scalar.spec.args.size(), dtype);
    try {
      if (scalar.compute_dtype(args) != dtype) continue;
    } catch (const Error&) {
      continue;  // a dtype that the function does not take
    }
    found.whole[dtype] = {found.loops[dtype], scalar.result_dtype(dtype)};
  }
}

}  // namespace

void find_loops(Scalar& scalar) {
  const auto loops = kernel_table().scalars.find(scalar.spec.name);
  if (loops == kernel_table().scalars.end()) return;
  auto& found = keep<ScalarLoops>();
  found.loops = loops->second;
  const auto numbers = kernel_table().numbers.find(scalar.spec.name);
  if (numbers != kernel_table().numbers.end()) found.numbers = numbers->second;
  find_whole(scalar, found);
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    scalar.is_compiled[dtype] = found.loops[dtype] != nullptr;
  }
  scalar.loops = &found;
}

void find_loops(Reduction& reduction) {
  auto& found = keep<ReductionLoops>();
  const auto loops = kernel_table().reductions.find(reduction.spec.name);
  if (loops != kernel_table().reductions.end()) found.kernels = loops->second;
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    const ReductionProgram* const program = reduction.programs[dtype].get();
    if (program == nullptr) continue;
    found.kernels[dtype] = {.accumulator = size_of(program->accumulator), .program = program};
  }
  reduction.loops = &found;
}

KernelRule find_kernel(OpClass& cls) {
  const std::string_view name = cls.spec.kernel;
  cls.reduce = find_reduce(name);
  if (cls.reduce != nullptr) return KernelRule(reduce_memory);
  const KernelRule* const rule = find_rule<KernelRule>(name);
  return rule == nullptr ? KernelRule() : *rule;
}

}  // namespace tensorlike
