#include "base/device.h"

#include <array>
#include <atomic>
#include <charconv>
#include <mutex>

#include "base/error.h"

namespace tensorlike {
namespace {

// Names are only ever added, and counted after they are there: readers take no lock.
std::array<std::string, kMostKinds>& names() {
  static auto* instance = new std::array<std::string, kMostKinds>{"cpu"};
  return *instance;
}
std::atomic<size_t> count{1};

std::optional<uint8_t> find_kind(std::string_view name) {
  for (size_t kind = 0; kind < count.load(std::memory_order_acquire); ++kind) {
    if (names()[kind] == name) return static_cast<uint8_t>(kind);
  }
  return std::nullopt;
}

}  // namespace

uint8_t device_kind(std::string_view name) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const auto known = find_kind(name)) return *known;
  const size_t kind = count.load();
  if (kind == kMostKinds) {
    fail(ErrorKind::kDevice, said::part("device"), "there may be ", kMostKinds,
         " kinds of devices; got one more, ", name, ".");
  }
  names()[kind] = name;
  count.store(kind + 1, std::memory_order_release);
  return static_cast<uint8_t>(kind);
}

std::string to_string(Device device) {
  if (device.is_cpu()) return "cpu";
  return text(names()[device.kind], ":", static_cast<int>(device.index));
}

std::optional<Device> parse_device(std::string_view text) {
  const size_t colon = text.find(':');
  const auto kind = find_kind(text.substr(0, colon));
  if (!kind) return std::nullopt;
  Device device{*kind};
  if (colon == std::string_view::npos) return device;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, device.index);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return device;
}

}  // namespace tensorlike
