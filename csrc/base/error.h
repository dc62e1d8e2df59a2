// Errors of the core, as data: who refused, which argument, what it got, how to fix it, where the
// user stood. The kind says which Python class an error becomes; its line is made of the fields:
// `op: argument must hold; got what; how to fix it; applied at file:line.`
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace tensorlike {

enum class ErrorKind : unsigned char {
  kShape,
  kDType,
  kDevice,
  kIndex,
  kAttribute,
  kArgument,
  kDispatch,
  kAmbiguity,
  kDeclaration,
  kAutodiff,
  kMemory,
  kOverflow,
  kMatrix,
};

// What is not known is empty.
struct ErrorFields {
  std::string must;      // what must hold, or what is wrong
  std::string op;        // the op, the call or the class that refused
  std::string part;      // what refused where no op is known yet, as memory: an op takes its place
  std::string argument;  // the argument that it is about
  std::string got;
  std::string fix;
  std::string slots;    // of an op on a tape: what its slots were
  std::string place;    // the user's line, as "file:line"
  std::string missing;  // "elements" or "derivative": who can do without them goes another way

  std::string line() const;
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, ErrorFields fields);
  ErrorKind kind() const { return kind_; }
  const ErrorFields& fields() const { return fields_; }
  const char* what() const noexcept override { return line_.c_str(); }

 private:
  ErrorKind kind_;
  ErrorFields fields_;
  std::string line_;
};

// Concatenates anything that a stream prints.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// One field of an error.
struct Said {
  std::string ErrorFields::* field;
  std::string text;
};

namespace said {

template <class... Parts>
Said op(const Parts&... parts) {
  return {&ErrorFields::op, text(parts...)};
}
template <class... Parts>
Said part(const Parts&... parts) {
  return {&ErrorFields::part, text(parts...)};
}
template <class... Parts>
Said argument(const Parts&... parts) {
  return {&ErrorFields::argument, text(parts...)};
}
template <class... Parts>
Said got(const Parts&... parts) {
  return {&ErrorFields::got, text(parts...)};
}
template <class... Parts>
Said fix(const Parts&... parts) {
  return {&ErrorFields::fix, text(parts...)};
}
template <class... Parts>
Said missing(const Parts&... parts) {
  return {&ErrorFields::missing, text(parts...)};
}

}  // namespace said

namespace detail {

inline void say(ErrorFields& fields, const Said& said) { fields.*said.field = said.text; }
template <class Part>
void say(ErrorFields& fields, const Part& part) {
  fields.must += text(part);
}

}  // namespace detail

// Throws an error. What is no field by said:: is what must hold, put together in order.
template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  ErrorFields fields;
  (detail::say(fields, parts), ...);
  throw Error(kind, std::move(fields));
}

}  // namespace tensorlike
