// Errors of the core. The kind says which Python class it becomes; the text has the form
// `op: what must hold; got what; how to fix it.` and is written where the facts are.
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
  kDispatch,
  kAmbiguity,
  kDeclaration,
  kAutodiff,
  kMemory,
  kOverflow,
  kMatrix,
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
};

// Concatenates anything that a stream prints.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, text(parts...));
}

}  // namespace tensorlike
