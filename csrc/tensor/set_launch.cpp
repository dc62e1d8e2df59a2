#include "tensor/set_launch.h"

#include <algorithm>

#include "op/tile_program.h"
#include "tensor/kernel_run.h"

namespace tensorlike {
namespace {

constexpr int64_t kMost = 16384;  // elements: of more, threads take parts

// The program on the CPU, where its results may take that memory and are of that dtype.
std::unique_ptr<ProgramSets> prepare_sets(const Op& op, RawArgs shared, std::span<const int> over,
                                          DType dtype) {
  SmallVector<DType, 16> dtypes;
  SmallVector<const Array*, 16> arrays(shared.begin(), shared.end());
  for (const RawTensor* x : shared) dtypes.push_back(x == nullptr ? dtype : x->dtype);
  const auto& [program, results] = prepare(*op.scalar, {dtypes.data(), dtypes.size()});
  for (size_t k = 0; k < over.size(); ++k) {
    const bool fits = results[k] == dtype && may_write_over(program, over[k], static_cast<int>(k));
    if (!fits) return nullptr;
  }
  return backend(Device()).run_sets(program, {arrays.data(), arrays.size()});
}

}  // namespace

SetLaunch::SetLaunch(const Op& op, RawArgs shared, std::span<const int> over, DType dtype)
    : dtype_(dtype), over_(over.begin(), over.end()) {
  for (size_t i = 0; i < shared.size(); ++i) {
    if (shared[i] == nullptr) differing_.push_back(static_cast<int>(i));
  }
  try {
    program_ = prepare_sets(op, shared, over, dtype);
  } catch (const Error&) {
    program_ = nullptr;  // `execute` says what is wrong
  }
}

bool SetLaunch::takes(RawArgs set) const {
  const RawTensor& first = *set[static_cast<size_t>(over_[0])];
  if (first.count == 0 || first.count > kMost) return false;
  for (const int i : differing_) {
    const RawTensor& x = *set[static_cast<size_t>(i)];
    const bool is_alike = x.dtype == dtype_ && x.device.is_cpu() && !x.pending && x.is_contiguous &&
                          x.shape == first.shape;
    if (!is_alike) return false;
  }
  return std::all_of(over_.begin(), over_.end(), [&](int i) {
    const RawTensor& x = *set[static_cast<size_t>(i)];
    return is_ours(x, 1) && x.forms == nullptr && x.data == x.storage->data();
  });
}

bool SetLaunch::run(RawArgs set, Values& results) {
  if (program_ == nullptr || !takes(set)) return false;
  SmallVector<const Array*, 4> read;
  SmallVector<const Array*, 4> written;
  for (const int i : differing_) read.push_back(set[static_cast<size_t>(i)]);
  for (const int i : over_) {
    const RawTensor& x = *set[static_cast<size_t>(i)];
    written.push_back(&x);
    results.push_back(make_ref<RawTensor>(dtype_, x.shape, x.strides, x.count, x.storage));
  }
  program_->run({read.data(), read.size()}, {written.data(), written.size()});
  return true;
}

}  // namespace tensorlike
