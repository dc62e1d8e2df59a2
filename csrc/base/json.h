// JSON that is read from files which nobody vouches for, and written. yyjson reads it; what was
// read is a list of its values in the order of the text, each container with the place behind its
// last part, so that nothing recurses over what a file says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct yyjson_doc;
struct yyjson_val;

namespace tensorlike {

class Json {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInteger, kUnsigned, kFloat, kText, kList, kObject };
  class Value;
  class Parts;

  // ErrorKind::kArgument where it is no JSON, or one that is nested deeper than programs are.
  static Json parse(std::string_view text);
  Value root() const;

 private:
  struct Free {
    void operator()(yyjson_doc* doc) const;
  };
  std::unique_ptr<yyjson_doc, Free> doc_;
};

// A value, as long as its Json lives. Whoever asks for one of another kind gets an error that names
// `what` it was to be.
class Json::Value {
 public:
  explicit Value(yyjson_val* value) : value_(value) {}

  Kind kind() const;
  bool is(Kind kind) const { return this->kind() == kind; }
  bool flag(const char* what) const;
  int64_t integer(const char* what) const;
  // Between two numbers, both included.
  int64_t integer(const char* what, int64_t least, int64_t most) const;
  double number(const char* what) const;  // one with a fraction, or an exponent
  uint64_t wide(const char* what) const;
  std::string_view text(const char* what) const;
  Parts list(const char* what) const;
  Parts list(const char* what, size_t size) const;
  // Keys and values in turn.
  Parts object(const char* what) const;

  // How many objects it holds, those in its parts included.
  size_t objects() const;
  // For errors: as it is, where it is short.
  std::string shown() const;

 private:
  [[noreturn]] void refuse(const char* what) const;

  yyjson_val* value_;
};

// The parts of a list or an object.
class Json::Parts {
 public:
  explicit Parts(yyjson_val* container) : container_(container) {}

  class Iterator {
   public:
    explicit Iterator(yyjson_val* at) : at_(at) {}
    Value operator*() const { return Value(at_); }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    yyjson_val* at_;
  };
  Iterator begin() const;
  Iterator end() const;
  size_t size() const;  // of an object, how many keys

 private:
  yyjson_val* container_;
};

// An object of which all keys are known: each at most once, and no other.
class JsonFields {
 public:
  JsonFields(const Json::Value& object, const char* what,
             std::initializer_list<std::string_view> names);
  bool has(std::string_view name) const;
  Json::Value at(std::string_view name) const;

 private:
  const char* what_;
  std::vector<std::pair<std::string_view, Json::Value>> found_;
};

// Writes JSON: `key` before each part of an object.
class JsonText {
 public:
  JsonText& object() { return open('{'); }
  JsonText& list() { return open('['); }
  JsonText& end();
  JsonText& key(std::string_view name);
  JsonText& null();
  JsonText& flag(bool value);
  JsonText& integer(int64_t value);
  JsonText& wide(uint64_t value);
  JsonText& number(double value);          // finite
  JsonText& text(std::string_view value);  // ErrorKind::kArgument where it is no UTF-8
  std::string take() { return std::move(out_); }

 private:
  JsonText& open(char bracket);
  void begin_value();
  void quote(std::string_view value);

  std::string out_;
  std::string closing_;
  bool is_first_ = true;
};

}  // namespace tensorlike
