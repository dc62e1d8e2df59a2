// The CPU kernels of all families by name.
#include "op/families.h"
#include "op/registry.h"
#include "tensor/reductions.h"

namespace tensorlike {

KernelRule find_kernel(std::string_view name) {
  if (find_reduce(name) != nullptr) return KernelRule(reduce_memory);
  for (const auto& family : {
           layout_kernels(),    matmul_kernels(),      gather_kernels(),
           scatter_kernels(),   mask_kernels(),        pad_kernels(),
           row_kernels(),       attention_kernels(),   recurrent_kernels(),
           alignment_kernels(), convolution_kernels(), pooling_kernels(),
           scan_kernels(),      search_kernels(),      sorting_kernels(),
           fft_kernels(),       random_kernels(),      linear_solver_kernels(),
           spectral_kernels(),  determinant_kernels(), matrix_exp_kernels(),
       }) {
    for (const auto& [key, kernel] : family) {
      if (key == name) return kernel;
    }
  }
  return {};
}

}  // namespace tensorlike
