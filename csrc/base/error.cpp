#include "base/error.h"

namespace tensorlike {

std::string ErrorFields::line() const {
  const std::string& subject = op.empty() ? part : op;
  std::string out = subject.empty() ? "" : subject + ": ";
  if (!argument.empty()) out += argument + (subject.empty() ? ": " : " ");
  out += must;
  const std::pair<const char*, const std::string&> rest[] = {
      {"; got ", got},
      {"; ", fix},
      {"; added to the tape with ", slots},
      {"; applied at ", place},
  };
  bool goes_on = false;
  for (const auto& [words, field] : rest) {
    if (field.empty()) continue;
    if (!goes_on && out.ends_with('.')) out.pop_back();  // the full stop is the line's
    out += words + field;
    goes_on = true;
  }
  return goes_on ? out + "." : out;
}

Error::Error(ErrorKind kind, ErrorFields fields)
    : kind_(kind), fields_(std::move(fields)), line_(fields_.line()) {}

}  // namespace tensorlike
