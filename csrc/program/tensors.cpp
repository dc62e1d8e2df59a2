#include "program/tensors.h"

#include <algorithm>
#include <cstring>

#include "base/json.h"

namespace tensorlike {
namespace {

constexpr size_t kHeaderAlignment = 8;

struct StoredName {
  DType dtype;
  std::string_view name;
};
constexpr StoredName kStored[] = {
    {DType::kBool, "BOOL"},   {DType::kInt8, "I8"},       {DType::kInt16, "I16"},
    {DType::kInt32, "I32"},   {DType::kInt64, "I64"},     {DType::kUInt8, "U8"},
    {DType::kUInt16, "U16"},  {DType::kUInt32, "U32"},    {DType::kUInt64, "U64"},
    {DType::kFloat16, "F16"}, {DType::kBFloat16, "BF16"}, {DType::kFloat32, "F32"},
    {DType::kFloat64, "F64"},
};

Spec stored(const Spec& spec) {
  if (kind_of(spec.dtype) != Kind::kComplex) return {spec.dtype, spec.shape};
  Spec made{real_of(spec.dtype), spec.shape};
  made.shape.push_back(2);
  return made;
}

std::string_view stored_name(DType dtype) {
  const auto is_it = [&](const StoredName& each) { return each.dtype == dtype; };
  return std::find_if(std::begin(kStored), std::end(kStored), is_it)->name;
}

[[noreturn]] void refuse(const std::string& why) {
  fail(ErrorKind::kArgument, "the tensors must be in the form of safetensors", said::got(why));
}

DType dtype_from(std::string_view name) {
  for (const StoredName& each : kStored) {
    if (each.name == name) return each.dtype;
  }
  refuse(text("the dtype '", name.substr(0, 20), "'"));
}

}  // namespace

std::string write_tensors(const NamedTensors& tensors) {
  std::vector<std::pair<std::string_view, Ref<RawTensor>>> ordered;
  for (const auto& [name, tensor] : tensors) {
    tensor->ready("save");
    ordered.emplace_back(name, contiguous(*moved(*tensor, Device())));
    ordered.back().second->ready("save");
  }
  // The widest first: so each lies as its elements want it, with no holes between.
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return size_of(real_of(a.second->dtype)) > size_of(real_of(b.second->dtype));
  });
  JsonText header;
  header.object();
  size_t place = 0;
  for (const auto& [name, tensor] : ordered) {
    const Spec spec = stored(tensor->spec());
    header.key(name).object().key("dtype").text(stored_name(spec.dtype)).key("shape").list();
    for (int64_t size : spec.shape) header.integer(size);
    const size_t bytes = static_cast<size_t>(tensor->count) * size_of(tensor->dtype);
    header.end().key("data_offsets").list().wide(place).wide(place + bytes).end().end();
    place += bytes;
  }
  std::string text = header.end().take();
  text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  std::string out(sizeof(uint64_t), '\0');
  for (size_t i = 0; i < sizeof(uint64_t); ++i) {
    out[i] = static_cast<char>(text.size() >> (8 * i) & 0xFF);
  }
  out.reserve(out.size() + text.size() + place);
  out += text;
  for (const auto& [name, tensor] : ordered) {
    out.append(tensor->data, static_cast<size_t>(tensor->count) * size_of(tensor->dtype));
  }
  return out;
}

TensorsInFile::TensorsInFile(std::string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) refuse("less than a header");
  for (size_t i = 0; i < sizeof(length); ++i) {
    length |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  bytes.remove_prefix(sizeof(length));
  if (length > bytes.size()) refuse("a header longer than the file");
  const Json header = Json::parse(bytes.substr(0, length));
  bytes.remove_prefix(length);
  size_t end = 0;
  const Json::Parts parts = header.root().object("tensors by their names");
  for (auto at = parts.begin(); at != parts.end(); ++at) {
    std::string name((*at).text("a name"));
    ++at;
    const JsonFields fields(*at, "a tensor", {"dtype", "shape", "data_offsets"});
    Entry entry{dtype_from(fields.at("dtype").text("a dtype")), {}, {}};
    for (const Json::Value& size : fields.at("shape").list("a shape")) {
      entry.shape.push_back(size.integer("a size", 0, INT64_MAX));
    }
    const Json::Parts places = fields.at("data_offsets").list("two places", 2);
    const size_t first = (*places.begin()).wide("a place");
    const size_t last = (*++places.begin()).wide("a place");
    if (first != end || last < first || last > bytes.size()) refuse("places that do not follow");
    end = last;
    entry.data = bytes.substr(first, last - first);
    add(std::move(name), std::move(entry));
  }
  if (end != bytes.size()) refuse("bytes that are no tensor's");
}

void TensorsInFile::add(std::string name, Entry entry) {
  const int64_t count = element_count(entry.shape);
  int64_t bytes = 0;
  const auto width = static_cast<int64_t>(size_of(entry.dtype));
  if (__builtin_mul_overflow(count, width, &bytes) ||
      static_cast<size_t>(bytes) != entry.data.size()) {
    refuse(text(entry.data.size(), " bytes for ", to_string({entry.dtype, entry.shape})));
  }
  if (!entries_.emplace(std::move(name), std::move(entry)).second) refuse("a name twice");
}

Ref<RawTensor> TensorsInFile::take(const std::string& name, const Spec& wanted) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse("none called '" + name + "'");
  Entry& entry = found->second;
  const Spec spec = stored(wanted);
  const bool is_other = entry.copy && entry.copy->dtype != wanted.dtype;
  if (entry.dtype != spec.dtype || !(entry.shape == spec.shape) || is_other) {
    refuse(text("'", name, "' of ", to_string({entry.dtype, entry.shape}), " where there must be ",
                to_string(spec)));
  }
  if (entry.copy) return entry.copy;
  const Ref<RawTensor> made = entry.copy = RawTensor::empty(wanted.dtype, wanted.shape);
  if (entry.dtype == DType::kBool) {
    std::transform(entry.data.begin(), entry.data.end(), made->data,
                   [](char c) { return static_cast<char>(c != 0); });
  } else if (!entry.data.empty()) {
    std::memcpy(made->data, entry.data.data(), entry.data.size());
  }
  return made;
}

}  // namespace tensorlike
