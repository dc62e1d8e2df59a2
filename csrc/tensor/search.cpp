// searchsorted and unique: what order is good for.
#include <array>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/families.h"
#include "tensor/layout.h"
#include "tensor/order.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 8192;
constexpr int kTogether = 16;  // searches whose steps overlap: each waits for memory

// The keys of x1, rows of `n`, each in the order that `sorter` gives.
template <class T>
std::vector<typename SortKey<T>::Key> keys_of(const Op& op, const RawTensor& x, int64_t n,
                                              const RawTensor* sorter) {
  std::vector<typename SortKey<T>::Key> keys(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t at = i;
    if (sorter != nullptr) {
      at = sorter->as<int64_t>()[i];
      if (at < 0 || at >= n) {
        fail(ErrorKind::kIndex, said::op(op.name()), said::argument("sorter"),
             "must hold positions of x1, in [0, ", n - 1, "]", said::got(at, " at position ", i),
             said::fix("make it with argsort(x1)"));
      }
      at += i - i % n;
    }
    keys[static_cast<size_t>(i)] = rank_of(x.as<T>()[at], false);
  }
  return keys;
}

// How many keys lie before each of `count` queries; `takes_equal` counts equal ones too. Halving
// never leaves the keys, whatever their order.
template <class Key>
void count_before(const Key* keys, int64_t n, const Key* queries, int count, bool takes_equal,
                  int64_t* out) {
  std::array<int64_t, kTogether> base = {};
  auto is_before = [takes_equal](Key key, Key query) {
    return takes_equal ? key <= query : key < query;
  };
  for (int64_t length = n; length > 1; length -= length / 2) {
    for (int q = 0; q < count; ++q) {
      const int64_t middle = base[static_cast<size_t>(q)] + length / 2;
      base[static_cast<size_t>(q)] =
          is_before(keys[middle - 1], queries[q]) ? middle : base[static_cast<size_t>(q)];
    }
  }
  for (int q = 0; q < count; ++q) {
    const int64_t at = base[static_cast<size_t>(q)];
    out[q] = at + (n > 0 && is_before(keys[at], queries[q]) ? 1 : 0);
  }
}

Values searchsorted(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = order_dtype(promote(inputs[0]->dtype, inputs[1]->dtype));
  const Ref<RawTensor> sorted = contiguous(*cast_if_needed(*inputs[0], dtype));
  const Ref<RawTensor> wanted = contiguous(*cast_if_needed(*inputs[1], dtype));
  Ref<RawTensor> sorter;
  if (inputs.size() > 2) sorter = contiguous(*cast_if_needed(*inputs[2], DType::kInt64));
  const Ref<RawTensor> out = RawTensor::empty(DType::kInt64, outputs[0].shape);
  const bool takes_equal = op.get<std::string>("side") == "right";
  // Rows of x1, and the elements of x2 that each is searched for: all of them where there is one.
  const int64_t n = sorted->shape.back();
  const int64_t row = sorted->shape.size() == 1 ? wanted->size() : wanted->shape.back();
  const int64_t pieces = (row + kTogether - 1) / kTogether;
  const int64_t rows = row == 0 ? 0 : wanted->size() / row;
  visit_order(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Key = typename SortKey<T>::Key;
    const std::vector<Key> keys = keys_of<T>(op, *sorted, n, sorter.get());
    BlockingRegion blocking(wanted->size() > kGrain);
    parallel_for(rows * pieces, kGrain / kTogether, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t first = piece % pieces * kTogether;
        const int64_t at = piece / pieces * row + first;
        const int count = static_cast<int>(std::min<int64_t>(kTogether, row - first));
        Key queries[kTogether];
        for (int q = 0; q < count; ++q) queries[q] = rank_of(wanted->as<T>()[at + q], false);
        count_before(keys.data() + piece / pieces * n, n, queries, count, takes_equal,
                     out->as<int64_t>() + at);
      }
    });
  });
  return one(out);
}

// The groups of equal elements in a sorted sequence: where each begins, and its end last. NaN is
// equal to nothing, so each is a group.
template <class F>
std::vector<int64_t> group_starts(int64_t n, F&& value_at) {
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || !(value_at(i) == value_at(i - 1))) starts.push_back(i);
  }
  starts.push_back(n);
  return starts;
}

Ref<RawTensor> integers(int64_t n) { return RawTensor::empty(DType::kInt64, {n}); }

template <class T>
Ref<RawTensor> unique_of_sorted(const RawTensor& x) {
  const Ref<RawTensor> sorted = RawTensor::empty(x.dtype, {x.size()});
  sort_rows(x, x.size(), false, *sorted);
  T* from = sorted->as<T>();
  int64_t groups = 0;  // the last of each group is moved to the front, over what was read before
  for (int64_t i = 0; i < x.size(); ++i) {
    const T value = from[i];
    const bool is_last = i + 1 == x.size() || !(value == from[i + 1]);
    from[groups] = value;
    groups += is_last ? 1 : 0;
  }
  const Ref<RawTensor> values = RawTensor::empty(x.dtype, {groups});
  std::copy_n(from, groups, values->as<T>());
  return values;
}

struct Unique {
  Ref<RawTensor> values, indices, inverse, counts;
};

// The positions that sort x; complex numbers by their imaginary parts, then by their real ones,
// which keeps the order of those that are equal.
Ref<RawTensor> positions_of(const RawTensor& x) {
  const Ref<RawTensor> order = integers(x.size());
  if (kind_of(x.dtype) != Kind::kComplex) {
    argsort_rows(x, x.size(), false, order->as<int64_t>());
    return order;
  }
  const DType part = x.dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  const Ref<RawTensor> parts = RawTensor::empty(part, {x.size()});
  const Ref<RawTensor> later = integers(x.size());
  visit_order(part, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.as<T>();
    T* to = parts->as<T>();
    for (int64_t i = 0; i < x.size(); ++i) to[i] = from[2 * i + 1];
    argsort_rows(*parts, x.size(), false, later->as<int64_t>());
    for (int64_t i = 0; i < x.size(); ++i) to[i] = from[2 * later->as<int64_t>()[i]];
    argsort_rows(*parts, x.size(), false, order->as<int64_t>());
  });
  int64_t* at = order->as<int64_t>();
  for (int64_t i = 0; i < x.size(); ++i) at[i] = later->as<int64_t>()[at[i]];
  return order;
}

// All four results, from the positions that sort x; a group's first position is its smallest,
// because sorting keeps the order of equal elements.
template <class T>
Unique unique_by_positions(const RawTensor& x) {
  const Ref<RawTensor> order = positions_of(x);
  const int64_t* at = order->as<int64_t>();
  const T* from = x.as<T>();
  const std::vector<int64_t> starts =
      group_starts(x.size(), [&](int64_t i) { return from[at[i]]; });
  const int64_t groups = static_cast<int64_t>(starts.size()) - 1;
  Unique out{RawTensor::empty(x.dtype, {groups}), integers(groups), integers(x.size()),
             integers(groups)};
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = starts[static_cast<size_t>(g)];
    const int64_t end = starts[static_cast<size_t>(g) + 1];
    out.values->as<T>()[g] = from[at[begin]];
    out.indices->as<int64_t>()[g] = at[begin];
    out.counts->as<int64_t>()[g] = end - begin;
    for (int64_t i = begin; i < end; ++i) out.inverse->as<int64_t>()[at[i]] = g;
  }
  return out;
}

Values unique(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const RawTensor& given = *inputs[0];
  const Ref<RawTensor> x = contiguous(*cast_if_needed(given, order_dtype(given.dtype)));
  Values results;
  BlockingRegion blocking(x->size() > kGrain);
  visit_compute(x->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex<T> && !std::is_same_v<T, bool>) {
      if (outputs.size() == 1) {
        results.push_back(cast_if_needed(*unique_of_sorted<T>(*x), given.dtype));
        return;
      }
    }
    const Unique all = unique_by_positions<T>(*x);
    results.push_back(cast_if_needed(*all.values, given.dtype));
    if (op.get<bool>("indices")) results.push_back(all.indices);
    if (op.get<bool>("inverse")) {
      results.push_back(all.inverse->view(given.shape, contiguous_strides(given.shape)));
    }
    if (op.get<bool>("counts")) results.push_back(all.counts);
  });
  return results;
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"search_sorted", searchsorted},
    {"unique", unique},
};

}  // namespace

RuleTable<KernelRule> search_kernels() { return kKernels; }

}  // namespace tensorlike
