// Programs of ONNX models. All sizes are known: a program is made for inputs of given shapes, so
// that what a graph calculates from shapes is computed when it is made. Where shapes hang on the
// elements of inputs, too, it is made for those.
#pragma once

#include <map>
#include <set>
#include <string>

#include "onnx/model.h"
#include "program/file.h"

namespace tensorlike::onnx {

// What a model is fed, by the names of its inputs.
using Fed = std::map<std::string, Ref<RawTensor>>;

struct Built {
  ProgramFile file;
  // Inputs whose elements the program is made for, of which it is given none.
  std::set<std::string> fixed;
};

// A program whose inputs and results have the names that the model gives them. ErrorKind::kArgument
// where it has ops that the core has no meaning of: all of them are named at once.
Built build_program(const Model& model, const Fed& fed);

}  // namespace tensorlike::onnx
