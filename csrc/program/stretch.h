// What lies between variables of a program: the steps that make some of them of others. It is what
// runs where a program is an op, whole or a part of it, as its gradient is.
#pragma once

#include <vector>

#include "program/program.h"

namespace tensorlike {

class Stretch : public RefCounted {
 public:
  // ErrorKind::kArgument where a result depends on an input or a state that is not given, and where
  // what is given does not say an unknown size.
  Stretch(Ref<Program> program, std::vector<int> given, std::vector<int> results);

  // The values of the results, of tensor-likes of any kind for what is given. A value that nobody
  // reads any more is dropped at once.
  Values run(Args given) { return run(ready(given), given); }
  // What a run of such values takes. ErrorKind::kShape, or kDType, where they do not fit.
  struct Ready {
    std::shared_ptr<const Program::Schedule> schedule;
    std::shared_ptr<const Program::Bound> bound;  // null: on variables of another program
  };
  Ready ready(Args given);
  Values run(const Ready& ready, Args given) const;
  Specs infer(std::span<const Spec> given);
  // Whether steps of it draw random numbers anew in each run.
  bool draws() const;
  // "Call(add, exp)": the names of the program's ops, of a long one the first.
  std::string name() const;
  // The program, and which of its variables are given and are results.
  std::string text() const;

  const Ref<Program> program;
  const std::vector<int> given;
  const std::vector<int> results;

 private:
  void plan();
  std::shared_ptr<const Program::Bound> bind(std::span<const Spec> specs);

  std::shared_ptr<const Program::Schedule> schedule_;
  std::shared_ptr<const Program::Schedule> outside_;  // on variables of another program
  uint64_t version_ = 0;                              // of the program when that was planned
};

}  // namespace tensorlike
