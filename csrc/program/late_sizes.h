// What a run knows of sizes that are not bound ahead: those that follow from elements, and those of
// another program, on whose variables this one is run. Attributes are calculated by what is there;
// of another program's sizes it calculates, since it knows what it has divided, and what it takes
// for equal.
#pragma once

#include <vector>

#include "program/program.h"

namespace tensorlike {

// Calls `use` with each dimension that an expression reads.
template <typename Use>
void for_each_dim(const AttrExpr& expr, const Use& use) {
  if (expr.kind == AttrExpr::Kind::kDim) use(expr);
  for (const AttrExpr& part : expr.parts) for_each_dim(part, use);
}

// Whether those dimensions are there, and known.
bool are_known(const AttrExpr& expr, std::span<const Spec> variables);

class Program::LateSizes {
 public:
  LateSizes(const Program& program, const std::vector<Ref<Value>>& values);
  // The op of a step for what is there.
  Ref<const Op> op(const Step& step) const;
  // What a step has made; ErrorKind::kShape where its sizes are others than those that were
  // recorded.
  void note(const Step& step, std::span<const Ref<Value>> found);
  void check_guards() const;

 private:
  void note(size_t variable, Value* value);
  void find_others(const std::vector<Ref<Value>>& values);
  bool knows(const AttrExpr& expr) const { return are_known(expr, specs_); }
  void check(const Step& step) const;
  bool assume_outside(const Guard& guard) const;

  const Program& program_;
  std::vector<Spec> specs_;  // of all variables
  bool is_outside_ = false;
};

}  // namespace tensorlike
