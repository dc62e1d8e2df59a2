// topk: the first of each row in their order, or a few from a place on, found without
// sorting the rest.
#include "cpu/selection.h"

#include <optional>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/order.h"
#include "cpu/scratch.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kSelectGrain = 16384;
constexpr int64_t kSelectChunk = 131072;  // elements of a long row that one thread selects from
constexpr int64_t kFewBest = 1024;        // more than these are not selected chunk by chunk
constexpr int64_t kSortedAtOnce = 128;    // elements: words of 8 bytes, sorted within registers
constexpr int64_t kVector = 64;           // bytes that may be written beyond what is asked for

// The same for a row, of which only what lies between two keys of a sample is moved. Nothing: the
// place does not lie there, or this level has no quick way to tell.
template <class T, class Key = typename SortKey<T>::Key>
std::optional<Chosen<Key>> choose_between(const T* x, int64_t n, int64_t place, bool largest,
                                          Key* keys) {
  // Three deviations of a sample's ranks to both sides: of 256 a fifth of the row is moved, of 1024
  // a tenth, which pays for itself in rows of some 65,000 (measured: 40,000 and 800,000 floats).
  constexpr int64_t kSample = 1024;
  constexpr int64_t kTile = 256;
  const SortKernels& kernels = sort_kernels<Key>();
  const KeyKernels& elements = kernel_table().keys[dtype_of<T>];
  if (kernels.within == nullptr || n < 2048) return {};
  const int64_t count = n < 65536 ? kSample / 4 : kSample;
  const int64_t margin = n < 65536 ? 24 : 48;
  Key sample[kSample];
  for (int64_t i = 0; i < count; ++i) {
    sample[i] = rank_of(x[(2 * i + 1) * n / (2 * count)], largest);
  }
  kernels.sort(sample, count);
  const int64_t middle = static_cast<int64_t>(static_cast<double>(place) / static_cast<double>(n) *
                                              static_cast<double>(count));
  const Key low = middle < margin ? Key{0} : sample[middle - margin];
  const Key high = middle + margin >= count ? static_cast<Key>(-1) : sample[middle + margin];
  int64_t below = 0;
  int64_t found = 0;
  Key tile[kTile];
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t size = std::min(kTile, n - at);
    elements.ranks(tile, x + at, size, largest);
    found += kernels.within(keys + found, tile, size, &low, &high, &below);
  }
  if (place < below || place >= below + found) return {};
  Chosen<Key> chosen = choose(keys, found, place - below);
  chosen.before += below;
  return chosen;
}

// Where the element is that stands at `place` once the row is sorted, the earlier of equal ones
// first. There is room for n keys, and a vector beyond.
template <class T>
int64_t position_at(const T* x, int64_t n, int64_t place, bool largest,
                    typename SortKey<T>::Key* keys) {
  const KeyKernels& elements = kernel_table().keys[dtype_of<T>];
  auto chosen = choose_between(x, n, place, largest, keys);
  if (!chosen) {
    elements.ranks(keys, x, n, largest);
    chosen = choose(keys, n, place);
  }
  return elements.find_equal(x, n, &chosen->key, place - chosen->before, largest);
}

template <class T>
void positions_at(const Array& x, int64_t n, int64_t place, bool largest, int64_t* positions,
                  Workspace& workspace) {
  using Key = typename SortKey<T>::Key;
  const int64_t rows = x.count / n;
  const int64_t room = n + kVector / static_cast<int64_t>(sizeof(Key));
  const auto each = [&](int64_t begin, int64_t end, Key* keys) {
    for (int64_t r = begin; r < end; ++r) {
      positions[r] = position_at(x.as<T>() + r * n, n, place, largest, keys);
    }
  };
  if (n > kSelectChunk) return each(0, rows, workspace.take<Key>(room));
  parallel_for(rows, std::max<int64_t>(1, kSelectGrain / n), [&](int64_t begin, int64_t end) {
    Scratch scratch(static_cast<size_t>(room) * sizeof(Key));
    each(begin, end, scratch.take<Key>(room));
  });
}

// A key that k elements are known not to be above: the k-th of a sample, where one is much smaller
// than the row. Without it, a row whose best elements come last would have all of them kept.
template <class T, class Key = typename SortKey<T>::Key>
Key most_of_sample(const T* x, int64_t n, int64_t k, bool largest) {
  constexpr int64_t kRun = 16;  // elements side by side, since a cache line is read anyway
  constexpr int64_t kFewest = 256;
  const int64_t runs = std::max({n / 32, 4 * k, 2 * kRun}) / kRun;
  if (n < kFewest || runs * kRun > n / 4) return static_cast<Key>(-1);
  const KeyKernels& elements = kernel_table().keys[dtype_of<T>];
  Scratch scratch(static_cast<size_t>(runs * kRun) * sizeof(Key));
  Key* const keys = scratch.take<Key>(runs * kRun);
  for (int64_t i = 0; i < runs; ++i) {
    elements.ranks(keys + i * kRun, x + (n - kRun) * i / std::max<int64_t>(runs - 1, 1), kRun,
                   largest);
  }
  return choose(keys, runs * kRun, k - 1).key;
}

// Adds elements [begin, end) of a row.
template <class T, class Select>
void add_elements(const T* row, int64_t begin, int64_t end, int64_t k, bool largest, Select& best) {
  constexpr int64_t kTile = 128;
  int64_t tile = 16;  // and longer ones, as fewer of their elements will be among the best
  const KeyKernels& elements = kernel_table().keys[dtype_of<T>];
  best.start(most_of_sample(row + begin, end - begin, k, largest));
  int64_t i = begin;
  for (; i < end && best.bound() == nullptr; ++i) best.add({rank_of(row[i], largest), i});
  for (int64_t size = 0; i < end; i += size, tile = std::min(2 * tile, kTile)) {
    int32_t places[kTile];
    size = std::min(tile, end - i);
    const int64_t found = elements.below(places, row + i, size, best.bound(), largest);
    for (int64_t p = 0; p < found; ++p) {
      const int64_t at = i + places[p];
      best.add({rank_of(row[at], largest), at});
    }
  }
}

// The positions of the first k of each row, by selection; `chunk` elements at a time, so that a
// long row is shared by the threads.
template <class T, class Record>
void select_rows(const Array& x, int64_t n, int64_t k, bool largest, int64_t* positions) {
  using Select = Selection<typename SortKey<T>::Key, Record>;
  const int64_t rows = x.count / n;
  const int64_t chunks = k <= kFewBest ? (n + kSelectChunk - 1) / kSelectChunk : 1;
  const auto write = [&](int64_t row, Select& best) {
    int64_t* to = positions + row * k;
    for (const auto& record : best.finish()) *to++ = record.position();
  };
  if (chunks == 1) {
    parallel_for(rows, std::max<int64_t>(1, kSelectGrain / n), [&](int64_t begin, int64_t end) {
      Select best(k);
      for (int64_t r = begin; r < end; ++r) {
        add_elements(x.as<T>() + r * n, 0, n, k, largest, best);
        write(r, best);
      }
    });
    return;
  }
  std::vector<std::vector<Record>> found(static_cast<size_t>(rows * chunks));
  parallel_for(rows * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t first = job % chunks * kSelectChunk;
      Select best(k);
      add_elements(x.as<T>() + job / chunks * n, first, std::min(n, first + kSelectChunk), k,
                   largest, best);
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

template <class T>
void select(const Array& x, int64_t n, int64_t k, bool largest, int64_t* positions) {
  if constexpr (sizeof(T) == 4) {
    if (n <= kMostOfWord) return select_rows<T, RankedWord>(x, n, k, largest, positions);
  }
  select_rows<T, Ranked<typename SortKey<T>::Key>>(x, n, k, largest, positions);
}

// Places [skip, skip + k) of each row's order.
struct Window {
  int64_t skip, k;
  bool largest;
};

void rank_few(const Array& x, const Window& window, int64_t* positions) {
  const int64_t n = x.shape.back();
  const KeyKernels& elements = kernel_table().keys[x.dtype];
  parallel_for(x.count / n, kSelectGrain / n, [&](int64_t begin, int64_t end) {
    elements.places(positions + begin * window.k, x.data + begin * n * size_of(x.dtype),
                    end - begin, n, window.skip, window.k, window.largest);
  });
}

// By sorting all of a row, or what is left of it when most is set aside.
void sort_and_cut(const Array& x, int64_t n, const Window& window, int64_t* positions,
                  Workspace& workspace) {
  int64_t* all = workspace.take<int64_t>(x.count);
  argsort_rows(x, n, window.largest, all, window.skip + window.k);
  for (int64_t r = 0; r < x.count / n; ++r) {
    std::copy_n(all + r * n + window.skip, window.k, positions + r * window.k);
  }
}

// The positions of what stands in the window of each row, and then what lies there.
void take_window(const Array& rows, const Window& window, const Array& values, int64_t* positions,
                 Workspace& workspace) {
  if (values.count == 0) return;
  const int64_t n = rows.shape.back();
  const int64_t k = window.k;
  BlockingRegion blocking(rows.count > kSelectGrain);
  visit_order(rows.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (n <= kFewRanked) {
      rank_few(rows, window, positions);
    } else if (window.skip > 0 && k == 1) {
      positions_at<T>(rows, n, window.skip, window.largest, positions, workspace);
    } else if (window.skip > 0 || k > n / 8 || n <= kSortedAtOnce) {
      sort_and_cut(rows, n, window, positions, workspace);
    } else {
      select<T>(rows, n, k, window.largest, positions);
    }
    const T* from = rows.as<T>();
    for (int64_t i = 0; i < values.count; from += n) {
      for (const int64_t end = i + k; i < end; ++i) values.as<T>()[i] = from[positions[i]];
    }
  });
}

void topk(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& x = *inputs[0];
  const size_t axis = order_axis(op, x);
  const Window window{op.get<int64_t>("skip"), op.get<int64_t>("k"), op.get<bool>("largest")};
  const Array rows = order_rows(x, axis, workspace);
  write_as(swap_last(*outputs[0], axis), rows.dtype, workspace, [&](const Array& found) {
    write_as(swap_last(*outputs[1], axis), DType::kInt64, workspace, [&](const Array& places) {
      take_window(rows, window, found, places.as<int64_t>(), workspace);
    });
  });
}

constexpr std::pair<std::string_view, KernelRule> kSelectionKernels[] = {
    {"top_k", topk},
};

}  // namespace

RuleTable<KernelRule> selection_kernels() { return kSelectionKernels; }

}  // namespace tensorlike
