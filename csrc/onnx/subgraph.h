// A graph that is an attribute of a node, as a function: what branches and loops are made of.
#pragma once

#include "onnx/calls.h"
#include "program/holder.h"

namespace tensorlike::onnx {

class Subgraph {
 public:
  virtual ~Subgraph() = default;
  virtual size_t outputs() const = 0;
  // What it gives for these inputs, as steps of the program that `calls` builds. It may read what
  // the graphs around have made.
  virtual Items run(Calls& calls, const Items& inputs) const = 0;
};

// A program of its own that calls have made, and what it is given: tensors that it was made with,
// then those of the programs around that it reads.
class Recording {
 public:
  Recording() : calls_(*program_) {}

  Calls& calls() { return calls_; }
  // Of the elements of a tensor like these.
  Item parameter(const Spec& spec);
  Items parameters(const Items& like);
  // ErrorKind::kArgument where one is no tensor.
  void give(const Items& results);
  // Lets it be given what another one reads, too, in the same order.
  void join(Recording& other);
  // What it reads of the programs around.
  std::vector<Tensor> outside() const;
  Ref<Stretch> finish();

 private:
  std::vector<Calls::Given> sorted() const;

  Ref<Program> program_ = make_ref<Program>();
  Calls calls_;
  std::vector<int> parameters_, results_;
};

// An op that holds programs, as a step; it is given what these read outside, too.
std::vector<Tensor> add_holder(Calls& calls, Holder::Kind kind, std::vector<Ref<Stretch>> programs,
                               std::vector<Attr> params, std::vector<Tensor> given,
                               const std::vector<Tensor>& outside);

}  // namespace tensorlike::onnx
