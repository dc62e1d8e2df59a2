// Kernels of the ops that go over rows: softmax and its kin, norms, dropout.
#include "op/rows.h"

#include <algorithm>
#include <cmath>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "op/families.h"
#include "tensor/layout.h"
#include "tensor/row_run.h"

namespace tensorlike {
namespace {

Dims axes_of(const Op& op, const RawTensor& x) {
  return row_axes(op, static_cast<int64_t>(x.shape.size()));
}

// Results that were computed in a wider dtype, in their own.
Values finished(Values results, const Specs& outputs) {
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = cast_if_needed(static_cast<RawTensor&>(*results[i]), outputs[i].dtype);
  }
  return results;
}

// Programs from rows to rows: all inputs and the output have one shape.
template <RowProgram RowPrograms::* kProgram>
Values rows(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  Ref<RawTensor> out = RawTensor::empty(dtype, outputs[0].shape);
  if (out->size() == 0) return one(cast_if_needed(*out, outputs[0].dtype));
  RowRun run(out->shape, axes_of(op, *inputs[0]));
  for (RawTensor* input : inputs) run.read(*cast_if_needed(*input, dtype));
  run.write(*out);
  run.run(kernel_table().rows[dtype].*kProgram);
  return one(cast_if_needed(*out, outputs[0].dtype));
}

// The labels, checked, with a last axis of size 1; those of rows to be left out are -1.
Ref<RawTensor> checked_labels(const Op& op, const RawTensor& labels, int64_t classes) {
  Ref<RawTensor> found = contiguous(*cast_if_needed(labels, DType::kInt64));
  const int64_t ignored = op.get<int64_t>("ignore_index");
  const int64_t count = found->size();
  const int64_t* label = found->as<int64_t>();
  bool are_all_kept = true;
  for (int64_t r = 0; r < count; ++r) {
    are_all_kept = are_all_kept && label[r] != ignored;
    if (label[r] == ignored || (label[r] >= 0 && label[r] < classes)) continue;
    fail(ErrorKind::kIndex, said::op(op.name()), said::argument("labels"), "must be in [0, ",
         classes - 1, "] or ignore_index=", ignored, said::got(label[r], " at position ", r));
  }
  if (!are_all_kept) {
    const Ref<RawTensor> marked = RawTensor::empty(DType::kInt64, found->shape);
    std::replace_copy(label, label + count, marked->as<int64_t>(), ignored, int64_t{-1});
    found = marked;
  }
  Dims shape = found->shape;
  shape.push_back(1);
  return found->view(shape, contiguous_strides(shape));
}

// The loss of each row; labels as checked_labels gives them.
Ref<RawTensor> row_losses(const RawTensor& given, const RawTensor& labels, DType dtype) {
  const Ref<RawTensor> logits = cast_if_needed(given, dtype);
  const Ref<RawTensor> losses = RawTensor::empty(dtype, labels.shape);
  RowRun run(logits->shape, {static_cast<int64_t>(logits->shape.size()) - 1});
  run.read(*logits);
  run.read_each(labels);
  run.write_each(*losses);
  run.run(kernel_table().rows[dtype].cross_entropy);
  return losses;
}

Values cross_entropy_rows(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const Ref<RawTensor> labels = checked_labels(op, *inputs[1], inputs[0]->shape.back());
  const Ref<RawTensor> losses = row_losses(*inputs[0], *labels, compute_of(outputs[0].dtype));
  const Dims& shape = inputs[1]->shape;
  return one(cast_if_needed(*losses->view(shape, contiguous_strides(shape)), outputs[0].dtype));
}

Values cross_entropy(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Ref<RawTensor> labels = checked_labels(op, *inputs[1], inputs[0]->shape.back());
  const Ref<RawTensor> losses = row_losses(*inputs[0], *labels, dtype);
  double total = 0;
  int64_t rows = 0;
  for (int64_t r = 0; r < losses->size(); ++r) {
    total += dtype == DType::kFloat32 ? double{losses->as<float>()[r]} : losses->as<double>()[r];
    rows += labels->as<int64_t>()[r] >= 0 ? 1 : 0;
  }
  return one(RawTensor::scalar(outputs[0].dtype, total / static_cast<double>(rows)));
}

Values cross_entropy_grad(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Ref<RawTensor> logits = cast_if_needed(*inputs[0], dtype);
  const Ref<RawTensor> labels = checked_labels(op, *inputs[1], logits->shape.back());
  const Ref<RawTensor> dy = contiguous(*cast_if_needed(*inputs[2], dtype));
  const Ref<RawTensor> out = RawTensor::empty(dtype, outputs[0].shape);
  RowRun run(logits->shape, {static_cast<int64_t>(logits->shape.size()) - 1});
  run.read(*logits);
  run.read_each(*labels);
  run.read_each(*dy->view(labels->shape, labels->strides));
  run.write(*out);
  run.run(kernel_table().rows[dtype].cross_entropy_grad);
  return one(cast_if_needed(*out, outputs[0].dtype));
}

// ---- norms --------------------------------------------------------------------------------------

// Whether x, broadcast, is one number along the axes.
bool is_constant_along(const RawTensor& x, size_t ndim, const Dims& axes) {
  const size_t lead = ndim - x.shape.size();
  return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
    const size_t i = static_cast<size_t>(axis);
    return i < lead || x.shape[i - lead] == 1;
  });
}

struct NormKind {
  NormPrograms::Affine NormPrograms::* shared;
  NormPrograms::Affine NormPrograms::* each;
};
constexpr NormKind kLayer = {&NormPrograms::layer_shared, &NormPrograms::layer_each};
constexpr NormKind kRms = {&NormPrograms::rms_shared, &NormPrograms::rms_each};

template <const NormKind& kKind>
Values norm(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Dims axes = axes_of(op, *inputs[0]);
  Values held;
  for (const Spec& spec : outputs) {
    held.push_back(RawTensor::empty(dtype, spec.shape));
  }
  auto output = [&](size_t i) -> RawTensor& { return static_cast<RawTensor&>(*held[i]); };
  RowRun run(inputs[0]->shape, axes);
  run.read(*cast_if_needed(*inputs[0], dtype));
  bool is_each = true;
  for (RawTensor* parameter : inputs.subspan(1)) {
    is_each = is_each && is_constant_along(*parameter, inputs[0]->shape.size(), axes);
  }
  for (RawTensor* parameter : inputs.subspan(1)) {
    const Ref<RawTensor> same = cast_if_needed(*parameter, dtype);
    is_each ? run.read_each(*same) : run.read(*same);
  }
  run.write(output(0));
  for (size_t i = 1; i < outputs.size(); ++i) run.write_each(output(i));
  const NormPrograms& programs = kernel_table().norms[dtype];
  run.run((programs.*(is_each ? kKind.each : kKind.shared)).forward, op.get<double>("eps"));
  return finished(std::move(held), outputs);
}

template <const NormKind& kKind>
Values norm_grad(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Dims axes = axes_of(op, *inputs[0]);
  Dims summed = sum_axes(op, static_cast<int64_t>(inputs[0]->shape.size()));
  Dims in_row = axes;
  std::sort(summed.begin(), summed.end());
  std::sort(in_row.begin(), in_row.end());
  const bool is_each = summed == in_row;
  Values results;
  RowRun run(inputs[0]->shape, axes);
  run.read(*cast_if_needed(*inputs[0], dtype));
  const Ref<RawTensor> weight = cast_if_needed(*inputs[1], dtype);
  is_each ? run.read_each(*weight) : run.read(*weight);
  run.read(*cast_if_needed(*inputs[2], dtype));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Ref<RawTensor> out = RawTensor::empty(dtype, outputs[i].shape);
    if (i == 0) run.write(*out);
    if (i > 0) is_each ? run.write_each(*out) : run.add_up(*out);
    results.push_back(out);
  }
  const NormPrograms& programs = kernel_table().norms[dtype];
  run.run((programs.*(is_each ? kKind.each : kKind.shared)).backward, op.get<double>("eps"));
  return finished(std::move(results), outputs);
}

// ---- dropout ------------------------------------------------------------------------------------

Values dropout(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const double p = op.get<double>("p");
  const uint64_t key = static_cast<uint64_t>(op.get<int64_t>("seed"));
  const Ref<RawTensor> x = contiguous(*cast_if_needed(*inputs[0], dtype));
  const Ref<RawTensor> out = RawTensor::empty(dtype, outputs[0].shape);
  const int64_t bytes = static_cast<int64_t>(size_of(dtype));
  const double cases = std::round(p * 0x1p32);
  if (cases >= 0x1p32) {
    std::fill_n(out->data, out->size() * bytes, '\0');
    return one(cast_if_needed(*out, outputs[0].dtype));
  }
  const DropoutKernel kernel = kernel_table().dropout[dtype];
  BlockingRegion blocking(x->size() > 16384);
  parallel_for(x->size(), 16384, [&](int64_t begin, int64_t end) {
    kernel(out->data + begin * bytes, x->data + begin * bytes, end - begin, key, begin,
           static_cast<uint32_t>(cases), 1.0 / (1.0 - p));
  });
  return one(cast_if_needed(*out, outputs[0].dtype));
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"softmax", rows<&RowPrograms::softmax>},
    {"log_softmax", rows<&RowPrograms::log_softmax>},
    {"softmax_grad", rows<&RowPrograms::softmax_grad>},
    {"log_softmax_grad", rows<&RowPrograms::log_softmax_grad>},
    {"cross_entropy", cross_entropy},
    {"cross_entropy_rows", cross_entropy_rows},
    {"cross_entropy_grad", cross_entropy_grad},
    {"layer_norm", norm<kLayer>},
    {"layer_norm_grad", norm_grad<kLayer>},
    {"rms_norm", norm<kRms>},
    {"rms_norm_grad", norm_grad<kRms>},
    {"dropout", dropout},
};

}  // namespace

RuleTable<KernelRule> row_kernels() { return kKernels; }

}  // namespace tensorlike
