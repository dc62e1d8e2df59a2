// The CPU kernels of all families by name.
#include "op/families.h"
#include "op/registry.h"
#include "tensor/reductions.h"

namespace tensorlike {

KernelRule find_kernel(std::string_view name) {
  if (find_reduce(name) != nullptr) return KernelRule(reduce_memory);
  const KernelRule* const rule = find_rule<KernelRule>(name);
  return rule == nullptr ? KernelRule() : *rule;
}

}  // namespace tensorlike
