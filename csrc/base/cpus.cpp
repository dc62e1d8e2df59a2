#include "base/cpus.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

#include "base/environment.h"

namespace tensorlike {
namespace {

int parse_positive(std::string_view text) {  // 0: not a positive whole number
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return 0;
  return std::min(value, kMaxThreads);
}

int quota_to_threads(double quota, double period) {  // 0: no limit
  if (!(quota > 0) || !(period > 0)) return 0;
  const double whole = quota / period;
  return whole >= kMaxThreads ? kMaxThreads : std::max(1, static_cast<int>(whole + 0.999));
}

int quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  return quota_to_threads(std::strtod(quota.c_str(), nullptr), period);
}

int quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return 0;
  return quota_to_threads(quota, period);
}

// The smallest quota of a group and its ancestors: each of them binds. In a container the path is
// often that of the host, of which only the last parent, the mount itself, exists.
int smallest_quota(const std::string& mount, std::string path, int (*read)(const std::string&)) {
  int smallest = 0;
  for (;;) {
    const int quota = read(mount + path);
    if (quota != 0) smallest = smallest == 0 ? quota : std::min(smallest, quota);
    if (path.empty()) return smallest;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool lists_controller(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == name) return true;
    controllers.remove_prefix(comma == std::string_view::npos ? controllers.size() : comma + 1);
  }
  return false;
}

int cgroup_quota() {  // 0: no limit known
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  int smallest = 0;
  while (std::getline(file, line)) {  // "hierarchy:controllers:path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    int quota = 0;
    if (controllers.empty()) {
      quota = smallest_quota("/sys/fs/cgroup", path, quota_v2);
    } else if (lists_controller(controllers, "cpu")) {
      quota = smallest_quota("/sys/fs/cgroup/cpu", path, quota_v1);
      if (quota == 0) quota = smallest_quota("/sys/fs/cgroup/" + controllers, path, quota_v1);
    }
    if (quota != 0) smallest = smallest == 0 ? quota : std::min(smallest, quota);
  }
  return smallest;
}

int affinity_count() {  // 0: unknown
#ifdef __linux__
  // The kernel refuses a mask smaller than its own, so grow it until it fits.
  for (int cpus = 1024; cpus <= 1024 * 1024; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpus));
    if (set == nullptr) return 0;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
#endif
  return 0;
}

}  // namespace

int default_threads() {
  if (const char* text = variable("TENSORLIKE_NUM_THREADS")) {
    if (const int wanted = parse_positive(text)) return wanted;
    refuse_variable("TENSORLIKE_NUM_THREADS", "a positive integer");
  }
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  for (const int limit : {affinity_count(), cgroup_quota()}) {
    if (limit > 0) threads = threads > 0 ? std::min(threads, limit) : limit;
  }
  return std::clamp(threads, 1, kMaxThreads);
}

}  // namespace tensorlike
