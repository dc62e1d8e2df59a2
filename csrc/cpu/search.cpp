// searchsorted and unique: what order is good for.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/order.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kSearchGrain = 8192;
constexpr int kTogether = 16;  // searches whose steps overlap: each waits for memory

// The keys of x1, rows of `n`, each in the order that `sorter` gives (null: as it is).
template <class T>
const typename SortKey<T>::Key* keys_of(const Op& op, const Array& x, int64_t n,
                                        const int64_t* sorter, Workspace& workspace) {
  auto* keys = workspace.take<typename SortKey<T>::Key>(x.count);
  for (int64_t i = 0; i < x.count; ++i) {
    int64_t at = i;
    if (sorter != nullptr) {
      at = sorter[i];
      if (at < 0 || at >= n) {
        fail(ErrorKind::kIndex, said::op(op.name()), said::argument("sorter"),
             "must hold positions of x1, in [0, ", n - 1, "]", said::got(at, " at position ", i),
             said::fix("make it with argsort(x1)"));
      }
      at += i - i % n;
    }
    keys[i] = rank_of(x.as<T>()[at], false);
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

void searchsorted(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const DType dtype = order_dtype(promote(inputs[0]->dtype, inputs[1]->dtype));
  const Array sorted = prepared(*inputs[0], dtype, workspace);
  const Array wanted = prepared(*inputs[1], dtype, workspace);
  Array sorter;
  if (inputs.size() > 2) sorter = prepared(*inputs[2], DType::kInt64, workspace);
  int64_t* out = outputs[0]->as<int64_t>();
  const bool takes_equal = op.get<std::string>("side") == "right";
  // Rows of x1, and the elements of x2 that each is searched for: all of them where there is one.
  const int64_t n = sorted.shape.back();
  const int64_t row = sorted.shape.size() == 1 ? wanted.count : wanted.shape.back();
  const int64_t pieces = (row + kTogether - 1) / kTogether;
  const int64_t rows = row == 0 ? 0 : wanted.count / row;
  visit_order(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Key = typename SortKey<T>::Key;
    const Key* keys = keys_of<T>(op, sorted, n, sorter.as<int64_t>(), workspace);
    BlockingRegion blocking(wanted.count > kSearchGrain);
    parallel_for(rows * pieces, kSearchGrain / kTogether, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t first = piece % pieces * kTogether;
        const int64_t at = piece / pieces * row + first;
        const int count = static_cast<int>(std::min<int64_t>(kTogether, row - first));
        Key queries[kTogether];
        for (int q = 0; q < count; ++q) queries[q] = rank_of(wanted.as<T>()[at + q], false);
        count_before(keys + piece / pieces * n, n, queries, count, takes_equal, out + at);
      }
    });
  });
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

// What the rule of sizes has found: the different elements; or, where more is asked for, all of x,
// the positions that sort it, and where in them groups begin, their end last.
struct Unique {
  Array elements;
  const int64_t* order = nullptr;
  std::vector<int64_t> starts;
};

// Elements among which all different ones of x are: a few that come often, and all others. Null
// where there are others in plenty.
template <class T>
Array few_elements(const Array& x, Workspace& workspace) {
  using Key = typename SortKey<T>::Key;
  constexpr int64_t kTile = 1024;
  constexpr int64_t kMost = 16;   // that come often
  constexpr int64_t kOthers = 8;  // as many times fewer than all
  const SortKernels& kernels = sort_kernels<Key>();
  if (kernels.others == nullptr || x.count < 4 * kTile) return {};
  const int64_t room = kMost + x.count / kOthers + 2 * kTile;
  T* const found = workspace.take<T>(room);
  int64_t often = 0;
  T* const others = found + kMost;
  int64_t count = 0;
  for (int64_t at = 0; at < x.count; at += kTile) {
    const int64_t size = std::min(kTile, x.count - at);
    const int64_t added = kernels.others(others + count, x.as<T>() + at, size, found, often);
    count += added;
    if (count > kTile + at / kOthers) return {};
    // New ones are looked for from now on, as long as these are few; NaN equals nothing.
    for (int64_t i = count - added; i < count && often < kMost; ++i) {
      const T value = others[i];
      const auto is_same = [value](T known) { return std::memcmp(&known, &value, sizeof(T)) == 0; };
      if (value == value && std::none_of(found, found + often, is_same)) found[often++] = value;
    }
  }
  T* const end = std::copy_n(others, count, found + often);
  if constexpr (std::is_floating_point_v<T>) {
    // Of zeros of both signs the last is the one that sorting finds.
    const auto is_minus = [](T value) { return value == 0 && std::signbit(value); };
    const auto is_plus = [](T value) { return value == 0 && !std::signbit(value); };
    if (std::any_of(found, end, is_minus) && std::any_of(found, end, is_plus)) {
      const T* last = x.as<T>() + x.count - 1;
      while (*last != 0) --last;
      std::replace_if(found, end, [](T value) { return value == 0; }, *last);
    }
  }
  return Array(x.dtype, {end - found}, reinterpret_cast<char*>(found));
}

Array unique_of_sorted(const Array& given, Workspace& workspace) {
  Array x = given;
  visit_order(x.dtype, [&](auto tag) {
    const Array few = few_elements<typename decltype(tag)::type>(x, workspace);
    if (few.data != nullptr) x = few;
  });
  const Array sorted = workspace.array(x.dtype, {x.count});
  sort_rows(x, x.count, false, sorted);
  return Array(x.dtype, {kernel_table().keys[x.dtype].distinct(sorted.data, x.count)}, sorted.data);
}

// The positions that sort x; complex numbers by their imaginary parts, then by their real ones,
// which keeps the order of those that are equal.
const int64_t* positions_of(const Array& x, Workspace& workspace) {
  int64_t* order = workspace.take<int64_t>(x.count);
  if (kind_of(x.dtype) != Kind::kComplex) {
    argsort_rows(x, x.count, false, order);
    return order;
  }
  const Array parts = workspace.array(real_of(x.dtype), {x.count});
  int64_t* later = workspace.take<int64_t>(x.count);
  visit_order(parts.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.as<T>();
    T* to = parts.as<T>();
    for (int64_t i = 0; i < x.count; ++i) to[i] = from[2 * i + 1];
    argsort_rows(parts, x.count, false, later);
    for (int64_t i = 0; i < x.count; ++i) to[i] = from[2 * later[i]];
    argsort_rows(parts, x.count, false, order);
  });
  for (int64_t i = 0; i < x.count; ++i) order[i] = later[order[i]];
  return order;
}

void find_unique(const Op&, Arrays inputs, Specs& outputs, Workspace& workspace) {
  const auto found = std::make_shared<Unique>();
  workspace.found = found;
  const Array x = prepared(*inputs[0], order_dtype(inputs[0]->dtype), workspace);
  BlockingRegion blocking(x.count > kSearchGrain);
  visit_compute(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex<T> && !std::is_same_v<T, bool>) {
      if (outputs.size() == 1) {
        found->elements = unique_of_sorted(x, workspace);
        return;
      }
    }
    const int64_t* order = positions_of(x, workspace);
    found->elements = x;
    found->order = order;
    found->starts = group_starts(x.count, [&](int64_t i) { return x.as<T>()[order[i]]; });
  });
  const std::vector<int64_t>& starts = found->starts;
  const int64_t groups =
      starts.empty() ? found->elements.count : static_cast<int64_t>(starts.size()) - 1;
  for (Spec& spec : outputs) {
    for (int64_t& size : spec.shape) {
      if (size == kUnknownSize) size = groups;
    }
  }
}

// A group's first position is its smallest, because sorting keeps the order of equal elements.
void unique(const Op& op, Arrays, Arrays outputs, Workspace& workspace) {
  const Unique& found = *static_cast<const Unique*>(workspace.found.get());
  if (found.starts.empty()) {
    assign(*outputs[0], found.elements);
    return;
  }
  size_t used = 1;
  auto asked = [&](const char* name) {
    return op.get<bool>(name) ? outputs[used++]->as<int64_t>() : nullptr;
  };
  int64_t* indices = asked("indices");
  int64_t* inverse = asked("inverse");
  int64_t* counts = asked("counts");
  const int64_t groups = outputs[0]->count;
  BlockingRegion blocking(found.elements.count > kSearchGrain);
  write_as(*outputs[0], found.elements.dtype, workspace, [&](const Array& values) {
    visit_compute(values.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = found.elements.as<T>();
      for (int64_t g = 0; g < groups; ++g) {
        values.as<T>()[g] = from[found.order[found.starts[static_cast<size_t>(g)]]];
      }
    });
  });
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = found.starts[static_cast<size_t>(g)];
    const int64_t end = found.starts[static_cast<size_t>(g) + 1];
    if (indices != nullptr) indices[g] = found.order[begin];
    if (counts != nullptr) counts[g] = end - begin;
    if (inverse == nullptr) continue;
    for (int64_t i = begin; i < end; ++i) inverse[found.order[i]] = g;
  }
}

constexpr std::pair<std::string_view, KernelRule> kSearchKernels[] = {
    {"search_sorted", searchsorted},
    {"unique", {unique, find_unique}},
};

}  // namespace

RuleTable<KernelRule> search_kernels() { return kSearchKernels; }

}  // namespace tensorlike
