// What attributes of a body's steps are: literals, attributes of the op, what is known of slots,
// and what is calculated of these.
#pragma once

#include "tensor/value.h"

namespace tensorlike {

class StepAttrs {
 public:
  explicit StepAttrs(const Op& op) : op_(op) {}
  virtual ~StepAttrs() = default;

  Attr evaluate(const AttrExpr& expr);
  // A number among the attributes.
  Literal number(const AttrExpr& expr);
  bool holds(const AttrExpr& expr);

 protected:
  // The shape and dtype of a slot, whether or not it has a value.
  virtual Spec spec(int slot) = 0;
  // Whether a slot may be other than zeros.
  virtual bool flows(int slot) const = 0;

  const Op& op_;

 private:
  Attr calculated(const AttrExpr& expr);
  Attr of_list(const AttrExpr& expr);
  int64_t whole_number(const AttrExpr& expr);
};

// What Python's operator gives for two numbers.
Attr calculate(const Op& op, const std::string& function, const Literal& a, const Literal& b);

}  // namespace tensorlike
