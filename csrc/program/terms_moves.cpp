// Terms of what moves elements and changes none: transposes of transposes are one, what keeps the
// order is a reshape, and reshapes stand outside.
#include <algorithm>
#include <numeric>

#include "op/counts.h"
#include "op/infer.h"
#include "op/registry.h"
#include "program/terms.h"

namespace tensorlike {
namespace {

const OpClass& class_of(std::string_view function) {
  return *registry().find_function(function)->op_class;
}

// Whether a view has all elements in the order in which they are: one that adds axes of size 1, or
// drops them, say.
bool keeps_order(const Op& op, const Spec& from, const Spec& to) {
  const int64_t count = inferred_count(from.shape);
  if (op.cls.view == nullptr || count == 0 || count != inferred_count(to.shape)) return false;
  Views views;
  if (!op.cls.view(op, Array(from.dtype, from.shape, nullptr), {to}, views)) return false;
  return views.size() == 1 && views[0].offset == 0 && views[0].shape == to.shape &&
         lies_in_order(views[0].shape, views[0].strides);
}

}  // namespace

const std::vector<int64_t>* Terms::transpose_of(const Term& term) {
  const bool is_one = term.kind == Term::Kind::kCall && &term.op->cls == &class_of("permute_dims");
  return is_one ? &term.op->get<std::vector<int64_t>>("axes") : nullptr;
}

Ref<Op> Terms::transpose_by(std::vector<int64_t> axes) {
  return registry().find_function("permute_dims")->make_op({std::move(axes)});
}

int Terms::transposed(int arg, std::vector<int64_t> axes) {
  const Term term = (*this)[arg];
  for (int64_t& axis : axes) axis += axis < 0 ? static_cast<int64_t>(axes.size()) : 0;
  if (const std::vector<int64_t>* before = transpose_of(term)) {
    for (int64_t& axis : axes) axis = (*before)[static_cast<size_t>(axis)];
    return transposed(term.parts[0].term, std::move(axes));
  }
  if (std::is_sorted(axes.begin(), axes.end())) return arg;
  Spec spec = term.spec;
  for (size_t i = 0; i < axes.size(); ++i) {
    spec.shape[i] = term.spec.shape[static_cast<size_t>(axes[i])];
  }
  const Ref<Op> op = transpose_by(std::move(axes));
  if (keeps_order(*op, term.spec, spec)) return reshaped(arg, spec);
  return intern({.kind = Term::Kind::kCall, .op = op, .parts = {{arg, 1}}, .spec = spec});
}

// The term of an op that moves elements; none: it is another op, or picks some of them.
std::optional<int> Terms::moved(const Op& op, int arg, const Spec& spec) {
  if (&op.cls == &class_of("permute_dims")) {
    return transposed(arg, op.get<std::vector<int64_t>>("axes"));
  }
  const bool is_reshape = &op.cls == &class_of("reshape");
  if (is_reshape || keeps_order(op, (*this)[arg].spec, spec)) return reshaped(arg, spec);
  return std::nullopt;
}

int Terms::reshaped(int arg, const Spec& spec) {
  const Term term = (*this)[arg];
  if (term.spec.shape == spec.shape) return arg;
  const Ref<Op> op = registry().find_function("reshape")->make_op(
      {std::vector<int64_t>(spec.shape.begin(), spec.shape.end()), Nothing()});
  const bool is_again = term.kind == Term::Kind::kCall && &term.op->cls == &op->cls;
  if (is_again) return reshaped(term.parts[0].term, spec);
  if (term.kind == Term::Kind::kProduct && term.number != 1) {
    return scaled(reshaped(product(term.parts, 1, term.spec), spec), term.number, spec);
  }
  return intern({.kind = Term::Kind::kCall, .op = op, .parts = {{arg, 1}}, .spec = spec});
}

// Axes are named one way, and kept; a reshape drops them.
int Terms::reduced(const Op& op, int arg, const Spec& spec) {
  const Term term = (*this)[arg];
  const auto ndim = static_cast<int64_t>(term.spec.shape.size());
  const Dims axes = named_axes(op, ndim);
  std::vector<int64_t> sorted(axes.begin(), axes.end());
  std::sort(sorted.begin(), sorted.end());
  Spec kept = spec;
  kept.shape = term.spec.shape;
  bool is_any = false;
  for (int64_t axis : sorted) {
    is_any = is_any || kept.shape[static_cast<size_t>(axis)] != 1;
    kept.shape[static_cast<size_t>(axis)] = 1;
  }
  const std::string& name = op.reduction->spec.name;
  const bool is_itself = name == "sum" || name == "mean" || name == "max" || name == "min";
  if (!is_any && is_itself && term.spec.dtype == spec.dtype) return reshaped(arg, spec);
  const Ref<Op> made = make_ref<Op>(op.cls);
  made->attrs = op.attrs;
  made->reduction = op.reduction;
  made->attrs[static_cast<size_t>(op.cls.attr_index("axis"))] = sorted;
  made->attrs[static_cast<size_t>(op.cls.attr_index("keepdims"))] = true;
  return reshaped(
      intern({.kind = Term::Kind::kCall, .op = made, .parts = {{arg, 1}}, .spec = kept}), spec);
}

int Terms::before_reshape(int id) {
  const Term term = (*this)[id];
  const bool is_scaled =
      term.kind == Term::Kind::kProduct && term.parts.size() == 1 && term.parts[0].scale == 1;
  const Term inner = is_scaled ? (*this)[term.parts[0].term] : term;
  const bool is_one = inner.kind == Term::Kind::kCall && &inner.op->cls == &class_of("reshape");
  if (!is_one) return -1;
  const int before = inner.parts[0].term;
  return is_scaled ? scaled(before, term.number, (*this)[before].spec) : before;
}

// f(reshape(x)) is reshape(f(x)), where all arguments of an elementwise op are reshaped alike.
std::optional<int> Terms::outside_of_reshape(const Op& op, std::vector<int>& args, int output,
                                             const Spec& spec) {
  std::optional<Dims> inner;
  std::vector<int> moved = args;
  for (int& arg : moved) {
    if ((*this)[arg].kind == Term::Kind::kNumber) continue;
    if (!((*this)[arg].spec.shape == spec.shape)) return std::nullopt;
    arg = before_reshape(arg);
    if (arg < 0) return std::nullopt;
    const Dims& from = (*this)[arg].spec.shape;
    if (inner && !(*inner == from)) return std::nullopt;
    inner = from;
  }
  if (!inner) return std::nullopt;
  args = std::move(moved);
  Spec before = spec;
  before.shape = *inner;
  return reshaped(call_scalar(op, args, output, before), spec);
}

}  // namespace tensorlike
