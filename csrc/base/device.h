// Devices: where a tensor keeps its elements. A device is a kind, of which a backend is registered
// (memory/backend.h), and an index among those of the kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tensorlike {

struct Device {
  uint8_t kind = 0;  // 0: the CPU
  uint8_t index = 0;

  bool operator==(const Device&) const = default;
  bool is_cpu() const { return kind == 0; }
};

inline constexpr size_t kMostKinds = 8;  // of devices

// The number of a kind, by its name; a new one where the name is new. ErrorKind::kDevice beyond
// kMostKinds.
uint8_t device_kind(std::string_view name);

// "cpu", "cuda:0".
std::string to_string(Device device);
// The device that a text names, whether or not there is one: "cuda" is "cuda:0". None where no
// kind has that name.
std::optional<Device> parse_device(std::string_view text);

// Where tensors are made when nothing says it: a choice of each thread.
inline thread_local Device default_device;

// Says it for a while.
class DeviceScope {
 public:
  explicit DeviceScope(Device device) : previous_(default_device) { default_device = device; }
  ~DeviceScope() { default_device = previous_; }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  const Device previous_;
};

}  // namespace tensorlike
