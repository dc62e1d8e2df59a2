// Shortcut: see shortcuts.cpp.
#pragma once

#include "bind/python.h"

namespace tensorlike::bind {

void add_shortcuts(PyObject* module);

}  // namespace tensorlike::bind
