// The scalar function that an op applies by name, as layers do.
#pragma once

#include "op/registry.h"

namespace tensorlike {

// That which the attribute names. Mostly it is the one that changes nothing, which is known: to
// look a name up takes as long as a small product.
inline const Scalar& named_scalar(const Op& op, std::string_view attr) {
  static const Scalar& same = *registry().scalar_op("positive").scalar;
  const std::string& name = op.get<std::string>(attr);
  return name == same.spec.name ? same : *registry().scalar_op(name).scalar;
}

}  // namespace tensorlike
