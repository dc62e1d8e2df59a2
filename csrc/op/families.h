// Rules and kernels by the names that declarations use. A family of ops lists its own, one table
// per file; the `find_` functions of the registry look through all of them.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "op/op.h"

namespace tensorlike {

template <class Rule>
using RuleTable = std::span<const std::pair<std::string_view, Rule>>;

// Inference: op/infer*.cpp.
RuleTable<InferRule> layout_rules();
RuleTable<InferRule> indexing_rules();
RuleTable<InferRule> row_rules();
RuleTable<InferRule> attention_rules();
RuleTable<InferRule> recurrent_rules();
RuleTable<InferRule> alignment_rules();
RuleTable<InferRule> linear_algebra_rules();
RuleTable<InferRule> window_rules();
RuleTable<InferRule> scan_rules();
RuleTable<InferRule> sorting_rules();
RuleTable<InferRule> fft_rules();
RuleTable<InferRule> random_rules();
RuleTable<InferRule> linear_solver_rules();

// Hand-written gradients: tape/gradient*.cpp.
RuleTable<GradRule> layout_gradients();
RuleTable<GradRule> indexing_gradients();
RuleTable<GradRule> row_gradients();
RuleTable<GradRule> attention_gradients();
RuleTable<GradRule> recurrent_gradients();
RuleTable<GradRule> alignment_gradients();
RuleTable<GradRule> linear_algebra_gradients();
RuleTable<GradRule> convolution_gradients();
RuleTable<GradRule> scan_gradients();
RuleTable<GradRule> sorting_gradients();
RuleTable<GradRule> fft_gradients();
RuleTable<GradRule> linear_solver_gradients();
RuleTable<GradRule> spectral_gradients();
RuleTable<GradRule> determinant_gradients();

// Hand-written bodies, of ops that are gradients: beside those.
RuleTable<ExpandRule> attention_bodies();
RuleTable<ExpandRule> recurrent_bodies();
RuleTable<ExpandRule> alignment_bodies();

}  // namespace tensorlike
