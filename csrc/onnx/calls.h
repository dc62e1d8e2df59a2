// Functional calls by name on a program that is being built: what follows from known elements is
// computed at once, all else becomes a step.
#pragma once

#include <string>

#include "base/error.h"
#include "onnx/item.h"

namespace tensorlike::onnx {

using NamedItems = std::vector<std::pair<std::string, Item>>;

// The elements of a tensor are needed, which only a run knows. Who can do without goes another way:
// a loop is written out, the model is built for the numbers that it is fed.
class NumberNeeded : public Error {
 public:
  NumberNeeded(const Tensor& x, const Error& error) : Error(error), tensor(x) {}
  const Tensor tensor;
};
[[noreturn]] void need_numbers(const Tensor& x, std::string_view op, std::string_view argument);

class Calls {
 public:
  explicit Calls(Program& program) : program_(program) {}

  // Numbers among the arguments become tensors of a dtype that suits the first tensor.
  // ErrorKind::kAttribute where the core has no such function.
  std::vector<Tensor> call(const std::string& function, const Items& args,
                           const NamedItems& attrs = {});
  // The first result.
  Tensor one(const std::string& function, const Items& args, const NamedItems& attrs = {});
  // A tensor as a variable of the program, which keeps what is known, and is given what is another
  // program's.
  int variable(const Tensor& x);
  Tensor known(Ref<RawTensor> value) const;
  Tensor of_variable(int number) const;
  // An input that stands for one of another program, or for nothing that is there yet.
  Tensor input(const Spec& spec);
  // Tensors of programs around that variables of this one stand for, in the order of being met.
  struct Given {
    Tensor outside;
    int variable;
  };
  const std::vector<Given>& given() const { return given_; }
  // Adds an op; its results.
  std::vector<Tensor> add(const Op& op, std::span<const Tensor> args);

  // What errors, and the program, call the place that calls are made from: a node.
  std::string place;

 private:
  // Beside a tensor like this one; null: beside none.
  Tensor lifted(const Item& item, const Spec* like) const;
  bool may_hold(const Op& op, std::span<const Tensor> args);

  Program& program_;
  int64_t held_ = 0;  // elements of what was computed
  std::vector<Given> given_;
};

// The elements of a known tensor of integers or booleans; those of one dimension at most.
// NumberNeeded where they are not known.
std::vector<int64_t> integers_of(const Tensor& x, std::string_view what);

}  // namespace tensorlike::onnx
