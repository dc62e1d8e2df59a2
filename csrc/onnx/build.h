// Programs of ONNX models. All sizes are known: a program is made for inputs of given shapes, so
// that what a graph calculates from shapes is computed when it is made.
#pragma once

#include <map>
#include <string>

#include "onnx/model.h"
#include "program/file.h"

namespace tensorlike::onnx {

// The shapes of inputs by their names, where the model leaves sizes open.
using Shapes = std::map<std::string, Dims>;

// A program whose inputs and results have the names that the model gives them. ErrorKind::kArgument
// where it has ops that the core has no meaning of: all of them are named at once.
ProgramFile build_program(const Model& model, const Shapes& shapes);

}  // namespace tensorlike::onnx
