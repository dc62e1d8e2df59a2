// What patterns have found, and what is calculated and told of it: see op/shapes.cpp.
#pragma once

#include <algorithm>

#include "op/infer.h"

namespace tensorlike {

inline constexpr size_t kMostNames = 12;

// What sizes are calculated by; in declared shapes its number stands in AttrExpr::dim.
enum class SizeFunction : uint8_t {
  kArithmetic,
  kWhere,
  kNot,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kMinimum,
  kMaximum,
};
SizeFunction size_function(std::string_view name);

inline bool is_sized(const ShapePart& part) { return part.kind == ShapePart::Kind::kSize; }

// Where a name was found first.
struct Place {
  const ArgShape* arg;
  size_t part;
};

class FoundSizes {
 public:
  using Inputs = std::span<const Spec>;
  using Sizes = std::span<const int64_t>;

  FoundSizes(const Op& op, Inputs inputs)
      : op_(op), spec_(op.cls.spec), shapes_(op.cls.spec.shapes), inputs_(inputs) {
    for (int i = 0; i < shapes_.sizes; ++i) {
      size_places_[i].arg = nullptr;
      sizes_[i] = 0;
    }
    for (int i = 0; i < shapes_.groups; ++i) {
      group_places_[i].arg = nullptr;
      groups_[i] = {nullptr, 0};
    }
  }

 protected:
  bool is_given(const ArgShape& arg) const { return static_cast<size_t>(arg.arg) < inputs_.size(); }
  const Dims& shape_of_arg(const ArgShape& arg) const {
    return inputs_[static_cast<size_t>(arg.arg)].shape;
  }
  // Of an argument that the results need, where it may be left out.
  const Spec& spec_of_arg(int arg) const {
    if (static_cast<size_t>(arg) >= inputs_.size()) {
      fail(ErrorKind::kDispatch, said::op(op_.name()), "the argument ",
           spec_.args[static_cast<size_t>(arg)].name, " is needed");
    }
    return inputs_[static_cast<size_t>(arg)];
  }
  const std::string& name_of_arg(const ArgShape& arg) const {
    return spec_.args[static_cast<size_t>(arg.arg)].name;
  }
  bool fits_rank(const ArgShape& arg) const {
    size_t least = 0;
    for (const ShapePart& part : arg.parts) least += is_sized(part);
    const size_t ndim = shape_of_arg(arg).size();
    return ndim == least || (ndim > least && least < arg.parts.size());
  }

  // The value of an expression that may be no number, and of one that is.
  Attr value(const AttrExpr& expr) const;
  int64_t number(const AttrExpr& expr) const;
  bool holds(const AttrExpr& expr) const {
    const bool is_plain = expr.kind == AttrExpr::Kind::kLiteral && std::get_if<bool>(&expr.literal);
    return is_plain ? *std::get_if<bool>(&expr.literal) : number(expr) != 0;
  }
  const Attr& attr_of(const AttrExpr& expr) const {
    return op_.attrs[static_cast<size_t>(expr.slot)];
  }
  int64_t size_of(const AttrExpr& expr) const {
    const bool is_name = expr.kind == AttrExpr::Kind::kSize;
    return is_name ? sizes_[static_cast<size_t>(expr.slot)] : number(expr);
  }
  size_t axis_of(const AttrExpr& axis, size_t ndim) const {
    return static_cast<size_t>(
        normalize_axis(op_.name(), number(axis), static_cast<int64_t>(ndim)));
  }
  // ErrorKind::kShape unless it holds, where it reads nothing that this case has not.
  void check(const SizeCondition& condition) const;

  [[noreturn]] void fail_ranks() const;
  [[noreturn]] void fail_size(const ArgShape& arg, size_t i, const Place& first) const;
  [[noreturn]] void fail_group(const ArgShape& arg, const Place& first) const;

  const Op& op_;
  const OpSpec& spec_;
  const ShapeSpec& shapes_;
  const Inputs inputs_;
  // Of names that are there alone: this is on the way of small launches.
  int64_t sizes_[kMostNames];
  struct Run {
    const int64_t* data;
    size_t size;

    operator Sizes() const { return {data, size}; }
  } groups_[kMostNames];
  Place size_places_[kMostNames];
  Place group_places_[kMostNames];

 private:
  int64_t calculated(const AttrExpr& expr) const;
  bool reads_unknown(const AttrExpr& expr) const;
  void show(const AttrExpr& expr, std::string& out) const;
  std::string spelled(const Place& place) const;
  std::string shown(const ArgShape& arg) const;
};

}  // namespace tensorlike
