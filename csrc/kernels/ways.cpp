#include "kernels/ways.h"

#include <atomic>
#include <mutex>

#include "base/isa.h"

namespace tensorlike {
namespace {

constexpr int kRates = kWorkCounts + 1;  // the last is what a call takes anyway

// Nanoseconds of each count, by Way.
struct Family {
  Isa level;
  std::string_view vendor;
  double rates[kWayNames.size()][kRates];
};

constexpr Family kFamilies[] = {
#include "kernels/ways.inc"
};

// This processor's; else that of one of its level, or of the nearest.
const Family& choose_family() {
  const std::string_view made_by = processor_vendor();
  const Family* found = nullptr;
  int least = 0;
  for (const Family& family : kFamilies) {
    const int apart = static_cast<int>(family.level) - static_cast<int>(isa());
    const int distance = 2 * (apart < 0 ? -apart : apart) + (family.vendor == made_by ? 0 : 1);
    if (found == nullptr || distance < least) {
      found = &family;
      least = distance;
    }
  }
  return *found;
}

constexpr int kNone = -1;
std::atomic<int> wanted{kNone};
std::atomic<bool> is_noting{false};
std::mutex noted_mutex;
std::vector<Considered> noted;

}  // namespace

double predicted_time(Way way, const Work& work) {
  static const Family& family = choose_family();
  const double (&rates)[kRates] = family.rates[static_cast<size_t>(way)];
  return rates[0] * work.calls + rates[1] * work.products + rates[2] * work.loads +
         rates[3] * work.moved + rates[4] * work.made + rates[5] * work.read + rates[6];
}

Work& Work::operator+=(const Work& other) {
  calls += other.calls;
  products += other.products;
  loads += other.loads;
  moved += other.moved;
  made += other.made;
  read += other.read;
  return *this;
}

void Choice::offer(Way way, std::function<Work()> count) {
  offers_[offered_++] = {way, std::move(count)};
}

Way Choice::best() const {
  const bool is_noted = is_noting.load(std::memory_order_relaxed) && is_noting.exchange(false);
  if (offered_ == 1 && !is_noted) return offers_[0].way;
  Considered all[kMost];
  int best = 0;
  for (int i = 0; i < offered_; ++i) {
    const Work work = offers_[i].count();
    all[i] = {offers_[i].way, work, predicted_time(offers_[i].way, work)};
    if (all[i].time < all[best].time) best = i;
  }
  for (int i = 0; i < offered_; ++i) {
    if (wanted == static_cast<int>(all[i].way)) best = i;
  }
  const Way found = all[best].way;
  if (is_noted) {
    const std::lock_guard<std::mutex> lock(noted_mutex);
    noted.assign(all, all + offered_);
  }
  return found;
}

void want_way(std::optional<Way> way) { wanted = way ? static_cast<int>(*way) : kNone; }
void note_ways(bool is_on) { is_noting = is_on; }
std::vector<Considered> noted_ways() {
  const std::lock_guard<std::mutex> lock(noted_mutex);
  return noted;
}

std::string_view processor_vendor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("amdfam19h")) return "amd 19h";
  if (__builtin_cpu_is("amd")) return "amd";
  if (__builtin_cpu_is("intel")) return "intel";
#endif
  return "";
}

}  // namespace tensorlike
