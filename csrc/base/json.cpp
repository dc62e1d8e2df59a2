#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tensorlike {
namespace {

constexpr size_t kMostDepth = 128;
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kShown = 40;

}  // namespace

// What nlohmann's parser, which does not recurse, tells of a text.
class JsonBuilder {
 public:
  explicit JsonBuilder(Json& out) : out_(out) {}

  bool null() { return add(Json::Kind::kNull); }
  bool boolean(bool value) {
    return add(Json::Kind::kBool, [&](auto& node) { node.flag = value; });
  }
  bool number_integer(int64_t value) {
    return add(Json::Kind::kInteger, [&](auto& node) { node.integer = value; });
  }
  bool number_unsigned(uint64_t value) {
    if (value <= INT64_MAX) return number_integer(static_cast<int64_t>(value));
    return add(Json::Kind::kUnsigned, [&](auto& node) { node.wide = value; });
  }
  bool number_float(double value, const std::string&) {
    return add(Json::Kind::kFloat, [&](auto& node) { node.number = value; });
  }
  bool string(std::string& value) { return add_text(value); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool key(std::string& value) { return add_text(value); }
  bool start_object(size_t) { return open(Json::Kind::kObject); }
  bool start_array(size_t) { return open(Json::Kind::kList); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(size_t place, const std::string&, const nlohmann::detail::exception&) {
    problem = text("what stands near byte ", place, " is no JSON in UTF-8");
    return false;
  }

  std::string problem;

 private:
  template <class Set>
  bool add(Json::Kind kind, Set&& set) {
    if (!open_.empty()) ++out_.nodes_[open_.back()].size;
    Json::Node& node = out_.nodes_.emplace_back();
    node.kind = kind;
    set(node);
    return true;
  }
  bool add(Json::Kind kind) {
    return add(kind, [](auto& node) { node.place = 0; });
  }
  bool add_text(const std::string& value) {
    const size_t place = out_.texts_.size();
    out_.texts_ += value;
    return add(Json::Kind::kText, [&](auto& node) {
      node.place = place;
      node.size = static_cast<uint32_t>(value.size());
    });
  }
  bool open(Json::Kind kind) {
    if (open_.size() >= kMostDepth) {
      problem = text("it is nested deeper than ", kMostDepth);
      return false;
    }
    add(kind);
    open_.push_back(out_.nodes_.size() - 1);
    return true;
  }
  bool close() {
    out_.nodes_[open_.back()].place = out_.nodes_.size();
    open_.pop_back();
    return true;
  }

  Json& out_;
  std::vector<size_t> open_;
};

Json Json::parse(std::string_view text) {
  Json made;
  if (text.size() > kMostBytes) {
    fail(ErrorKind::kArgument, "JSON must have at most ", kMostBytes, " bytes",
         said::got(text.size()));
  }
  // No more nodes than that, and no growing of the list: memory is bounded by the text.
  const auto begins = [](char c) { return c == '[' || c == '{' || c == ':' || c == ','; };
  made.nodes_.reserve(2 + static_cast<size_t>(std::count_if(text.begin(), text.end(), begins)));
  JsonBuilder builder(made);
  if (!nlohmann::json::sax_parse(text, &builder)) {
    fail(ErrorKind::kArgument, "it must be JSON", said::got(builder.problem));
  }
  return made;
}

void Json::Value::refuse(const char* what) const {
  fail(ErrorKind::kArgument, "there must be ", what, said::got(shown()));
}

std::string Json::Value::shown() const {
  switch (node().kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return node().flag ? "true" : "false";
    case Kind::kInteger:
      return std::to_string(node().integer);
    case Kind::kUnsigned:
      return std::to_string(node().wide);
    case Kind::kFloat:
      return tensorlike::text(node().number);
    case Kind::kText:
      return tensorlike::text("'", text("").substr(0, kShown), "'");
    case Kind::kList:
      return tensorlike::text("a list of ", node().size);
    case Kind::kObject:
      break;
  }
  return tensorlike::text("an object of ", node().size / 2);
}

size_t Json::Value::objects() const {
  const auto first = json_->nodes_.begin() + static_cast<std::ptrdiff_t>(at_);
  const auto last = json_->nodes_.begin() + static_cast<std::ptrdiff_t>(next());
  const auto is_object = [](const Node& node) { return node.kind == Kind::kObject; };
  return static_cast<size_t>(std::count_if(first, last, is_object));
}

bool Json::Value::flag(const char* what) const {
  if (node().kind != Kind::kBool) refuse(what);
  return node().flag;
}

int64_t Json::Value::integer(const char* what) const {
  if (node().kind != Kind::kInteger) refuse(what);
  return node().integer;
}

int64_t Json::Value::integer(const char* what, int64_t least, int64_t most) const {
  const int64_t value = integer(what);
  if (value < least || value > most) refuse(what);
  return value;
}

double Json::Value::number(const char* what) const {
  if (node().kind != Kind::kFloat) refuse(what);
  return node().number;
}

uint64_t Json::Value::wide(const char* what) const {
  if (node().kind == Kind::kUnsigned) return node().wide;
  if (node().kind != Kind::kInteger || node().integer < 0) refuse(what);
  return static_cast<uint64_t>(node().integer);
}

std::string_view Json::Value::text(const char* what) const {
  if (node().kind != Kind::kText) refuse(what);
  return std::string_view(json_->texts_).substr(node().place, node().size);
}

Json::Parts Json::Value::list(const char* what) const {
  if (node().kind != Kind::kList) refuse(what);
  return {*json_, at_ + 1, node().place, node().size};
}

Json::Parts Json::Value::list(const char* what, size_t size) const {
  if (node().kind != Kind::kList || node().size != size) refuse(what);
  return list(what);
}

Json::Parts Json::Value::object(const char* what) const {
  if (node().kind != Kind::kObject) refuse(what);
  return {*json_, at_ + 1, node().place, node().size};
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
  try {
    out_ += nlohmann::json(value).dump();
  } catch (const nlohmann::json::exception&) {
    fail(ErrorKind::kArgument, said::op("save"), "names and texts must be UTF-8");
  }
}

}  // namespace tensorlike
