#include "run/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

namespace tensorlike::run {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;
constexpr size_t kMostHeader = 1 << 16;

struct Named {
  DType dtype;
  std::string_view name;
};
constexpr Named kDescriptions[] = {
    {DType::kBool, "|b1"},      {DType::kInt8, "|i1"},        {DType::kInt16, "<i2"},
    {DType::kInt32, "<i4"},     {DType::kInt64, "<i8"},       {DType::kUInt8, "|u1"},
    {DType::kUInt16, "<u2"},    {DType::kUInt32, "<u4"},      {DType::kUInt64, "<u8"},
    {DType::kFloat16, "<f2"},   {DType::kFloat32, "<f4"},     {DType::kFloat64, "<f8"},
    {DType::kComplex64, "<c8"}, {DType::kComplex128, "<c16"},
};

// The header: a dict as Python writes it, of three keys.
class Header {
 public:
  Header(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  void read() {
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !dtype) {
        dtype = described(quoted());
      } else if (key == "fortran_order" && !is_fortran) {
        is_fortran = take_word("True");
        if (!*is_fortran && !take_word("False")) refuse("a flag that is neither True nor False");
      } else if (key == "shape" && !shape) {
        read_shape();
      } else {
        refuse("the key " + std::string(key.substr(0, 20)));
      }
      if (take('}')) break;
      expect(',');
    }
    skip();
    if (at_ != text_.size()) refuse("a header that goes on after its end");
    if (!dtype || !is_fortran || !shape) refuse("a header that lacks a key");
    element_count(*shape);
  }

  std::optional<DType> dtype;
  std::optional<bool> is_fortran;
  std::optional<Dims> shape;
  bool is_big_endian = false;

 private:
  [[noreturn]] void refuse(const std::string& got) const {
    fail(ErrorKind::kArgument, said::op("read_npy"), path_, " must be an .npy file of numbers",
         said::got(got));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(text("a header without ", c, " at ", at_));
  }
  bool take_word(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view quoted() {
    expect('\'');
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) refuse("a text without an end");
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }
  DType described(std::string_view name) {
    is_big_endian = name.starts_with('>');
    const std::string here = is_big_endian ? "<" + std::string(name.substr(1)) : std::string(name);
    for (const Named& each : kDescriptions) {
      if (each.name == here) return each.dtype;
    }
    refuse("the dtype " + std::string(name.substr(0, 20)));
  }
  void read_shape() {
    shape.emplace();
    expect('(');
    while (!take(')')) {
      skip();
      int64_t size = -1;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || shape->size() == kMaxDims) refuse("a wrong shape");
      at_ += static_cast<size_t>(end - begin);
      shape->push_back(size);
      if (take(')')) break;
      expect(',');
    }
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

[[noreturn]] void refuse(const std::string& path, const std::string& got) {
  fail(ErrorKind::kArgument, said::op("read_npy"), path, " must be an .npy file", said::got(got));
}

void swap_bytes(RawTensor& x) {
  const auto word = static_cast<std::ptrdiff_t>(
      kind_of(x.dtype) == Kind::kComplex ? size_of(x.dtype) / 2 : size_of(x.dtype));
  char* const end = x.data + x.count * static_cast<int64_t>(size_of(x.dtype));
  for (char* at = x.data; at != end; at += word) std::reverse(at, at + word);
}

// Elements as they lie: in the order of a shape that is turned round.
Ref<RawTensor> turned(const RawTensor& x, const Dims& shape) {
  Dims strides;
  int64_t stride = 1;
  for (int64_t size : shape) {
    strides.push_back(stride);
    stride *= size;
  }
  return contiguous(*x.view(shape, strides));
}

}  // namespace

Ref<RawTensor> read_npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, 12> start{};
  in.read(start.data(), 10);
  if (!in || std::string_view(start.data(), kMagic.size()) != kMagic) {
    refuse(path, in ? "a file of another kind" : "none that can be read");
  }
  const int version = start[6];
  if (version < 1 || version > 3) refuse(path, text("version ", version));
  if (version > 1) in.read(start.data() + 10, 2);
  size_t length = 0;
  for (size_t i = version > 1 ? 4 : 2; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(start[8 + i]);
  }
  if (length > kMostHeader) refuse(path, "a header that is too long");
  std::string text(length, '\0');
  in.read(text.data(), static_cast<std::streamsize>(length));
  if (!in) refuse(path, "one that ends in its header");
  Header header(text, path);
  header.read();
  const auto begin = in.tellg();
  in.seekg(0, std::ios::end);
  const auto bytes = static_cast<uint64_t>(in.tellg() - begin);
  in.seekg(begin);
  const auto wanted = static_cast<uint64_t>(element_count(*header.shape)) * size_of(*header.dtype);
  if (bytes != wanted) refuse(path, tensorlike::text(bytes, " bytes where there must be ", wanted));
  const Ref<RawTensor> made = RawTensor::empty(*header.dtype, *header.shape);
  in.read(made->data, static_cast<std::streamsize>(bytes));
  if (!in) refuse(path, "one that ends too soon");
  if (header.is_big_endian) swap_bytes(*made);
  if (made->dtype == DType::kBool) {
    for (int64_t i = 0; i < made->count; ++i) made->data[i] = static_cast<char>(made->data[i] != 0);
  }
  return *header.is_fortran ? turned(*made, *header.shape) : made;
}

void write_npy(const std::string& path, const RawTensor& given) {
  given.ready("write_npy");
  const Ref<RawTensor> x = contiguous(*moved(given, Device()));
  x->ready("write_npy");
  std::string_view name;
  for (const Named& each : kDescriptions) {
    if (each.dtype == x->dtype) name = each.name;
  }
  if (name.empty()) {
    fail(ErrorKind::kDType, said::op("write_npy"), ".npy files must be of a dtype that NumPy has",
         said::got(name_of(x->dtype)), said::fix("cast the result to float32 in the program"));
  }
  std::string header =
      text("{'descr': '", name, "', 'fortran_order': False, 'shape': ", to_string(x->shape), ", }");
  const size_t whole = kMagic.size() + 4 + header.size() + 1;
  header.append((kAlignment - whole % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out << kMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xFF)
      << static_cast<char>(header.size() >> 8) << header;
  out.write(x->data, static_cast<std::streamsize>(x->count) *
                         static_cast<std::streamsize>(size_of(x->dtype)));
  out.close();
  if (!out) {
    fail(ErrorKind::kArgument, said::op("write_npy"), "the file must be writable", said::got(path));
  }
}

}  // namespace tensorlike::run
