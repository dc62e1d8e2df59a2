// The key at a place of an order, and the few records that come first in it, found without sorting
// the others.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "cpu/order.h"

namespace tensorlike {

// A key, and how many of those that it was chosen from are smaller.
template <class Key>
struct Chosen {
  Key key;
  int64_t before;
};

// The key that stands at `place` once n keys are sorted; they are moved about.
template <class Key>
Chosen<Key> choose(Key* keys, int64_t n, int64_t place) {
  constexpr int64_t kFew = 1024 / sizeof(Key);  // are soon sorted, within registers
  const SortKernels& kernels = sort_kernels<Key>();
  Key* begin = keys;
  Key* end = keys + n;
  Key* const wanted = keys + place;
  // So many parts are enough, but for arrangements against the choice of pivots.
  int parts = 2 * std::bit_width(static_cast<uint64_t>(n));
  for (; kernels.part != nullptr && end - begin > kFew && parts > 0; --parts) {
    bool are_equal = false;
    Key* const middle = begin + kernels.part(begin, end - begin, are_equal);
    if (wanted >= middle) {
      begin = middle;
    } else if (are_equal) {
      return {*begin, begin - keys};
    } else {
      end = middle;
    }
  }
  if (kernels.sort != nullptr && end - begin <= kFew) {
    kernels.sort(begin, end - begin);
  } else {
    std::nth_element(begin, wanted, end);
  }
  const Key key = *wanted;
  return {key, begin - keys + std::count_if(begin, wanted, [key](Key k) { return k < key; })};
}

// A key and the position that it came from, in the order of both.
template <class Key>
struct Ranked {
  Ranked(Key key, int64_t position) : own_key(key), own_position(position) {}
  Key key() const { return own_key; }
  int64_t position() const { return own_position; }
  friend bool operator<(const Ranked& a, const Ranked& b) {
    return a.own_key != b.own_key ? a.own_key < b.own_key : a.own_position < b.own_position;
  }
  static void part(Ranked* records, int64_t n, int64_t place) {
    std::nth_element(records, records + place, records + n);
  }
  static void sort(Ranked* records, int64_t n) { std::sort(records, records + n); }

  Key own_key;
  int64_t own_position;
};

// The same in one word, which is sorted as a key.
struct RankedWord {
  RankedWord(uint32_t key, int64_t position)
      : word(uint64_t{key} << 32 | static_cast<uint64_t>(position)) {}
  uint32_t key() const { return static_cast<uint32_t>(word >> 32); }
  int64_t position() const { return static_cast<int64_t>(word & 0xffffffffU); }
  static void part(RankedWord* records, int64_t n, int64_t place) {
    choose(&records->word, n, place);
  }
  static void sort(RankedWord* records, int64_t n) {
    const SortKernels& kernels = sort_kernels<uint64_t>();
    uint64_t* const words = &records->word;
    kernels.sort != nullptr ? kernels.sort(words, n) : std::sort(words, words + n);
  }

  uint64_t word;
};
static_assert(sizeof(RankedWord) == sizeof(uint64_t));
constexpr int64_t kMostOfWord = int64_t{1} << 32;

// Keeps the k records that come first, the earlier of equal ones. They come in the order of their
// positions.
template <class Key, class Record>
class Selection {
 public:
  explicit Selection(int64_t k) : k_(static_cast<size_t>(k)) {
    best_.reserve(is_sorted() ? k_ + 1 : 2 * k_ + kSlack);
  }

  // Begins anew; k of what comes are known to be no larger than `most`.
  void start(Key most) {
    best_.clear();
    is_bounded_ = most != static_cast<Key>(-1);
    bound_ = is_bounded_ ? most + 1 : most;
  }

  // What a key must be below to be kept; null: any is kept.
  const Key* bound() const { return is_bounded_ ? &bound_ : nullptr; }

  void add(const Record& record) {
    if (is_bounded_ && record.key() >= bound_) return;
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
    Record::sort(best_.data(), static_cast<int64_t>(best_.size()));
    return best_;
  }

 private:
  static constexpr size_t kSlack = 64;
  static constexpr size_t kFewSorted = 16;  // so few are kept in their order

  bool is_sorted() const { return k_ <= kFewSorted; }

  void insert(const Record& record) {
    best_.push_back(record);
    size_t i = best_.size() - 1;
    for (; i > 0 && record.key() < best_[i - 1].key(); --i) best_[i] = best_[i - 1];
    best_[i] = record;
    if (best_.size() > k_) best_.pop_back();
    if (best_.size() == k_) beat(best_.back());
  }

  void prune() {
    if (best_.size() <= k_) return;
    const auto last = static_cast<std::ptrdiff_t>(k_ - 1);
    Record::part(best_.data(), static_cast<int64_t>(best_.size()), last);
    best_.erase(best_.begin() + last + 1, best_.end());
    beat(best_.back());
  }

  // Once k records are known, the last of them is what others must beat.
  void beat(const Record& last) {
    bound_ = last.key();
    is_bounded_ = true;
  }

  size_t k_;
  std::vector<Record> best_;
  Key bound_ = 0;
  bool is_bounded_ = false;
};

}  // namespace tensorlike
