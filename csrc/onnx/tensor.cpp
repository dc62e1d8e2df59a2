#include "onnx/tensor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "onnx/wire.h"

namespace tensorlike::onnx {
namespace {

struct OtherDType {
  int64_t number;
  std::string_view name;
};
// What a file may hold and we have not.
constexpr OtherDType kOthers[] = {
    {8, "string"},          {17, "float8e4m3fn"}, {18, "float8e4m3fnuz"}, {19, "float8e5m2"},
    {20, "float8e5m2fnuz"}, {21, "uint4"},        {22, "int4"},           {23, "float4e2m1"},
    {24, "float8e8m0"},     {25, "uint2"},        {26, "int2"},
};
constexpr std::pair<int64_t, DType> kDTypes[] = {
    {1, DType::kFloat32},    {2, DType::kUInt8},       {3, DType::kInt8},      {4, DType::kUInt16},
    {5, DType::kInt16},      {6, DType::kInt32},       {7, DType::kInt64},     {9, DType::kBool},
    {10, DType::kFloat16},   {11, DType::kFloat64},    {12, DType::kUInt32},   {13, DType::kUInt64},
    {14, DType::kComplex64}, {15, DType::kComplex128}, {16, DType::kBFloat16},
};

// The fields of a TensorProto.
struct Fields {
  Dims shape;
  int64_t dtype = 0;
  std::string name;
  bool has_raw = false, is_external = false;
  std::string_view raw;
  std::vector<int64_t> integers;  // of int32_data, int64_data or uint64_data
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::pair<std::string, std::string>> external;
};

std::pair<std::string, std::string> read_entry(std::string_view message) {
  std::pair<std::string, std::string> entry;
  for (WireFields field(message); field.next();) {
    if (field.number() == 1) entry.first = field.text();
    if (field.number() == 2) entry.second = field.text();
  }
  return entry;
}

Fields read_fields(std::string_view message) {
  Fields found;
  std::vector<int64_t> sizes;
  for (WireFields field(message); field.next();) {
    switch (field.number()) {
      case 1:
        field.add_to(sizes);
        break;
      case 2:
        found.dtype = field.integer();
        break;
      case 4:
        field.add_to(found.floats);
        break;
      case 5:
      case 7:
      case 11:
        field.add_to(found.integers);
        break;
      case 6:
        dtype_of(8);
        break;  // texts
      case 8:
        found.name = field.text();
        break;
      case 9:
        found.raw = field.bytes();
        found.has_raw = true;
        break;
      case 10:
        field.add_to(found.doubles);
        break;
      case 13:
        found.external.push_back(read_entry(field.bytes()));
        break;
      case 14:
        found.is_external = field.integer() == 1;
        break;
      default:
        break;
    }
  }
  if (sizes.size() > kMaxDims) refuse_model(text("a tensor of ", sizes.size(), " dimensions"));
  for (int64_t size : sizes) {
    if (size < 0) refuse_model(text("a tensor with a size of ", size));
    found.shape.push_back(size);
  }
  return found;
}

int64_t bytes_of(const Dims& shape, DType dtype) {
  auto bytes = static_cast<int64_t>(size_of(dtype));
  for (int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      refuse_model(text("a tensor of shape ", to_string(shape), ", which no memory could hold"));
    }
  }
  return bytes;
}

[[noreturn]] void refuse_count(const Fields& fields, uint64_t got) {
  refuse_model(text("the tensor '", fields.name, "' of shape ", to_string(fields.shape), " with ",
                    got, " elements"));
}

template <class To, class From>
void convert(char* to, const std::vector<From>& from) {
  for (size_t i = 0; i < from.size(); ++i) {
    const To value = static_cast<To>(from[i]);
    std::memcpy(to + i * sizeof(To), &value, sizeof(To));
  }
}

// Elements from fields of numbers, which are wider than they.
void fill(RawTensor& made, const Fields& fields) {
  const auto check = [&](size_t got, int64_t each) {
    if (static_cast<int64_t>(got) != made.count * each) refuse_count(fields, got);
  };
  switch (made.dtype) {
    case DType::kFloat32:
    case DType::kComplex64:
      check(fields.floats.size(), made.dtype == DType::kFloat32 ? 1 : 2);
      convert<float>(made.data, fields.floats);
      return;
    case DType::kFloat64:
    case DType::kComplex128:
      check(fields.doubles.size(), made.dtype == DType::kFloat64 ? 1 : 2);
      convert<double>(made.data, fields.doubles);
      return;
    default:
      break;
  }
  check(fields.integers.size(), 1);
  switch (size_of(made.dtype)) {  // halves are given by their bits
    case 1:
      made.dtype == DType::kBool ? convert<bool>(made.data, fields.integers)
                                 : convert<uint8_t>(made.data, fields.integers);
      return;
    case 2:
      convert<uint16_t>(made.data, fields.integers);
      return;
    case 4:
      convert<uint32_t>(made.data, fields.integers);
      return;
    default:
      convert<uint64_t>(made.data, fields.integers);
      return;
  }
}

[[noreturn]] void refuse_file(const std::string& location, const std::string& got) {
  constexpr size_t kShown = 200;
  const std::string shown = location.substr(0, std::min(location.find('\0'), kShown));
  fail(ErrorKind::kArgument, said::op("onnx"), "the file of a tensor, '", shown,
       "', must be a plain file in the model's folder or below it", said::got(got));
}

// A file that is open, for as long as this lives.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  void become(int number) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

 private:
  int number_;
};

// Goes from the folder to the file name by name, so that no link and no `..` leads out of it.
void open_below(OpenFile& file, const std::string& location) {
  if (location.empty() || location.find('\0') != std::string::npos || location[0] == '/') {
    refuse_file(location, "a path that does not go on from the folder");
  }
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string part = location.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") refuse_file(location, "a path with ..");
    const int kind = end == location.size() ? O_NONBLOCK : O_DIRECTORY;
    file.become(openat(file.number(), part.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind));
    if (file.number() < 0) refuse_file(location, "none that can be opened, or a link");
  }
}

uint64_t number_in(const std::string& text, const std::string& location) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse_file(location, "the number '" + text.substr(0, 40) + "'");
  }
  return value;
}

Ref<RawTensor> read_external(const Fields& fields, DType dtype, uint64_t wanted,
                             DataFolder& folder) {
  std::string location;
  uint64_t offset = 0, length = UINT64_MAX;
  for (const auto& [key, value] : fields.external) {
    if (key == "location") location = value;
    if (key == "offset") offset = number_in(value, location);
    if (key == "length") length = number_in(value, location);
  }
  const std::string& path = folder.path();
  OpenFile file(open(path.empty() ? "." : path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  open_below(file, location);
  struct stat status = {};
  if (fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse_file(location, "another kind of file");
  }
  if (status.st_nlink != 1) refuse_file(location, "one that has another name, too");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (offset <= size && length == UINT64_MAX) length = size - offset;
  if (offset > size || size - offset < wanted || length != wanted) {
    refuse_file(location,
                text("not ", wanted, " bytes from ", offset, " that are all of the tensor"));
  }
  folder.count(location, size, wanted);
  Ref<RawTensor> made = RawTensor::empty(dtype, fields.shape);
  for (uint64_t done = 0; done < wanted;) {
    const ssize_t count =
        pread(file.number(), made->data + done, wanted - done, static_cast<off_t>(offset + done));
    if (count <= 0) refuse_file(location, "one that cannot be read to its end");
    done += static_cast<uint64_t>(count);
  }
  return made;
}

Ref<RawTensor> read_elements(const Fields& fields, DType dtype, uint64_t bytes) {
  // What is said is there is there before memory is taken for it.
  const size_t numbers = fields.integers.size() + fields.floats.size() + fields.doubles.size();
  const uint64_t count = bytes / size_of(dtype);
  if (fields.has_raw ? fields.raw.size() != bytes : numbers < count) {
    refuse_count(fields, fields.has_raw ? fields.raw.size() / size_of(dtype) : numbers);
  }
  Ref<RawTensor> made = RawTensor::empty(dtype, fields.shape);
  if (!fields.has_raw) {
    fill(*made, fields);
  } else if (bytes > 0) {
    std::memcpy(made->data, fields.raw.data(), bytes);
  }
  return made;
}

}  // namespace

DType dtype_of(int64_t number) {
  for (const auto& [known, dtype] : kDTypes) {
    if (known == number) return dtype;
  }
  std::string name = text("the dtype ", number);
  for (const OtherDType& other : kOthers) {
    if (other.number == number) name = other.name;
  }
  fail(ErrorKind::kDType, said::op("onnx"), "tensors must be of a dtype that we have",
       said::got(name));
}

void DataFolder::count(const std::string& location, uint64_t size, uint64_t bytes) {
  constexpr uint64_t kMostTimes = 64;
  uint64_t& total = read_[location];
  total += bytes;
  if (total / kMostTimes > size) {
    fail(ErrorKind::kArgument, said::op("onnx"), "the tensors in the file '", location,
         "' must not be more than ", kMostTimes, " times as large as it together",
         said::got(text(total, " bytes of a file of ", size)));
  }
}

std::pair<std::string, Ref<RawTensor>> read_tensor(std::string_view message, DataFolder& folder) {
  Fields fields = read_fields(message);
  const DType dtype = dtype_of(fields.dtype);
  const auto bytes = static_cast<uint64_t>(bytes_of(fields.shape, dtype));
  Ref<RawTensor> made = fields.is_external ? read_external(fields, dtype, bytes, folder)
                                           : read_elements(fields, dtype, bytes);
  if (dtype == DType::kBool) {
    for (int64_t i = 0; i < made->count; ++i) made->data[i] = static_cast<char>(made->data[i] != 0);
  }
  return {std::move(fields.name), std::move(made)};
}

}  // namespace tensorlike::onnx
