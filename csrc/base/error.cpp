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
  const bool is_sentence = out.ends_with('.');  // then the whole line is one
  bool goes_on = false;
  for (const auto& [words, field] : rest) {
    if (field.empty()) continue;
    if (is_sentence && !goes_on) out.pop_back();
    out += words + field;
    goes_on = true;
  }
  return is_sentence && goes_on ? out + "." : out;
}

// An error is one line: of what was got, thousands of numbers say no more than the first do.
static void shorten(std::string& got) {
  constexpr size_t kMost = 600;
  if (got.size() <= kMost) return;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(got[end]) & 0xC0U) == 0x80U) --end;  // of UTF-8
  got.resize(end);
  got += "...";
}

// Every error of the core is a sentence.
static ErrorFields as_sentence(ErrorFields fields) {
  shorten(fields.got);
  const bool goes_on =
      !fields.got.empty() || !fields.fix.empty() || !fields.slots.empty() || !fields.place.empty();
  if (goes_on && !fields.must.ends_with('.')) fields.must += ".";
  return fields;
}

Error::Error(ErrorKind kind, ErrorFields fields)
    : kind_(kind), fields_(as_sentence(std::move(fields))), line_(fields_.line()) {}

}  // namespace tensorlike
