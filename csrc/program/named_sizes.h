// Numbers in a message that stand for unknown sizes, as the names that users know.
#pragma once

#include <string>

namespace tensorlike {

inline std::string replaced(std::string message, const std::string& from, const std::string& to) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t at = 0; (at = message.find(from, at)) != std::string::npos; at += to.size()) {
    const size_t end = at + from.size();
    const bool is_part =
        (at > 0 && is_digit(message[at - 1])) || (end < message.size() && is_digit(message[end]));
    if (is_part) continue;
    message.replace(at, from.size(), to);
  }
  return message;
}

}  // namespace tensorlike
