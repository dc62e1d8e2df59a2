// Gradient rules and bodies written in code, by the names that declarations use.
#include "op/families.h"
#include "op/registry.h"

namespace tensorlike {

const GradRule* find_grad(std::string_view name) {
  for (const auto& family : {
           layout_gradients(),
           indexing_gradients(),
           linear_algebra_gradients(),
           row_gradients(),
           attention_gradients(),
           recurrent_gradients(),
           convolution_gradients(),
           scan_gradients(),
           fft_gradients(),
           linear_solver_gradients(),
           spectral_gradients(),
           determinant_gradients(),
       }) {
    for (const auto& [key, rule] : family) {
      if (key == name) return &rule;
    }
  }
  return nullptr;
}

ExpandRule find_expand(std::string_view name) {
  for (const auto& family : {attention_bodies(), recurrent_bodies(), alignment_bodies()}) {
    for (const auto& [key, rule] : family) {
      if (key == name) return rule;
    }
  }
  return nullptr;
}

}  // namespace tensorlike
