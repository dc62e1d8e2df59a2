// JSON that is read from files which nobody vouches for, and written. What was read is a list of
// nodes of 16 bytes in the order of the text, each container with the place behind its last part:
// nothing is copied but texts, and nothing recurses over what a file says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

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
  friend class JsonBuilder;
  struct Node {
    Kind kind = Kind::kNull;
    uint32_t size = 0;  // bytes of a text, parts of a container
    union {
      bool flag;
      int64_t integer;
      uint64_t wide;
      double number;
      size_t place;  // where a text begins, or where the node after a container is
    };
  };
  std::vector<Node> nodes_;
  std::string texts_;
};

// A value, as long as its Json lives. Whoever asks for one of another kind gets an error that names
// `what` it was to be.
class Json::Value {
 public:
  Value(const Json& json, size_t at) : json_(&json), at_(at) {}

  Kind kind() const { return node().kind; }
  bool is(Kind kind) const { return node().kind == kind; }
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
  friend class Parts;
  const Node& node() const { return json_->nodes_[at_]; }
  size_t next() const {
    const bool is_container = node().kind == Kind::kList || node().kind == Kind::kObject;
    return is_container ? node().place : at_ + 1;
  }
  [[noreturn]] void refuse(const char* what) const;

  const Json* json_;
  size_t at_;
};

// The parts of a list or an object.
class Json::Parts {
 public:
  Parts(const Json& json, size_t begin, size_t end, size_t size)
      : json_(&json), begin_(begin), end_(end), size_(size) {}

  class Iterator {
   public:
    Iterator(const Json& json, size_t at) : json_(&json), at_(at) {}
    Value operator*() const { return {*json_, at_}; }
    Iterator& operator++() {
      at_ = Value(*json_, at_).next();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Json* json_;
    size_t at_;
  };
  Iterator begin() const { return {*json_, begin_}; }
  Iterator end() const { return {*json_, end_}; }
  size_t size() const { return size_; }

 private:
  const Json* json_;
  size_t begin_, end_, size_;
};

inline Json::Value Json::root() const { return {*this, 0}; }

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
