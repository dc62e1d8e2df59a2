// Where in the user's program we are: known to whoever embeds the core alone.
#pragma once

#include <string>

namespace tensorlike {

// The embedder's answer to "which line of the user is running", as "file:line"; "" when unknown.
inline std::string (*user_line)() = nullptr;

inline std::string place_of_user() { return user_line != nullptr ? user_line() : std::string(); }

}  // namespace tensorlike
