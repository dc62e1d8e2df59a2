// SmallVector, held against std::vector by the same random steps: of what owns something, where
// every element made is destroyed once, and of bytes.
#include <random>
#include <vector>

#include "base/small_vector.h"
#include "expect.h"

namespace tensorlike {
namespace {

// A number on the heap, which is counted.
class Owner {
 public:
  Owner() : Owner(0) {}
  explicit Owner(int number) : number_(new int(number)) { ++living; }
  Owner(const Owner& other) : Owner(*other.number_) {}
  Owner(Owner&& other) noexcept : Owner(0) { std::swap(number_, other.number_); }
  Owner& operator=(Owner other) {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Owner() {
    delete number_;
    --living;
  }
  bool operator==(const Owner& other) const { return *number_ == *other.number_; }

  static inline int living = 0;

 private:
  int* number_;
};

template <class T>
bool are_equal(const SmallVector<T, 2>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

size_t below(std::mt19937& random, size_t n) {
  return std::uniform_int_distribution<size_t>(0, n - 1)(random);
}

// One random step on both.
template <class T>
void change(SmallVector<T, 2>& a, std::vector<T>& b, std::mt19937& random) {
  const T value(static_cast<int>(below(random, 100)));
  const size_t size = a.size();
  const size_t at = below(random, size + 1);
  const size_t wanted = below(random, 7);
  const auto place = b.begin() + static_cast<ptrdiff_t>(at);
  switch (below(random, 6)) {
    case 0:
      a.push_back(value), b.push_back(value);
      break;
    case 1:
      a.insert(at, value), b.insert(place, value);
      break;
    case 2:
      if (at < size) a.erase(at), b.erase(place);
      break;
    case 3:
      a.resize(wanted), b.resize(wanted);
      break;
    case 4:
      a.resize(wanted, value), b.resize(wanted, value);
      break;
    default:
      if (wanted == 0) a.clear(), b.clear();
  }
}

template <class T>
void take_random_steps(uint32_t seed) {
  std::mt19937 random(seed);
  SmallVector<T, 2> ours[2];
  std::vector<T> theirs[2];
  for (int step = 0; step < 4000 && failures == 0; ++step) {
    const size_t to = below(random, 2);
    const size_t from = 1 - to;
    switch (below(random, 8)) {
      case 0:
        ours[to] = ours[from], theirs[to] = theirs[from];
        break;
      case 1:
        ours[to] = std::move(ours[from]), theirs[to] = std::move(theirs[from]);
        theirs[from].clear();
        expect(ours[from].empty(), "what is moved from is empty");
        break;
      case 2: {
        SmallVector<T, 2> copy(ours[to]);
        SmallVector<T, 2> moved(std::move(copy));
        expect(are_equal(moved, theirs[to]) && copy.empty(), "a copy that is moved");
        moved = SmallVector<T, 2>(theirs[to].begin(), theirs[to].end());
        expect(moved == ours[to], "made of a range");
        break;
      }
      default:
        change(ours[to], theirs[to], random);
    }
    for (size_t i = 0; i < 2; ++i) expect(are_equal(ours[i], theirs[i]), "as a vector");
  }
}

void run() {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    take_random_steps<Owner>(seed);
    take_random_steps<int>(seed);
    expect(Owner::living == 0, "each element is destroyed once");
  }
}

}  // namespace
}  // namespace tensorlike

int main() {
  tensorlike::run();
  return tensorlike::failures == 0 ? 0 : 1;
}
