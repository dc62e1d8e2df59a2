// sort, argsort and topk: an axis is moved to the end, and its rows are ordered.
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/families.h"
#include "tensor/layout.h"
#include "tensor/order.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kChunk = 131072;  // elements of a long row that one thread selects from
constexpr int64_t kFewBest = 1024;  // more than these are not selected chunk by chunk

size_t axis_of(const Op& op, const RawTensor& x) {
  return static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(x.shape.size())));
}

// The elements along an axis as contiguous rows, in a dtype that has an order.
Ref<RawTensor> as_rows(const RawTensor& x, size_t axis) {
  const Ref<RawTensor> ordered = cast_if_needed(x, order_dtype(x.dtype));
  return contiguous(*swap_last(*ordered, axis));
}

Values sort(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const size_t axis = axis_of(op, *inputs[0]);
  const Ref<RawTensor> rows = as_rows(*inputs[0], axis);
  const Ref<RawTensor> out = RawTensor::empty(rows->dtype, rows->shape);
  sort_rows(*rows, rows->shape.back(), op.get<bool>("descending"), *out);
  return one(swap_last(*cast_if_needed(*out, outputs[0].dtype), axis));
}

Values argsort(const Op& op, RawArgs inputs, const Specs&, uint32_t) {
  const size_t axis = axis_of(op, *inputs[0]);
  const Ref<RawTensor> rows = as_rows(*inputs[0], axis);
  const Ref<RawTensor> out = RawTensor::empty(DType::kInt64, rows->shape);
  argsort_rows(*rows, rows->shape.back(), op.get<bool>("descending"), out->as<int64_t>());
  return one(swap_last(*out, axis));
}

// A key and the position that it came from.
template <class Key>
struct Ranked {
  Key key;
  int64_t position;
};

// Keeps the k records that come first, the earlier of equal ones.
template <class Key>
class Selection {
 public:
  using Record = Ranked<Key>;

  explicit Selection(int64_t k) : k_(static_cast<size_t>(k)) { best_.reserve(2 * k_ + kSlack); }

  void add(Record record) {
    if (is_full_ && !comes_before(record, best_[k_ - 1])) return;
    best_.push_back(record);
    if (best_.size() == 2 * k_ + kSlack) prune();
  }

  // In their order.
  const std::vector<Record>& finish() {
    prune();
    std::sort(best_.begin(), best_.end(), comes_before);
    return best_;
  }

 private:
  static constexpr size_t kSlack = 64;

  static bool comes_before(const Record& a, const Record& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }

  // Once k records are known, the last of them is what others must beat.
  void prune() {
    if (best_.size() <= k_) return;
    std::nth_element(best_.begin(), best_.begin() + static_cast<std::ptrdiff_t>(k_ - 1),
                     best_.end(), comes_before);
    best_.resize(k_);
    is_full_ = true;
  }

  size_t k_;
  std::vector<Record> best_;
  bool is_full_ = false;
};

// The positions of the first k of each row, by selection; `chunk` elements at a time, so that a
// long row is shared by the threads.
template <class T>
void select_rows(const RawTensor& x, int64_t n, int64_t k, bool largest, int64_t* positions) {
  using Select = Selection<typename SortKey<T>::Key>;
  const int64_t rows = x.size() / n;
  const int64_t chunks = k <= kFewBest ? (n + kChunk - 1) / kChunk : 1;
  const int64_t length = chunks == 1 ? n : kChunk;
  std::vector<std::vector<typename Select::Record>> found(static_cast<size_t>(rows * chunks));
  parallel_for(rows * chunks, std::max<int64_t>(1, kGrain / length),
               [&](int64_t begin, int64_t end) {
                 for (int64_t job = begin; job < end; ++job) {
                   const T* row = x.as<T>() + job / chunks * n;
                   const int64_t first = job % chunks * length;
                   Select best(k);
                   for (int64_t i = first; i < std::min(n, first + length); ++i) {
                     best.add({rank_of(row[i], largest), i});
                   }
                   found[static_cast<size_t>(job)] = best.finish();
                 }
               });
  for (int64_t r = 0; r < rows; ++r) {
    Select best(k);
    for (int64_t c = 0; c < chunks; ++c) {
      for (const auto& record : found[static_cast<size_t>(r * chunks + c)]) best.add(record);
    }
    for (const auto& record : best.finish()) *positions++ = record.position;
  }
}

// The first k of each row by sorting all of it.
void sort_and_cut(const RawTensor& x, int64_t n, int64_t k, bool largest, int64_t* positions) {
  const Ref<RawTensor> all = RawTensor::empty(DType::kInt64, x.shape);
  argsort_rows(x, n, largest, all->as<int64_t>());
  for (int64_t r = 0; r < x.size() / n; ++r) {
    std::copy_n(all->as<int64_t>() + r * n, k, positions + r * k);
  }
}

Values topk(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const size_t axis = axis_of(op, *inputs[0]);
  const Ref<RawTensor> rows = as_rows(*inputs[0], axis);
  const int64_t n = rows->shape.back();
  const int64_t k = op.get<int64_t>("k");
  Dims shape = rows->shape;
  shape.back() = k;
  const Ref<RawTensor> values = RawTensor::empty(rows->dtype, shape);
  const Ref<RawTensor> positions = RawTensor::empty(DType::kInt64, shape);
  if (values->size() > 0) {
    BlockingRegion blocking(rows->size() > kGrain);
    const bool largest = op.get<bool>("largest");
    visit_order(rows->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      int64_t* at = positions->as<int64_t>();
      if (k > n / 8) {
        sort_and_cut(*rows, n, k, largest, at);
      } else {
        select_rows<T>(*rows, n, k, largest, at);
      }
      for (int64_t i = 0; i < values->size(); ++i) {
        values->as<T>()[i] = rows->as<T>()[i / k * n + at[i]];
      }
    });
  }
  Values results;
  results.push_back(swap_last(*cast_if_needed(*values, outputs[0].dtype), axis));
  results.push_back(swap_last(*positions, axis));
  return results;
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"sort", sort},
    {"arg_sort", argsort},
    {"top_k", topk},
};

}  // namespace

RuleTable<KernelRule> sorting_kernels() { return kKernels; }

}  // namespace tensorlike
