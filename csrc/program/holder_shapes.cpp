// The shapes and dtypes of what ops that hold programs give.
#include "op/counts.h"
#include "program/holder.h"

namespace tensorlike {

void Holder::refuse_unlike(const char* must, const std::string& what, const Spec& x,
                           const Spec& y) const {
  if (x.dtype == y.dtype && x.shape == y.shape) return;
  fail(x.dtype == y.dtype ? ErrorKind::kShape : ErrorKind::kDType,
       said::op(std::string(form().who)), said::argument(what), must,
       " must give the same shapes and dtypes", said::got(to_string(x), " and ", to_string(y)));
}

Specs Holder::infer(std::span<const Spec> given) const {
  if (given.size() != inputs()) {
    fail(ErrorKind::kShape, said::op(std::string(form().who)), "one value for each of ", inputs(),
         " inputs is needed", said::got(given.size()));
  }
  switch (kind) {
    case Kind::kCall:
      return calls[0]->infer(given);
    case Kind::kCond:
      return infer_cond(given);
    case Kind::kWhileLoop:
      return infer_while(given);
    case Kind::kScanLoop:
      return infer_scan(given);
    case Kind::kRowBranch:
      break;
  }
  return infer_rows(given);
}

namespace {

void refuse_other_predicates(std::string_view who, const Spec& x) {
  if (x.dtype == DType::kBool && x.shape.empty()) return;
  fail(ErrorKind::kDType, said::op(std::string(who)), said::argument("predicate"),
       "must be one boolean", said::got(to_string(x)),
       said::fix("compare it, x != 0, or select by where"));
}

}  // namespace

Specs Holder::infer_cond(std::span<const Spec> given) const {
  refuse_other_predicates(form().who, given[0]);
  const std::span<const Spec> xs = given.subspan(1);
  Specs found = calls[0]->infer(xs);
  const Specs others = calls[1]->infer(xs);
  for (size_t i = 0; i < found.size(); ++i) {
    refuse_unlike("both branches", tensorlike::text("result ", i), found[i], others[i]);
  }
  return found;
}

Specs Holder::infer_while(std::span<const Spec> given) const {
  refuse_other_predicates(form().who, calls[0]->infer(given)[0]);
  const Specs next = calls[1]->infer(given);
  for (size_t i = 0; i < next.size(); ++i) {
    refuse_unlike("each step", tensorlike::text("carry ", i), given[i], next[i]);
  }
  return Specs(given.begin(), given.begin() + static_cast<ptrdiff_t>(next.size()));
}

Specs Holder::infer_scan(std::span<const Spec> given) const {
  const size_t n = carries(), rows = count_of(1);
  std::vector<Spec> step(given.begin(), given.end());
  for (size_t i = n; i < n + rows; ++i) {
    Dims& shape = step[i].shape;
    if (shape.empty()) {
      fail(ErrorKind::kShape, said::op("scan"), said::argument("xs"),
           "must have an axis to go along", said::got("a scalar"));
    }
    if (shape[0] != given[n].shape[0]) {
      fail(ErrorKind::kShape, said::op("scan"), said::argument("xs"), "all rows must be as many",
           said::got(given[n].shape[0], " and ", shape[0]));
    }
    shape = Dims(shape.begin() + 1, shape.end());
  }
  Specs found = calls[0]->infer(step);
  for (size_t i = 0; i < n; ++i) {
    refuse_unlike("each step", tensorlike::text("carry ", i), given[i], found[i]);
  }
  for (size_t i = n; i < found.size(); ++i) {
    found[i].shape.insert(0, given[n].shape[0]);
    inferred_count(found[i].shape);
  }
  return found;
}

Specs Holder::infer_rows(std::span<const Spec> given) const {
  const Spec& mask = given[0];
  const Dims& shape = mask.shape;
  const bool is_column = shape.size() == 1 || (shape.size() == 2 && shape[1] == 1);
  if (mask.dtype != DType::kBool || !is_column) {
    fail(ErrorKind::kDType, said::op("IfElse"), said::argument("cond"),
         "must be a column of booleans", said::got(to_string(mask)));
  }
  const std::span<const Spec> xs = given.subspan(1);
  Specs found = calls[0]->infer(xs);
  const Specs others = calls[1]->infer(xs);
  for (size_t i = 0; i < found.size(); ++i) {
    refuse_unlike("both blocks", tensorlike::text("output ", i), found[i], others[i]);
  }
  const auto check_rows = [&](const Spec& x) {
    if (!x.shape.empty() && x.shape[0] == shape[0]) return;
    fail(ErrorKind::kShape, said::op("IfElse"), said::argument("inputs and outputs"),
         "must have as many rows as there are booleans", said::got("shape ", to_string(x.shape)));
  };
  for (size_t i = 0; i < count_of(0); ++i) check_rows(xs[i]);
  for (size_t i = 0; i < count_of(1); ++i) check_rows(found[i]);
  return found;
}

}  // namespace tensorlike
