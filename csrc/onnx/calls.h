// Functional calls by name on a program that is being built: what follows from known elements is
// computed at once, all else becomes a step.
#pragma once

#include <string>

#include "onnx/item.h"
#include "program/program.h"

namespace tensorlike::onnx {

using NamedItems = std::vector<std::pair<std::string, Item>>;

class Calls {
 public:
  explicit Calls(Program& program) : program_(program) {}

  // Numbers among the arguments become tensors of a dtype that suits the first tensor.
  // ErrorKind::kAttribute where the core has no such function.
  std::vector<Tensor> call(const std::string& function, const Items& args,
                           const NamedItems& attrs = {});
  // The first result.
  Tensor one(const std::string& function, const Items& args, const NamedItems& attrs = {});
  // A tensor as a variable of the program, which keeps what is known.
  int variable(const Tensor& x);
  Tensor known(Ref<RawTensor> value) const;
  Tensor of_variable(int number) const;

  // What errors, and the program, call the place that calls are made from: a node.
  std::string place;

 private:
  // Beside a tensor like this one; null: beside none.
  Tensor lifted(const Item& item, const Spec* like) const;

  Program& program_;
};

// The elements of a known tensor of integers or booleans; those of one dimension at most.
std::vector<int64_t> integers_of(const Tensor& x, std::string_view what);

}  // namespace tensorlike::onnx
