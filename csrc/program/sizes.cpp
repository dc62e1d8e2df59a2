#include "program/sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "program/program.h"
#include "program/recording.h"

namespace tensorlike {
namespace {

constexpr int64_t kFirstPrime = 80'000;  // (b, heads, n, n) of many heads stays below 2^58
constexpr int64_t kApart = 1'500;        // between witnesses
constexpr int64_t kApartInOne = kPlainNumbers + 104;  // program: what is left is no plain number
constexpr int64_t kSecond = 55'440;  // divisible by all small numbers, as no prime is
constexpr int64_t kSecondApart = 5'040;
constexpr int64_t kSmallNumbers = 24;  // divisible by those that sizes are divided by
constexpr int64_t kLeastPrime = 2 * kPlainNumbers + 17;  // whose half is no plain number
constexpr int64_t kMostOwnTimes = 8;  // a size that follows from others is as much of one
constexpr int64_t kMostTold = 16;     // times a size, which is told from times another one
constexpr int kManyWitnesses = 64;
constexpr int64_t kMostRest = 16;
constexpr int64_t kMostPartsOfOne = 8;  // as the reader knows them
constexpr double kLeastReal = 0x1p-40;  // what stands for a number with a fraction
constexpr double kLargestReal = 0x1p60;
constexpr double kRealsApart = 0x1p-44;             // of 1
constexpr double kNextToIt = 1.000'618'033'988'75;  // so that in single precision it is no other
constexpr int64_t kRealsTold = 1 << 16;
constexpr int64_t kMostFactor = int64_t{1} << 24;
constexpr int64_t kMostFactorWithRest = 4096;

std::atomic<int> live_reals = 0;

struct KnownNumbers {
  std::mutex mutex;
  std::map<int64_t, std::pair<Witness, Program*>> owners;  // by the first number
  std::map<int64_t, int64_t> inferred;         // what those that follow from others came out as
  std::unordered_map<double, Program*> reals;  // by equality: NaN is none of them
  int64_t reals_taken = 0;
  std::set<int64_t> written;
  std::vector<int64_t> primes;
  int collects_at = kManyWitnesses;
};

KnownNumbers& known_numbers() {
  static KnownNumbers& instance = *new KnownNumbers;
  return instance;
}

// Also that it leaves as large a rest as there is by small numbers, which second witnesses do not.
bool is_prime(int64_t number) {
  if ((number + 1) % kSmallNumbers != 0) return false;
  for (int64_t i = 2; i * i <= number; ++i) {
    if (number % i == 0) return false;
  }
  return true;
}

// Powers of two and what is next to them, round numbers, and multiples of such by small numbers:
// sizes and bounds that people write.
bool is_near_to_usual_numbers(int64_t prime) {
  for (int64_t power = kPlainNumbers; power <= int64_t{1} << 40; power *= 2) {
    for (int64_t odd : {1, 3, 5, 7, 9}) {
      if (multiple_of(power * odd, prime)) return true;
    }
  }
  for (int64_t power = 1000; power <= 1'000'000'000'000; power *= 10) {
    for (int64_t digits = 1; digits < 100; ++digits) {
      if (power * digits >= kPlainNumbers && multiple_of(power * digits, prime)) return true;
    }
  }
  return false;
}

// Whether it is too small to stand for a size.
bool is_plain(int64_t number) { return number > -kPlainNumbers && number < kPlainNumbers; }

}  // namespace

std::optional<Multiple> multiple_of(int64_t number, int64_t base) {
  if ((number > -kPlainNumbers && number < kPlainNumbers) || number == INT64_MIN || base == 0) {
    return std::nullopt;
  }
  int64_t factor = number / base;
  int64_t rest = number - factor * base;
  if (2 * std::llabs(rest) > std::llabs(base)) {
    const int64_t step = (rest > 0) == (base > 0) ? 1 : -1;
    factor += step;
    rest -= step * base;
  }
  const int64_t most = rest == 0 ? kMostFactor : kMostFactorWithRest;
  if (factor == 0 || std::llabs(factor) > most || std::llabs(rest) > kMostRest) return std::nullopt;
  return Multiple{factor, rest};
}

// Whether a multiple of one number is near to the other, so that what is made of them may be taken
// for each other.
static bool is_near_multiple(int64_t a, int64_t b) {
  for (const auto& [number, base] : {std::pair(a, b), std::pair(b, a)}) {
    for (int64_t near = number - kMostRest; near <= number + kMostRest; near += kMostRest) {
      if (multiple_of(near, base)) return true;
    }
  }
  return false;
}

// The first witnesses there are: each `kApart` from the others, and near no multiple of one. Those
// that were found before are kept: programs that follow from others take many.
static int64_t first_witness(KnownNumbers& own, size_t index) {
  const auto is_near = [&](int64_t prime) {
    return std::any_of(own.primes.begin(), own.primes.end(),
                       [&](int64_t known) { return is_near_multiple(prime, known); });
  };
  while (own.primes.size() <= index) {
    int64_t prime = own.primes.empty() ? kFirstPrime : own.primes.back() + kApart;
    while (!is_prime(prime) || is_near(prime) || is_near_to_usual_numbers(prime)) ++prime;
    own.primes.push_back(prime);
  }
  return own.primes[index];
}

// As many again may come before the next time.
static void collect_if_many(KnownNumbers& own) {
  {
    const std::lock_guard lock(own.mutex);
    if (collect_programs == nullptr || live_witnesses < own.collects_at) return;
    own.collects_at = 2 * live_witnesses;
  }
  collect_programs();
}

// The first free number from here on that no second witness of the program is: those of all
// programs would soon be too large where many live.
static int64_t second_witness(const KnownNumbers& own, int64_t second, const Program& program) {
  const auto is_taken = [&](const auto& entry) {
    return entry.second.second == &program && entry.second.first.second == second;
  };
  while (std::any_of(own.owners.begin(), own.owners.end(), is_taken)) second += kSecondApart;
  return second;
}

static Witness take(KnownNumbers& own, const Witness& made, Program& owner) {
  own.owners[made.first] = {made, &owner};
  if (live_witnesses++ == 0) {
    watch_creations(1);
    watch_sizes(true);
  }
  return made;
}

static bool is_near_to_live(const KnownNumbers& own, int64_t prime) {
  return std::any_of(own.owners.begin(), own.owners.end(),
                     [&](const auto& entry) { return is_near_multiple(prime, entry.first); });
}

// What is left of a size by a multiple of another one is no plain number.
static bool is_apart(const KnownNumbers& own, int64_t prime, const Program& program) {
  return std::none_of(own.owners.begin(), own.owners.end(), [&](const auto& entry) {
    if (entry.second.second != &program) return false;
    for (int64_t times = 1; times <= kMostOwnTimes; ++times) {
      if (std::llabs(times * prime - entry.first) < kApartInOne) return true;
      if (std::llabs(prime - times * entry.first) < kApartInOne) return true;
    }
    return false;
  });
}

// That no number is read in two ways: as up to so many times the prime, and as times another size
// of the program, with whatever rests.
static bool is_told(const KnownNumbers& own, int64_t prime, const Program& program) {
  const auto is_near = [](int64_t number, int64_t base) {
    const int64_t rest = number % base;
    return std::min(rest, base - rest) <= 2 * kMostRest;
  };
  return std::none_of(own.owners.begin(), own.owners.end(), [&](const auto& entry) {
    if (entry.second.second != &program) return false;
    for (int64_t times = 1; times <= kMostTold; ++times) {
      if (is_near(times * prime, entry.first) || is_near(times * entry.first, prime)) return true;
    }
    return false;
  });
}

Witness take_witness(Program& owner) {
  KnownNumbers& own = known_numbers();
  collect_if_many(own);
  const std::lock_guard lock(own.mutex);
  size_t index = 0;
  const auto serves = [&](int64_t prime) {
    return !is_near_to_live(own, prime) && is_apart(own, prime, owner) &&
           is_told(own, prime, owner);
  };
  while (!serves(first_witness(own, index))) ++index;
  return take(own, {first_witness(own, index), second_witness(own, kSecond, owner)}, owner);
}

Witness take_witness_below(Program& owner, const Witness& numbers) {
  KnownNumbers& own = known_numbers();
  collect_if_many(own);
  const std::lock_guard lock(own.mutex);
  const auto serves = [&](int64_t prime) {
    return is_prime(prime) && is_apart(own, prime, owner) && is_told(own, prime, owner) &&
           !is_near_to_live(own, prime) && !is_near_to_usual_numbers(prime);
  };
  int64_t prime = numbers.first - kApartInOne / 2;
  while (prime > kLeastPrime && !serves(prime)) --prime;
  if (prime <= kLeastPrime) {
    prime = kLeastPrime;
    while (!serves(prime)) ++prime;
  }
  own.inferred[prime] = numbers.first;
  const int64_t second = std::max(numbers.second, kLeastPrime) / kSecondApart;
  return take(own, {prime, second_witness(own, second * kSecondApart, owner)}, owner);
}

void release_witness(const Witness& witness) {
  const std::lock_guard lock(known_numbers().mutex);
  const int released = static_cast<int>(known_numbers().owners.erase(witness.first));
  known_numbers().inferred.erase(witness.first);
  if (released > 0 && (live_witnesses -= released) == 0) {
    watch_creations(-1);
    watch_sizes(false);
  }
  known_numbers().collects_at =
      std::min(known_numbers().collects_at, std::max(kManyWitnesses, 2 * live_witnesses));
  std::erase_if(known_numbers().written,
                [&](int64_t number) { return multiple_of(number, witness.first).has_value(); });
  if (live_witnesses > 0) return;
  known_numbers().written.clear();
}

double take_real(Program& owner, double about) {
  const std::lock_guard lock(known_numbers().mutex);
  const double size = std::fabs(about);
  if (!(size >= kLeastReal)) about = kLeastReal;
  if (!(size <= kLargestReal)) about = std::signbit(about) ? -kLargestReal : kLargestReal;
  double made = about;
  do {
    const int64_t turn = ++known_numbers().reals_taken % kRealsTold;
    made = about * (kNextToIt + static_cast<double>(2 * turn + 1) * kRealsApart);
  } while (known_numbers().reals.contains(made));
  known_numbers().reals[made] = &owner;
  live_reals = static_cast<int>(known_numbers().reals.size());
  return made;
}

void release_real(double number) {
  const std::lock_guard lock(known_numbers().mutex);
  known_numbers().reals.erase(number);
  live_reals = static_cast<int>(known_numbers().reals.size());
}

Program* program_of(double number) {
  if (live_reals == 0) return nullptr;
  const std::lock_guard lock(known_numbers().mutex);
  const auto found = known_numbers().reals.find(number);
  return found == known_numbers().reals.end() ? nullptr : found->second;
}

static Program* owner_of(int64_t number) {
  const std::lock_guard lock(known_numbers().mutex);
  const auto itself = known_numbers().owners.find(number);
  if (itself != known_numbers().owners.end()) return itself->second.second;
  // A multiple is one by no chance; what has a rest may be near to that of several.
  for (const auto& [prime, entry] : known_numbers().owners) {
    if (number % prime == 0) return entry.second;
  }
  for (const auto& [prime, entry] : known_numbers().owners) {
    if (entry.second->witness_of(number)) return entry.second;
  }
  return nullptr;
}

Program* program_of(int64_t number) {
  if (is_plain(number)) return nullptr;
  if (Program* const built = recorded_owner(number)) return built;
  Program* const owner = owner_of(number);
  // Where many programs live, a second witness is near a multiple of some program's first one.
  return owner == nullptr || is_second_witness_here(*owner, number) ? nullptr : owner;
}

bool stands_for(int64_t number) {
  if (is_plain(number)) return false;
  return owner_of(number) != nullptr || is_second_witness(number);
}

// Whether it is made of a size, or might be a part of one.
static bool looks_like_a_size(int64_t number) {
  if (program_of(number) != nullptr) return true;
  if (std::llabs(number) > INT64_MAX / kMostPartsOfOne) return false;
  for (int64_t parts = 2; parts <= kMostPartsOfOne; ++parts) {
    if (program_of(number * parts) != nullptr) return true;
  }
  return false;
}

void note_written(int64_t number) {
  if (is_plain(number)) return;
  const bool is_of_program = looks_like_a_size(number);
  const std::lock_guard lock(known_numbers().mutex);
  const auto& inferred = known_numbers().inferred;
  const auto is_it = [&](const auto& entry) { return entry.second == number; };
  if (is_of_program || std::any_of(inferred.begin(), inferred.end(), is_it)) {
    known_numbers().written.insert(number);
  }
}

bool was_written(int64_t number) {
  if (is_plain(number)) return false;
  const std::lock_guard lock(known_numbers().mutex);
  return known_numbers().written.contains(number);
}

}  // namespace tensorlike
