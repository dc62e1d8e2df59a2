// sort and argsort: an axis is moved to the end, and its rows are ordered.
#include "cpu/order.h"
#include "op/families.h"

namespace tensorlike {
namespace {

void sort(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const size_t axis = order_axis(op, *inputs[0]);
  const Array rows = order_rows(*inputs[0], axis, workspace);
  write_as(swap_last(*outputs[0], axis), rows.dtype, workspace, [&](const Array& out) {
    sort_rows(rows, rows.shape.back(), op.get<bool>("descending"), out);
  });
}

void argsort(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const size_t axis = order_axis(op, *inputs[0]);
  const Array rows = order_rows(*inputs[0], axis, workspace);
  write_as(swap_last(*outputs[0], axis), DType::kInt64, workspace, [&](const Array& out) {
    argsort_rows(rows, rows.shape.back(), op.get<bool>("descending"), out.as<int64_t>());
  });
}

constexpr std::pair<std::string_view, KernelRule> kSortingKernels[] = {
    {"sort", sort},
    {"arg_sort", argsort},
};

}  // namespace

RuleTable<KernelRule> sorting_kernels() { return kSortingKernels; }

}  // namespace tensorlike
