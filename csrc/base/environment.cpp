#include "base/environment.h"

#include <cstdlib>

#include "base/error.h"

namespace tensorlike {
namespace {

std::string& refusal() {
  static std::string& text = *new std::string;  // read before main and after its end
  return text;
}

}  // namespace

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

void refuse_variable(const char* name, const std::string& wanted) {
  if (!refusal().empty()) return;
  refusal() = text(name, ": the environment variable must be ", wanted, "; got '",
                   std::getenv(name), "'; set it so, or unset it.");
}

void check_environment() {
  if (!refusal().empty()) fail(ErrorKind::kDeclaration, refusal());
}

}  // namespace tensorlike
