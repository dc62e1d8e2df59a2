// Fourier transforms: one pass over the tensor for each axis, its lines split over the pool. Plans
// of recent lengths are kept.
#include <list>
#include <memory>
#include <mutex>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "kernels/kernel_table.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kTransformGrain = 8192;  // elements
constexpr int64_t kKept = 4'000'000;       // elements of all plans that are kept

struct Plan {
  Plan(DType dtype, int64_t length, bool is_real)
      : dtype(dtype),
        length(length),
        is_real(is_real),
        kernels(kernel_table().ffts[dtype]),
        roots(kernels.make_plan(length, is_real)) {}
  ~Plan() { kernels.free_plan(roots, is_real); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const DType dtype;  // of the real numbers
  const int64_t length;
  const bool is_real;
  const FftKernels& kernels;
  void* const roots;
};

// The plans used last, the latest first.
class PlanCache {
 public:
  std::shared_ptr<const Plan> get(DType dtype, int64_t length, bool is_real) {
    {
      const std::lock_guard lock(mutex_);
      for (auto it = plans_.begin(); it != plans_.end(); ++it) {
        const Plan& plan = **it;
        if (plan.dtype != dtype || plan.length != length || plan.is_real != is_real) continue;
        plans_.splice(plans_.begin(), plans_, it);
        return plans_.front();
      }
    }
    auto made = std::make_shared<const Plan>(dtype, length, is_real);
    const std::lock_guard lock(mutex_);
    plans_.push_front(made);
    total_ += length;
    while (total_ > kKept || plans_.size() > kMost) {
      total_ -= plans_.back()->length;
      plans_.pop_back();
    }
    return made;
  }

 private:
  static constexpr size_t kMost = 64;
  std::mutex mutex_;
  std::list<std::shared_ptr<const Plan>> plans_;
  int64_t total_ = 0;
};

PlanCache& plan_cache() {
  static PlanCache* cache = new PlanCache;
  return *cache;
}

// Transforms along one axis of a tensor of `shape`, which is the larger of the two shapes.
void run_axis(FftLines lines, const Dims& shape, size_t axis, DType dtype) {
  lines.length = shape[axis];
  lines.inner = element_count({shape.begin() + axis + 1, shape.end()});
  const int64_t size = element_count(shape);
  if (size == 0) return;
  lines.lines = size / lines.length;
  const std::shared_ptr<const Plan> plan =
      plan_cache().get(dtype, lines.length, lines.kind != FftKind::kComplex);
  const FftKernels& kernels = plan->kernels;
  const void* roots = plan->roots;
  const int64_t groups = (lines.lines + kernels.width - 1) / kernels.width;
  const int64_t grain = std::max<int64_t>(1, kTransformGrain / (lines.length * kernels.width));
  parallel_for(groups, grain,
               [&](int64_t begin, int64_t end) { kernels.run(roots, lines, begin, end); });
}

// The passes of one call. Its scale goes into the first.
class Passes {
 public:
  Passes(const Op& op, DType dtype)
      : dtype_(real_of(dtype)),
        is_inverse_(op.get<bool>("inverse")),
        scale_(op.get<double>("scale")) {}

  void run(FftKind kind, const Array& in, const Array& out, const Dims& shape, size_t axis) {
    run_axis({kind, is_inverse_, scale_, 0, 0, 0, in.data, out.data}, shape, axis, dtype_);
    scale_ = 1;
  }

 private:
  const DType dtype_;
  const bool is_inverse_;
  double scale_;
};

void fourier_transform(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const std::string& kind = op.get<std::string>("kind");
  const Array& out = *outputs[0];
  const std::vector<int64_t>& named = op.get<std::vector<int64_t>>("axes");
  if (named.empty()) {
    assign(out, *inputs[0]);
    return;
  }
  const bool is_from_real = kind == "r2c";
  const DType dtype = is_from_real ? real_of(out.dtype) : complex_of(out.dtype);
  const Array x = prepared(*inputs[0], dtype, workspace);
  SmallVector<size_t, 4> axes;
  for (int64_t axis : named) {
    axes.push_back(
        static_cast<size_t>(normalize_axis(op.name(), axis, static_cast<int64_t>(x.shape.size()))));
  }
  const bool is_to_real = kind == "c2r";
  // What comes before the last pass back to real numbers needs a place of its own.
  const Array middle = is_to_real && axes.size() > 1 ? workspace.array(dtype, x.shape) : out;
  Passes passes(op, out.dtype);
  BlockingRegion blocking(x.count > kTransformGrain);
  const Array* latest = &x;
  const size_t last = axes.back();
  if (is_from_real) {
    passes.run(FftKind::kRealToHalf, x, out, x.shape, last);
    latest = &out;
  }
  const size_t complex_passes = axes.size() - (kind == "c2c" ? 0 : 1);
  for (size_t i = complex_passes; i > 0; --i) {
    passes.run(FftKind::kComplex, *latest, middle, middle.shape, axes[i - 1]);
    latest = &middle;
  }
  if (is_to_real) passes.run(FftKind::kHalfToReal, *latest, out, out.shape, last);
}

constexpr std::pair<std::string_view, KernelRule> kFftKernels[] = {
    {"fourier_transform", fourier_transform},
};

}  // namespace

RuleTable<KernelRule> fft_kernels() { return kFftKernels; }

}  // namespace tensorlike
