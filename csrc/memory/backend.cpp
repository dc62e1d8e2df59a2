#include "memory/backend.h"

#include <array>
#include <atomic>
#include <mutex>

namespace tensorlike {
namespace {

// Devices are only ever added, and never go: readers take no lock.
constexpr size_t kMostDevices = 16;  // of a kind
std::array<std::array<std::atomic<Backend*>, kMostDevices>, kMostKinds> table{};

std::atomic<bool> is_there_another{false};

std::mutex& mutex() {
  static auto* instance = new std::mutex;
  return *instance;
}
std::vector<Device>& order() {
  static auto* instance = new std::vector<Device>;
  return *instance;
}

Backend* find(Device device) {
  if (device.kind >= kMostKinds || device.index >= kMostDevices) return nullptr;
  return table[device.kind][device.index].load(std::memory_order_acquire);
}

}  // namespace

Backend& detail::find_backend(Device device) {
  Backend* const found = find(device);
  if (found == nullptr) {
    fail(ErrorKind::kDevice, said::part("device"), "there is no ", to_string(device), ".");
  }
  return *found;
}

void register_backend(std::unique_ptr<Backend> made) {
  const Device device = made->device;
  const std::lock_guard lock(mutex());
  if (device.kind >= kMostKinds || device.index >= kMostDevices || find(device) != nullptr) {
    fail(ErrorKind::kDevice, said::part("device"), to_string(device), " must be a new one.");
  }
  order().push_back(device);
  if (device.is_cpu()) {
    detail::cpu = made.get();
  } else {
    is_there_another = true;
  }
  table[device.kind][device.index].store(made.release(), std::memory_order_release);
}

bool has_devices() { return is_there_another.load(std::memory_order_relaxed); }

std::vector<Device> devices() {
  const std::lock_guard lock(mutex());
  return order();
}

Device require_device(const std::string& op, std::string_view name) {
  const std::optional<Device> device = parse_device(name);
  if (device && find(*device) != nullptr) return *device;
  std::string known;
  for (const Device& each : devices()) {
    known += (known.empty() ? "'" : ", '") + to_string(each) + "'";
  }
  fail(ErrorKind::kDevice, said::op(op), said::argument("device"),
       "must be one that this build has: ", known, said::got("'", name, "'"));
}

}  // namespace tensorlike
