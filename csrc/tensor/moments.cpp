// The variance along any axes and its root, deterministic for any number of threads.
#include <cmath>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "op/families.h"
#include "op/infer.h"
#include "tensor/layout.h"
#include "tensor/reduce.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kChunk = 65536;  // elements of a long row that are looked at together
constexpr int64_t kColumns = 512;
constexpr int64_t kFewColumns = 8;  // fewer are copied into rows

class Measurer {
 public:
  Measurer(const RawTensor& x, const ReducePlan& plan, double correction, bool takes_root,
           RawTensor& out)
      : x_(x),
        plan_(plan),
        kernels_(kernel_table().moments[x.dtype]),
        correction_(correction),
        takes_root_(takes_root),
        out_(out),
        count_(element_count(plan.shape)) {}

  void run() const {
    BlockingRegion blocking(x_.size() > kGrain);
    if (count_ > 0 && plan_.has_columns()) {
      columns();
    } else {
      rows();
    }
  }

 private:
  int64_t size() const { return static_cast<int64_t>(size_of(x_.dtype)); }
  const char* kept_data(int64_t i) const {
    return x_.data + offset_of(i, plan_.kept_shape, plan_.kept_strides) * size();
  }

  // With fewer elements than the correction there is no variance: NaN, or infinity.
  void write(int64_t i, double squares) const {
    const double divisor = static_cast<double>(count_) - correction_;
    const double variance = squares / (divisor > 0 ? divisor : 0.0);
    const double result = takes_root_ ? std::sqrt(variance) : variance;
    if (out_.dtype == DType::kFloat32) {
      out_.as<float>()[i] = static_cast<float>(result);
    } else {
      out_.as<double>()[i] = result;
    }
  }

  void rows() const {
    const int64_t chunks = std::max<int64_t>(1, (count_ + kChunk - 1) / kChunk);
    const int64_t length = std::min(count_, kChunk);
    std::vector<Moments> parts(static_cast<size_t>(out_.size() * chunks));
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(length, 1));
    parallel_for(out_.size() * chunks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t first = job % chunks * kChunk;
        parts[static_cast<size_t>(job)] = kernels_.row(kept_data(job / chunks) + first * size(),
                                                       std::min(kChunk, count_ - first));
      }
    });
    for (int64_t i = 0; i < out_.size(); ++i) {
      Moments total;
      for (int64_t c = 0; c < chunks; ++c) join(total, parts[static_cast<size_t>(i * chunks + c)]);
      write(i, total.squares);
    }
  }

  void columns() const {
    const int64_t inner = plan_.kept_shape.back();
    const int64_t tiles = (inner + kColumns - 1) / kColumns;
    const int64_t width = std::min(inner, kColumns);
    const int64_t length = std::max<int64_t>(64, 2 * kChunk / width);
    const int64_t parts = (count_ + length - 1) / length;
    const int64_t jobs = out_.size() / inner * tiles * parts;
    // Of each job the means, then the squares, of its columns.
    std::vector<double> found(static_cast<size_t>(jobs * 2 * width));
    const int64_t work = std::min(count_, length) * width;
    parallel_for(jobs, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t at = job / parts % tiles * kColumns;
        const char* column = kept_data(job / parts / tiles * inner + at);
        double* means = found.data() + job * 2 * width;
        const int64_t first = job % parts * length;
        for (int64_t r = first; r < std::min(count_, first + length); ++r) {
          kernels_.rows(means, means + width,
                        column + offset_of(r, plan_.shape, plan_.strides) * size(),
                        std::min(kColumns, inner - at), r - first + 1);
        }
      }
    });
    for (int64_t job = 0; job < jobs; job += parts) {
      const int64_t at = job / parts % tiles * kColumns;
      for (int64_t j = 0; j < std::min(kColumns, inner - at); ++j) {
        Moments total;
        for (int64_t p = 0; p < parts; ++p) {
          const double* means = found.data() + (job + p) * 2 * width;
          const int64_t count = std::min(length, count_ - p * length);
          join(total, {static_cast<double>(count), means[j], means[width + j]});
        }
        write(job / parts / tiles * inner + at + j, total.squares);
      }
    }
  }

  const RawTensor& x_;
  const ReducePlan& plan_;
  const MomentKernels& kernels_;
  const double correction_;
  const bool takes_root_;
  RawTensor& out_;
  const int64_t count_;
};

// x with the reduced axes at the end, copied, so that they are rows.
Ref<RawTensor> reduced_last(const RawTensor& x, const Dims& axes) {
  Dims shape, strides;
  for (bool takes_reduced : {false, true}) {
    for (size_t i = 0; i < x.shape.size(); ++i) {
      const bool is_reduced =
          std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
      if (is_reduced != takes_reduced) continue;
      shape.push_back(x.shape[i]);
      strides.push_back(x.strides[i]);
    }
  }
  return copy(*x.view(shape, strides));
}

template <bool kTakesRoot>
Values moments(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  Ref<RawTensor> x = cast_if_needed(*inputs[0], dtype);
  Dims axes = named_axes(op, static_cast<int64_t>(x->shape.size()));
  ReducePlan plan = plan_reduction(x->shape, x->strides, axes);
  if (!plan.has_rows() && !(plan.has_columns() && plan.kept_shape.back() >= kFewColumns)) {
    x = reduced_last(*x, axes);
    const size_t kept = x->shape.size() - axes.size();
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(kept + i);
    plan = plan_reduction(x->shape, x->strides, axes);
  }
  const Ref<RawTensor> out = RawTensor::empty(dtype, outputs[0].shape);
  if (out->size() > 0) Measurer(*x, plan, op.get<double>("correction"), kTakesRoot, *out).run();
  return one(cast_if_needed(*out, outputs[0].dtype));
}

constexpr std::pair<std::string_view, Kernel> kKernels[] = {
    {"variance", moments<false>},
    {"standard_deviation", moments<true>},
};

}  // namespace

RuleTable<Kernel> moment_kernels() { return kKernels; }

}  // namespace tensorlike
