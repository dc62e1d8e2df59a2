// Environment variables that say something we do not understand. They are read before main, where
// nothing may be thrown, so that the first one is kept until somebody can be told.
#pragma once

#include <string>

namespace tensorlike {

// The value of a variable; null where it is not set, or empty.
const char* variable(const char* name);
// Keeps that a variable is not what it must be.
void refuse_variable(const char* name, const std::string& wanted);
// Throws if a variable was refused.
void check_environment();

}  // namespace tensorlike
