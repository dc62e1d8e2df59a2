// Protobuf's wire format, read where it lies: the fields of a message one after the other, nothing
// copied, and nothing believed. https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tensorlike::onnx {

// ErrorKind::kArgument: the bytes are no ONNX model.
[[noreturn]] void refuse_model(const std::string& got);

class WireFields {
 public:
  explicit WireFields(std::string_view message) : rest_(message) {}

  // Goes to the next field; false: there is none any more.
  bool next();
  uint32_t number() const { return number_; }

  // What the field holds; ErrorKind::kArgument where it is of another wire type.
  int64_t integer() const;
  float real() const;
  std::string_view bytes() const;
  std::string text() const;  // which must be UTF-8
  // One or more values of a repeated field, packed or not.
  void add_to(std::vector<int64_t>& integers) const;
  void add_to(std::vector<float>& numbers) const;
  void add_to(std::vector<double>& numbers) const;

 private:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  void expect(Type type) const;
  template <class Number>
  void add_fixed(std::vector<Number>& numbers, Type one) const;

  std::string_view rest_;
  uint32_t number_ = 0;
  Type type_ = kVarint;
  uint64_t value_ = 0;      // of a varint
  std::string_view bytes_;  // of all others
};

}  // namespace tensorlike::onnx
