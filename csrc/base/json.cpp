#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

// All of yyjson, as functions of this file alone: nobody else in a process may know them.
#define yyjson_api static
#define YYJSON_DISABLE_UTILS 1
#define YYJSON_DISABLE_NON_STANDARD 1
#include <yyjson/yyjson.c>

namespace tensorlike {
namespace {

constexpr size_t kMostDepth = 128;
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kShown = 40;

// A container lies before its parts.
yyjson_val* next(yyjson_val* value) { return unsafe_yyjson_get_next(value); }

void check_depth(yyjson_val* root) {
  std::vector<const yyjson_val*> ends;  // of the containers around a value
  for (yyjson_val *value = root, *end = next(root); value != end; ++value) {
    while (!ends.empty() && ends.back() == value) ends.pop_back();
    if (!unsafe_yyjson_is_ctn(value)) continue;
    if (ends.size() >= kMostDepth) {
      fail(ErrorKind::kArgument, "it must be JSON",
           said::got("one that is nested deeper than ", kMostDepth));
    }
    ends.push_back(next(value));
  }
}

}  // namespace

void Json::Free::operator()(yyjson_doc* doc) const { yyjson_doc_free(doc); }

Json Json::parse(std::string_view text) {
  if (text.size() > kMostBytes) {
    fail(ErrorKind::kArgument, "JSON must have at most ", kMostBytes, " bytes",
         said::got(text.size()));
  }
  yyjson_read_err error;
  Json made;
  // It reads from a copy: without a flag that says so, it does not write to what it is given.
  made.doc_.reset(
      yyjson_read_opts(const_cast<char*>(text.data()), text.size(), 0, nullptr, &error));
  if (made.doc_ == nullptr) {
    if (error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) throw std::bad_alloc();
    fail(ErrorKind::kArgument, "it must be JSON",
         said::got("what stands near byte ", error.pos, " is no JSON in UTF-8"));
  }
  check_depth(yyjson_doc_get_root(made.doc_.get()));
  return made;
}

Json::Value Json::root() const { return Value(yyjson_doc_get_root(doc_.get())); }

Json::Parts::Iterator& Json::Parts::Iterator::operator++() {
  at_ = next(at_);
  return *this;
}

Json::Parts::Iterator Json::Parts::begin() const { return Iterator(container_ + 1); }
Json::Parts::Iterator Json::Parts::end() const { return Iterator(next(container_)); }
size_t Json::Parts::size() const { return unsafe_yyjson_get_len(container_); }

Json::Kind Json::Value::kind() const {
  switch (unsafe_yyjson_get_type(value_)) {
    case YYJSON_TYPE_BOOL:
      return Kind::kBool;
    case YYJSON_TYPE_STR:
      return Kind::kText;
    case YYJSON_TYPE_ARR:
      return Kind::kList;
    case YYJSON_TYPE_OBJ:
      return Kind::kObject;
    case YYJSON_TYPE_NUM:
      break;
    default:
      return Kind::kNull;
  }
  if (unsafe_yyjson_is_real(value_)) return Kind::kFloat;
  const bool is_wide = unsafe_yyjson_is_uint(value_) && unsafe_yyjson_get_uint(value_) > INT64_MAX;
  return is_wide ? Kind::kUnsigned : Kind::kInteger;
}

void Json::Value::refuse(const char* what) const {
  fail(ErrorKind::kArgument, "there must be ", what, said::got(shown()));
}

std::string Json::Value::shown() const {
  switch (kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return flag("") ? "true" : "false";
    case Kind::kInteger:
      return std::to_string(integer(""));
    case Kind::kUnsigned:
      return std::to_string(wide(""));
    case Kind::kFloat:
      return tensorlike::text(number(""));
    case Kind::kText:
      return tensorlike::text("'", text("").substr(0, kShown), "'");
    case Kind::kList:
      return tensorlike::text("a list of ", list("").size());
    case Kind::kObject:
      break;
  }
  return tensorlike::text("an object of ", object("").size());
}

size_t Json::Value::objects() const {
  size_t count = 0;
  for (yyjson_val* value = value_; value != next(value_); ++value) {
    count += unsafe_yyjson_is_obj(value) ? 1 : 0;
  }
  return count;
}

bool Json::Value::flag(const char* what) const {
  if (kind() != Kind::kBool) refuse(what);
  return unsafe_yyjson_get_bool(value_);
}

int64_t Json::Value::integer(const char* what) const {
  if (kind() != Kind::kInteger) refuse(what);
  return unsafe_yyjson_get_sint(value_);
}

int64_t Json::Value::integer(const char* what, int64_t least, int64_t most) const {
  const int64_t value = integer(what);
  if (value < least || value > most) refuse(what);
  return value;
}

double Json::Value::number(const char* what) const {
  if (kind() != Kind::kFloat) refuse(what);
  return unsafe_yyjson_get_real(value_);
}

uint64_t Json::Value::wide(const char* what) const {
  if (kind() != Kind::kUnsigned && integer(what) < 0) refuse(what);
  return unsafe_yyjson_get_uint(value_);
}

std::string_view Json::Value::text(const char* what) const {
  if (kind() != Kind::kText) refuse(what);
  return {unsafe_yyjson_get_str(value_), unsafe_yyjson_get_len(value_)};
}

Json::Parts Json::Value::list(const char* what) const {
  if (kind() != Kind::kList) refuse(what);
  return Parts(value_);
}

Json::Parts Json::Value::list(const char* what, size_t size) const {
  if (kind() != Kind::kList || Parts(value_).size() != size) refuse(what);
  return Parts(value_);
}

Json::Parts Json::Value::object(const char* what) const {
  if (kind() != Kind::kObject) refuse(what);
  return Parts(value_);
}

JsonFields::JsonFields(const Json::Value& object, const char* what,
                       std::initializer_list<std::string_view> names)
    : what_(what) {
  const Json::Parts parts = object.object(what);
  for (auto at = parts.begin(); at != parts.end(); ++at) {
    const std::string_view key = (*at).text("a key");
    ++at;
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      fail(ErrorKind::kArgument, what, " must not have the key '", key.substr(0, kShown), "'");
    }
    if (has(key)) fail(ErrorKind::kArgument, what, " must have the key '", key, "' once");
    found_.emplace_back(key, *at);
  }
}

bool JsonFields::has(std::string_view name) const {
  return std::any_of(found_.begin(), found_.end(),
                     [&](const auto& entry) { return entry.first == name; });
}

Json::Value JsonFields::at(std::string_view name) const {
  const auto found = std::find_if(found_.begin(), found_.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found != found_.end()) return found->second;
  fail(ErrorKind::kArgument, what_, " must have the key '", name, "'");
}

JsonText& JsonText::open(char bracket) {
  begin_value();
  out_ += bracket;
  closing_ += bracket == '{' ? '}' : ']';
  is_first_ = true;
  return *this;
}

JsonText& JsonText::end() {
  out_ += closing_.back();
  closing_.pop_back();
  is_first_ = false;
  return *this;
}

void JsonText::begin_value() {
  if (!is_first_) out_ += ',';
  is_first_ = false;
}

JsonText& JsonText::key(std::string_view name) {
  begin_value();
  quote(name);
  out_ += ':';
  is_first_ = true;
  return *this;
}

JsonText& JsonText::null() {
  begin_value();
  out_ += "null";
  return *this;
}

JsonText& JsonText::flag(bool value) {
  begin_value();
  out_ += value ? "true" : "false";
  return *this;
}

JsonText& JsonText::integer(int64_t value) {
  begin_value();
  out_ += std::to_string(value);
  return *this;
}

JsonText& JsonText::wide(uint64_t value) {
  begin_value();
  out_ += std::to_string(value);
  return *this;
}

// The shortest digits that give the number back, and a sign that it is no integer.
JsonText& JsonText::number(double value) {
  begin_value();
  char digits[40];
  const std::string_view shortest(
      digits,
      static_cast<size_t>(std::to_chars(digits, digits + sizeof(digits), value).ptr - digits));
  out_ += shortest;
  if (shortest.find_first_not_of("-0123456789") == std::string_view::npos) out_ += ".0";
  return *this;
}

JsonText& JsonText::text(std::string_view value) {
  begin_value();
  quote(value);
  return *this;
}

void JsonText::quote(std::string_view value) {
  yyjson_val quoted;
  unsafe_yyjson_set_strn(&quoted, value.data(), value.size());
  size_t size = 0;
  yyjson_write_err error;
  char* const written = yyjson_val_write_opts(&quoted, 0, nullptr, &size, &error);
  if (written == nullptr) {
    if (error.code == YYJSON_WRITE_ERROR_MEMORY_ALLOCATION) throw std::bad_alloc();
    fail(ErrorKind::kArgument, said::op("save"), "names and texts must be UTF-8");
  }
  const std::unique_ptr<char, decltype(&std::free)> kept(written, std::free);
  out_.append(written, size);
}

}  // namespace tensorlike
