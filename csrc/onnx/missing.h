// Which ops of a model have no meaning here.
#pragma once

#include <set>
#include <string>

#include "onnx/model.h"

namespace tensorlike::onnx {

constexpr int kMostDepth = 64;  // graphs in graphs, and functions that call functions

// Each once.
std::set<std::string> missing_ops(const Model& model);

}  // namespace tensorlike::onnx
