#include "onnx/wire.h"

#include <cstring>

#include "base/error.h"

namespace tensorlike::onnx {
namespace {

constexpr int kMostVarintBytes = 10;

uint64_t take_varint(std::string_view& rest) {
  uint64_t value = 0;
  for (int i = 0; i < kMostVarintBytes; ++i) {
    if (rest.empty()) refuse_model("a number that does not end");
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) return value;
  }
  refuse_model("a number of too many bytes");
}

std::string_view take(std::string_view& rest, uint64_t count) {
  if (count > rest.size()) refuse_model("a field that is longer than what holds it");
  const std::string_view found = rest.substr(0, count);
  rest.remove_prefix(count);
  return found;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t more = lead < 0x80   ? 0
                        : lead < 0xC2 ? 9
                        : lead < 0xE0 ? 1
                        : lead < 0xF0 ? 2
                        : lead < 0xF5 ? 3
                                      : 9;
    if (more == 9 || i + more >= text.size()) return false;
    for (size_t k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

}  // namespace

void refuse_model(const std::string& got) {
  fail(ErrorKind::kArgument, said::op("onnx"), "the bytes must be an ONNX model", said::got(got));
}

bool WireFields::next() {
  if (rest_.empty()) return false;
  const uint64_t tag = take_varint(rest_);
  if (tag >> 3 == 0 || tag >> 32 != 0) refuse_model("a field without a number");
  number_ = static_cast<uint32_t>(tag >> 3);
  switch (tag & 7) {
    case kVarint:
      type_ = kVarint;
      value_ = take_varint(rest_);
      return true;
    case kFixed64:
      type_ = kFixed64;
      bytes_ = take(rest_, sizeof(double));
      return true;
    case kBytes:
      type_ = kBytes;
      bytes_ = take(rest_, take_varint(rest_));
      return true;
    case kFixed32:
      type_ = kFixed32;
      bytes_ = take(rest_, sizeof(float));
      return true;
    default:
      refuse_model(tensorlike::text("a field of the wire type ", tag & 7));
  }
}

void WireFields::expect(Type type) const {
  if (type_ != type) refuse_model(tensorlike::text("field ", number_, " of another type"));
}

int64_t WireFields::integer() const {
  expect(kVarint);
  return static_cast<int64_t>(value_);
}

float WireFields::real() const {
  expect(kFixed32);
  float value = 0;
  std::memcpy(&value, bytes_.data(), sizeof(value));
  return value;
}

std::string_view WireFields::bytes() const {
  expect(kBytes);
  return bytes_;
}

std::string WireFields::text() const {
  expect(kBytes);
  if (!is_utf8(bytes_)) refuse_model("a text that is no UTF-8");
  return std::string(bytes_);
}

void WireFields::add_to(std::vector<int64_t>& integers) const {
  if (type_ == kVarint) {
    integers.push_back(integer());
    return;
  }
  for (std::string_view rest = bytes(); !rest.empty();) {
    integers.push_back(static_cast<int64_t>(take_varint(rest)));
  }
}

template <class Number>
void WireFields::add_fixed(std::vector<Number>& numbers, Type one) const {
  if (type_ != one) expect(kBytes);
  if (bytes_.size() % sizeof(Number) != 0) refuse_model("numbers that end in between");
  const size_t before = numbers.size();
  numbers.resize(before + bytes_.size() / sizeof(Number));
  if (!bytes_.empty()) std::memcpy(numbers.data() + before, bytes_.data(), bytes_.size());
}

void WireFields::add_to(std::vector<float>& numbers) const { add_fixed(numbers, kFixed32); }
void WireFields::add_to(std::vector<double>& numbers) const { add_fixed(numbers, kFixed64); }

}  // namespace tensorlike::onnx
