// Runs the bodies of ONNX's ops: trees of functional calls, and of what is calculated from shapes
// and attributes.
#pragma once

#include <map>

#include "onnx/calls.h"
#include "onnx/entries.h"

namespace tensorlike::onnx {

using Named = std::map<std::string, Item, std::less<>>;

// What an entry with a body gives for inputs and attributes under their names: so many results.
Items run_body(const Entry& entry, const Named& values, Calls& calls, size_t outputs);

// A function of numbers and lists by the name that bodies use. ErrorKind::kArgument: there is none.
Item calculate(std::string_view function, const Items& parts);

}  // namespace tensorlike::onnx
