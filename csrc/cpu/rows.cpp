// Kernels of the ops that go over rows: softmax and its kin, norms, dropout.
#include "op/rows.h"

#include <algorithm>
#include <cmath>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/row_run.h"
#include "kernels/kernel_table.h"
#include "op/families.h"

namespace tensorlike {
namespace {

Dims axes_of(const Op& op, const Array& x) {
  return row_axes(op, static_cast<int64_t>(x.shape.size()));
}

// Programs from rows to rows: all inputs and the output have one shape.
template <RowProgram RowPrograms::* kProgram, ColumnProgram ColumnPrograms::* kColumns>
void rows(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  if (out.count == 0) return;
  RowRun run(out.shape, axes_of(op, out), workspace);
  for (const Array* input : inputs) run.read(*input);
  run.write(out);
  run.run(kernel_table().rows[out.dtype].*kProgram, 0, kernel_table().columns[out.dtype].*kColumns);
}

// The labels, checked, with a last axis of size 1; those of rows to be left out are -1.
Array checked_labels(const Op& op, const Array& labels, int64_t classes, Workspace& workspace) {
  Array found = prepared(labels, DType::kInt64, workspace);
  const int64_t ignored = op.get<int64_t>("ignore_index");
  const int64_t* label = found.as<int64_t>();
  bool are_all_kept = true;
  for (int64_t r = 0; r < found.count; ++r) {
    are_all_kept = are_all_kept && label[r] != ignored;
    if (label[r] == ignored || (label[r] >= 0 && label[r] < classes)) continue;
    fail(ErrorKind::kIndex, said::op(op.name()), said::argument("labels"), "must be in [0, ",
         classes - 1, "] or ignore_index=", ignored, said::got(label[r], " at position ", r));
  }
  if (!are_all_kept) {
    found = workspace.array(DType::kInt64, labels.shape);
    std::replace_copy(label, label + found.count, found.as<int64_t>(), ignored, int64_t{-1});
  }
  Dims shape = found.shape;
  shape.push_back(1);
  return {DType::kInt64, shape, found.data};
}

// The loss of each row; labels as checked_labels gives them, losses of their shape.
void row_losses(const Array& logits, const Array& labels, const Array& losses,
                Workspace& workspace) {
  RowRun run(logits.shape, {static_cast<int64_t>(logits.shape.size()) - 1}, workspace);
  run.read(logits);
  run.read_each(labels);
  run.write_each(losses);
  run.run(kernel_table().rows[losses.dtype].cross_entropy);
}

void cross_entropy_rows(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& logits = *inputs[0];
  const Array labels = checked_labels(op, *inputs[1], logits.shape.back(), workspace);
  row_losses(logits, labels, outputs[0]->view(labels.shape, labels.strides), workspace);
}

// Converts by itself, so that the mean of a half is rounded once.
void cross_entropy(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const DType dtype = compute_of(out.dtype);
  const Array logits = cast(*inputs[0], dtype, workspace);
  const Array labels = checked_labels(op, *inputs[1], logits.shape.back(), workspace);
  const Array losses = workspace.array(dtype, labels.shape);
  row_losses(logits, labels, losses, workspace);
  double total = 0;
  int64_t rows = 0;
  for (int64_t r = 0; r < losses.count; ++r) {
    total += dtype == DType::kFloat32 ? double{losses.as<float>()[r]} : losses.as<double>()[r];
    rows += labels.as<int64_t>()[r] >= 0 ? 1 : 0;
  }
  visit_dtype(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *out.as<T>() = literal_as<T>(total / static_cast<double>(rows));
  });
}

void cross_entropy_grad(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& logits = *inputs[0];
  const Array labels = checked_labels(op, *inputs[1], logits.shape.back(), workspace);
  RowRun run(logits.shape, {static_cast<int64_t>(logits.shape.size()) - 1}, workspace);
  run.read(logits);
  run.read_each(labels);
  run.read_each(inputs[2]->view(labels.shape, labels.strides));
  run.write(*outputs[0]);
  run.run(kernel_table().rows[logits.dtype].cross_entropy_grad);
}

// ---- norms --------------------------------------------------------------------------------------

constexpr int64_t kLeastRun = 8;  // shorter ones are quicker as whole rows of weights

// Whether x, broadcast to `ndim` dimensions, is one number along the axis.
bool is_constant_along(const Array& x, size_t ndim, int64_t axis) {
  const size_t i = static_cast<size_t>(axis);
  const size_t lead = ndim - x.shape.size();
  return i < lead || x.shape[i - lead] == 1;
}

// The last of the axes of a row along which all parameters are constant.
Dims run_axes(const Dims& axes, Arrays parameters, size_t ndim) {
  Dims sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  size_t first = sorted.size();
  while (first > 0 && std::all_of(parameters.begin(), parameters.end(), [&](const Array* x) {
           return is_constant_along(*x, ndim, sorted[first - 1]);
         })) {
    --first;
  }
  return Dims(sorted.begin() + first, sorted.end());
}

enum class Weights : unsigned char { kShared, kEach, kRuns };

// The programs by what weights have.
struct NormKind {
  NormPrograms::Affine NormPrograms::* programs[3];
  ColumnPrograms::Norm ColumnPrograms::* beside;

  const NormPrograms::Affine& of(DType dtype, Weights weights) const {
    return kernel_table().norms[dtype].*programs[static_cast<size_t>(weights)];
  }
  // Where weights are one a row.
  ColumnProgram columns(DType dtype, Weights weights,
                        ColumnProgram ColumnPrograms::Norm::* pass) const {
    return weights == Weights::kEach ? (kernel_table().columns[dtype].*beside).*pass : nullptr;
  }
};
constexpr NormKind kLayer = {
    {&NormPrograms::layer_shared, &NormPrograms::layer_each, &NormPrograms::layer_runs},
    &ColumnPrograms::layer};
constexpr NormKind kRms = {
    {&NormPrograms::rms_shared, &NormPrograms::rms_each, &NormPrograms::rms_runs},
    &ColumnPrograms::rms};

void read_parameter(RowRun& run, const Array& x, Weights weights) {
  weights == Weights::kEach   ? run.read_each(x)
  : weights == Weights::kRuns ? run.read_runs(x)
                              : run.read(x);
}

// Results of other dtypes, as a batch norm's statistics may be, are computed in the first one's,
// too.
template <const NormKind& kKind>
void norm(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Dims& shape = inputs[0]->shape;
  const DType dtype = compute_of(outputs[0]->dtype);
  const Dims axes = axes_of(op, *inputs[0]);
  std::vector<Array> wide;  // none where all have the dtype
  SmallVector<const Array*, 4> computed(outputs.begin(), outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]->dtype == dtype) continue;
    wide.resize(outputs.size());
    wide[i] = workspace.array(dtype, outputs[i]->shape);
    computed[i] = &wide[i];
  }
  const auto read_as = [&](const Array& x, auto&& read) {
    x.dtype == dtype ? read(x) : read(cast(x, dtype, workspace));
  };
  RowRun run(shape, axes, workspace);
  read_as(*inputs[0], [&](const Array& x) { run.read(x); });
  const Arrays parameters = inputs.subspan(1);
  const Dims runs = run_axes(axes, parameters, shape.size());
  int64_t length = 1;
  for (int64_t axis : runs) length *= shape[static_cast<size_t>(axis)];
  const Weights weights = runs.size() == axes.size() ? Weights::kEach
                          : length >= kLeastRun      ? Weights::kRuns
                                                     : Weights::kShared;
  if (weights == Weights::kRuns) run.set_runs(runs);
  for (const Array* parameter : parameters) {
    read_as(*parameter, [&](const Array& x) { read_parameter(run, x, weights); });
  }
  run.write(*computed[0]);
  for (size_t i = 1; i < computed.size(); ++i) run.write_each(*computed[i]);
  run.run(kKind.of(dtype, weights).forward, op.get<double>("eps"),
          kKind.columns(dtype, weights, &ColumnPrograms::Norm::forward));
  for (size_t i = 0; i < computed.size(); ++i) {
    if (computed[i] != outputs[i]) assign(*outputs[i], *computed[i]);
  }
}

template <const NormKind& kKind>
void norm_grad(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  if (inputs[0]->count == 0) {  // sums over nothing
    for (const Array* out : outputs) assign(*out, Literal{int64_t{0}});
    return;
  }
  const Dims axes = axes_of(op, *inputs[0]);
  Dims summed = sum_axes(op, static_cast<int64_t>(inputs[0]->shape.size()));
  Dims in_row = axes;
  std::sort(summed.begin(), summed.end());
  std::sort(in_row.begin(), in_row.end());
  const bool is_within = std::includes(in_row.begin(), in_row.end(), summed.begin(), summed.end());
  const Weights weights = summed == in_row                 ? Weights::kEach
                          : is_within && summed.size() > 0 ? Weights::kRuns
                                                           : Weights::kShared;
  RowRun run(inputs[0]->shape, axes, workspace);
  if (weights == Weights::kRuns) run.set_runs(summed);
  run.read(*inputs[0]);
  read_parameter(run, *inputs[1], weights);
  run.read(*inputs[2]);
  run.write(*outputs[0]);
  for (const Array* sum : outputs.subspan(1)) {
    weights == Weights::kEach   ? run.write_each(*sum)
    : weights == Weights::kRuns ? run.write_runs(*sum)
                                : run.add_up(*sum);
  }
  const DType dtype = outputs[0]->dtype;
  run.run(kKind.of(dtype, weights).backward, op.get<double>("eps"),
          kKind.columns(dtype, weights, &ColumnPrograms::Norm::backward));
}

// ---- dropout ------------------------------------------------------------------------------------

void dropout(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Array& x = *inputs[0];
  const Array& out = *outputs[0];
  const double p = op.get<double>("p");
  const uint64_t key = static_cast<uint64_t>(op.get<int64_t>("seed"));
  const int64_t bytes = static_cast<int64_t>(size_of(out.dtype));
  const double cases = std::round(p * 0x1p32);
  if (cases >= 0x1p32) {
    std::fill_n(out.data, out.count * bytes, '\0');
    return;
  }
  const DropoutKernel kernel = kernel_table().dropout[out.dtype];
  BlockingRegion blocking(x.count > 16384);
  parallel_for(x.count, 16384, [&](int64_t begin, int64_t end) {
    kernel(out.data + begin * bytes, x.data + begin * bytes, end - begin, key, begin,
           static_cast<uint32_t>(cases), 1.0 / (1.0 - p));
  });
}

constexpr std::pair<std::string_view, KernelRule> kRowKernels[] = {
    {"softmax", rows<&RowPrograms::softmax, &ColumnPrograms::softmax>},
    {"log_softmax", rows<&RowPrograms::log_softmax, &ColumnPrograms::log_softmax>},
    {"softmax_grad", rows<&RowPrograms::softmax_grad, &ColumnPrograms::softmax_grad>},
    {"log_softmax_grad", rows<&RowPrograms::log_softmax_grad, &ColumnPrograms::log_softmax_grad>},
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

RuleTable<KernelRule> row_kernels() { return kRowKernels; }

}  // namespace tensorlike
