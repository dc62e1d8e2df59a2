// sort, argsort and topk: an axis is moved to the end, and its rows are ordered.
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/order.h"
#include "kernels/kernel_table.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kChunk = 131072;  // elements of a long row that one thread selects from
constexpr int64_t kFewBest = 1024;  // more than these are not selected chunk by chunk

size_t axis_of(const Op& op, const Array& x) {
  return static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(x.shape.size())));
}

// The elements along an axis as contiguous rows, in a dtype that has an order.
Array as_rows(const Array& x, size_t axis, Workspace& workspace) {
  return prepared(swap_last(x, axis), order_dtype(x.dtype), workspace);
}

void sort(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const size_t axis = axis_of(op, *inputs[0]);
  const Array rows = as_rows(*inputs[0], axis, workspace);
  write_as(swap_last(*outputs[0], axis), rows.dtype, workspace, [&](const Array& out) {
    sort_rows(rows, rows.shape.back(), op.get<bool>("descending"), out);
  });
}

void argsort(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const size_t axis = axis_of(op, *inputs[0]);
  const Array rows = as_rows(*inputs[0], axis, workspace);
  write_as(swap_last(*outputs[0], axis), DType::kInt64, workspace, [&](const Array& out) {
    argsort_rows(rows, rows.shape.back(), op.get<bool>("descending"), out.as<int64_t>());
  });
}

// A key and the position that it came from.
template <class Key>
struct Ranked {
  Key key;
  int64_t position;
};

// Keeps the k records that come first, the earlier of equal ones. They come in the order of their
// positions.
template <class Key>
class Selection {
 public:
  using Record = Ranked<Key>;

  explicit Selection(int64_t k) : k_(static_cast<size_t>(k)) {
    best_.reserve(is_sorted() ? k_ + 1 : 2 * k_ + kSlack);
  }

  void clear() {
    best_.clear();
    is_full_ = false;
  }

  // What a key must be below to be kept; null: any is kept.
  const Key* bound() const { return is_full_ ? &best_[k_ - 1].key : nullptr; }

  void add(Record record) {
    if (is_full_ && record.key >= best_[k_ - 1].key) return;
    if (is_sorted()) {
      insert(record);
      return;
    }
    best_.push_back(record);
    if (best_.size() == 2 * k_ + kSlack) prune();
  }

  // In their order.
  const std::vector<Record>& finish() {
    if (is_sorted()) return best_;
    prune();
    std::sort(best_.begin(), best_.end(), comes_before);
    return best_;
  }

 private:
  static constexpr size_t kSlack = 64;
  static constexpr size_t kFewSorted = 16;  // so few are kept in their order

  static bool comes_before(const Record& a, const Record& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
  bool is_sorted() const { return k_ <= kFewSorted; }

  void insert(const Record& record) {
    best_.push_back(record);
    size_t i = best_.size() - 1;
    for (; i > 0 && record.key < best_[i - 1].key; --i) best_[i] = best_[i - 1];
    best_[i] = record;
    if (best_.size() > k_) best_.pop_back();
    is_full_ = best_.size() == k_;
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

// Adds elements [begin, end) of a row. Where none of many beats those that are kept, that is seen
// without a look at each.
template <class T, class Select>
void add_elements(const T* row, int64_t begin, int64_t end, bool largest, Select& best) {
  constexpr int64_t kAfterHit = 64;  // where one does, others may be near
  const KeyKernels& keys = kernel_table().keys[dtype_of<T>];
  for (int64_t i = begin; i < end;) {
    if (best.bound() != nullptr) i += keys.find(row + i, end - i, best.bound(), largest);
    const int64_t stop = std::min(end, i + kAfterHit);
    for (; i < stop; ++i) best.add({rank_of(row[i], largest), i});
  }
}

// The positions of the first k of each row, by selection; `chunk` elements at a time, so that a
// long row is shared by the threads.
template <class T>
void select_rows(const Array& x, int64_t n, int64_t k, bool largest, int64_t* positions) {
  using Select = Selection<typename SortKey<T>::Key>;
  const int64_t rows = x.count / n;
  const int64_t chunks = k <= kFewBest ? (n + kChunk - 1) / kChunk : 1;
  const auto write = [&](int64_t row, Select& best) {
    int64_t* to = positions + row * k;
    for (const auto& record : best.finish()) *to++ = record.position;
  };
  if (chunks == 1) {
    parallel_for(rows, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
      Select best(k);
      for (int64_t r = begin; r < end; ++r) {
        best.clear();
        add_elements(x.as<T>() + r * n, 0, n, largest, best);
        write(r, best);
      }
    });
    return;
  }
  std::vector<std::vector<typename Select::Record>> found(static_cast<size_t>(rows * chunks));
  parallel_for(rows * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t first = job % chunks * kChunk;
      Select best(k);
      add_elements(x.as<T>() + job / chunks * n, first, std::min(n, first + kChunk), largest, best);
      found[static_cast<size_t>(job)] = best.finish();
    }
  });
  for (int64_t r = 0; r < rows; ++r) {
    Select best(k);
    for (int64_t c = 0; c < chunks; ++c) {
      for (const auto& record : found[static_cast<size_t>(r * chunks + c)]) best.add(record);
    }
    write(r, best);
  }
}

// The first k of each row by sorting all of it, or what is left of it when most is set aside.
void sort_and_cut(const Array& x, int64_t n, int64_t k, bool largest, int64_t* positions,
                  Workspace& workspace) {
  int64_t* all = workspace.take<int64_t>(x.count);
  argsort_rows(x, n, largest, all, k);
  for (int64_t r = 0; r < x.count / n; ++r) std::copy_n(all + r * n, k, positions + r * k);
}

// The positions of the first k of each row, and then what lies there.
void take_first(const Array& rows, int64_t k, bool largest, const Array& values, int64_t* positions,
                Workspace& workspace) {
  if (values.count == 0) return;
  const int64_t n = rows.shape.back();
  BlockingRegion blocking(rows.count > kGrain);
  visit_order(rows.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (k > n / 8) {
      sort_and_cut(rows, n, k, largest, positions, workspace);
    } else {
      select_rows<T>(rows, n, k, largest, positions);
    }
    for (int64_t i = 0; i < values.count; ++i) {
      values.as<T>()[i] = rows.as<T>()[i / k * n + positions[i]];
    }
  });
}

void topk(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const size_t axis = axis_of(op, *inputs[0]);
  const Array rows = as_rows(*inputs[0], axis, workspace);
  const int64_t k = op.get<int64_t>("k");
  const bool largest = op.get<bool>("largest");
  write_as(swap_last(*outputs[0], axis), rows.dtype, workspace, [&](const Array& values) {
    write_as(swap_last(*outputs[1], axis), DType::kInt64, workspace, [&](const Array& positions) {
      take_first(rows, k, largest, values, positions.as<int64_t>(), workspace);
    });
  });
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"sort", sort},
    {"arg_sort", argsort},
    {"top_k", topk},
};

}  // namespace

RuleTable<KernelRule> sorting_kernels() { return kKernels; }

}  // namespace tensorlike
