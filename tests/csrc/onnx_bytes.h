// Fields of protobuf's wire format, and changes to bytes that may be anything.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

namespace tensorlike::onnx {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string field(uint32_t number, uint64_t value) {
  return varint(number << 3) + varint(value);
}
inline std::string field(uint32_t number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string real_field(uint32_t number, float value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return varint(number << 3 | 5) + bytes;
}

inline std::string opset(const std::string& domain, uint64_t version) {
  return field(8, field(1, domain) + field(2, version));
}

// Bytes that are set, taken out and put in.
inline std::string mutated(std::string bytes, std::mt19937& random) {
  for (int changes = static_cast<int>(random() % 4); changes >= 0 && !bytes.empty(); --changes) {
    const size_t at = random() % bytes.size();
    switch (random() % 3) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, 1 + random() % 3);
        break;
      default:
        bytes.insert(at, 1 + random() % 3, static_cast<char>(random()));
        break;
    }
  }
  return bytes;
}

}  // namespace tensorlike::onnx
