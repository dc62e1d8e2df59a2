// Inference of factorisations of matrices and of what they solve. Matrices are the last two
// dimensions, and the others are a batch of them.
#include <algorithm>
#include <initializer_list>
#include <limits>

#include "op/families.h"
#include "op/infer.h"
#include "op/linear_solvers.h"

namespace tensorlike {

double least_squares_tolerance(const Op& op, DType dtype, int64_t m, int64_t n) {
  const Attr& given = op.attr("rtol");
  if (std::holds_alternative<Nothing>(given)) {
    const double precision = real_of(compute_of(dtype)) == DType::kFloat32
                                 ? std::numeric_limits<float>::epsilon()
                                 : std::numeric_limits<double>::epsilon();
    return precision * static_cast<double>(std::max(m, n));
  }
  const double tolerance = literal_as<double>(literal_of(given));
  if (std::holds_alternative<std::complex<double>>(given) || !(tolerance >= 0)) {
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("rtol"),
         "must be a number of at least 0 or None", said::got(to_string(given)));
  }
  return tolerance;
}

namespace {

using Inputs = std::span<const Spec>;

const std::string& name_of_arg(const Op& op, size_t i) { return op.cls.spec.args[i].name; }

// The dtype that the inputs are computed in: integers become float32.
DType floating(Inputs inputs) {
  DType dtype = inputs[0].dtype;
  for (const Spec& input : inputs) dtype = promote(dtype, input.dtype);
  return kind_of(dtype) < Kind::kFloating ? default_dtype(Kind::kFloating) : dtype;
}

[[noreturn]] void refuse(const Op& op, size_t i, const char* what, const Dims& got,
                         const char* fix = ".") {
  const std::string& name = name_of_arg(op, i);
  fail(ErrorKind::kShape, said::op(op.name()), said::argument(name), "must be ", what, "; got ",
       name, ".shape=", to_string(got), fix);
}

// A stack of matrices: its rows and columns, whose numbers LAPACK counts in 32 bits.
struct Stack {
  Dims batch;
  int64_t rows, columns;

  int64_t smaller() const { return std::min(rows, columns); }
  Dims shape(int64_t m, int64_t n) const {
    Dims made = batch;
    made.push_back(m);
    made.push_back(n);
    element_count(made);
    return made;
  }
  Dims shape(int64_t n) const {
    Dims made = batch;
    made.push_back(n);
    return made;
  }
};

Stack stack_of(const Op& op, Inputs inputs, size_t i) {
  const Dims& shape = inputs[i].shape;
  if (shape.size() < 2) {
    refuse(op, i, "a matrix or a stack of matrices, with two dimensions or more", shape);
  }
  const Stack stack = {Dims(shape.begin(), shape.end() - 2), shape[shape.size() - 2],
                       shape[shape.size() - 1]};
  if (std::max(stack.rows, stack.columns) > std::numeric_limits<int32_t>::max() / 2) {
    refuse(op, i, "of fewer than 2**30 rows and columns", shape);
  }
  return stack;
}

Stack square(const Op& op, Inputs inputs, size_t i) {
  const Stack stack = stack_of(op, inputs, i);
  if (stack.rows != stack.columns) {
    refuse(op, i, "square, shape[-2] equal to shape[-1]", inputs[i].shape);
  }
  return stack;
}

Specs infer_square(const Op& op, Inputs inputs) {
  square(op, inputs, 0);
  return Specs(1, Spec{floating(inputs), inputs[0].shape});
}

// The attribute `mode`, one of these words.
const std::string& mode_of(const Op& op, std::initializer_list<const char*> words) {
  const std::string& mode = op.get<std::string>("mode");
  std::string known;
  for (const char* word : words) {
    if (mode == word) return mode;
    known += text(known.empty() ? "'" : word == *(words.end() - 1) ? " or '" : ", '", word, "'");
  }
  fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("mode"), "must be ", known,
       said::got("'", mode, "'"));
}

Specs infer_qr(const Op& op, Inputs inputs) {
  const bool is_complete = mode_of(op, {"reduced", "complete"}) == "complete";
  const Stack x = stack_of(op, inputs, 0);
  const DType dtype = floating(inputs);
  const int64_t width = is_complete ? x.rows : x.smaller();
  return {{dtype, x.shape(x.rows, width)}, {dtype, x.shape(width, x.columns)}};
}

// Values alone, or values and vectors.
Specs with_vectors(const Op& op, Spec values, Spec vectors) {
  if (!op.get<bool>("compute_vectors")) return Specs(1, values);
  return {values, vectors};
}

Specs infer_svd(const Op& op, Inputs inputs) {
  const Stack x = stack_of(op, inputs, 0);
  const DType dtype = floating(inputs);
  const bool is_full = op.get<bool>("full_matrices");
  const Spec values = {real_of(dtype), x.shape(x.smaller())};
  if (!op.get<bool>("compute_vectors")) return Specs(1, values);
  return {{dtype, x.shape(x.rows, is_full ? x.rows : x.smaller())},
          values,
          {dtype, x.shape(is_full ? x.columns : x.smaller(), x.columns)}};
}

Specs infer_eigh(const Op& op, Inputs inputs) {
  const Stack x = square(op, inputs, 0);
  const DType dtype = floating(inputs);
  return with_vectors(op, {real_of(dtype), x.shape(x.rows)}, {dtype, inputs[0].shape});
}

Specs infer_eig(const Op& op, Inputs inputs) {
  const Stack x = square(op, inputs, 0);
  const DType dtype = complex_of(floating(inputs));
  return with_vectors(op, {dtype, x.shape(x.rows)}, {dtype, inputs[0].shape});
}

Specs infer_lu(const Op& op, Inputs inputs) {
  const Stack x = stack_of(op, inputs, 0);
  const DType dtype = floating(inputs);
  return {{DType::kInt64, x.shape(x.rows)},
          {dtype, x.shape(x.rows, x.smaller())},
          {dtype, x.shape(x.smaller(), x.columns)}};
}

Specs infer_determinant(const Op& op, Inputs inputs) {
  const std::string& mode = mode_of(op, {"value", "logarithm", "cofactors"});
  const Stack x = square(op, inputs, 0);
  const DType dtype = floating(inputs);
  if (mode == "cofactors") return Specs(1, Spec{dtype, inputs[0].shape});
  if (mode == "value") return Specs(1, Spec{dtype, x.batch});
  return {{dtype, x.batch}, {real_of(dtype), x.batch}};
}

// Right sides b of equations with matrices a: how many numbers b and the solution have along the
// axis of the equations. A b of one dimension is one right side.
struct Sides {
  Stack a;
  Dims batch;
  bool is_vector;
  int64_t count;  // of right sides
};

Sides sides_of(const Op& op, Inputs inputs, const Stack& a, bool is_left) {
  const Dims& b = inputs[1].shape;
  if (b.empty()) refuse(op, 1, "a vector, a matrix or a stack of matrices", b);
  Sides sides{a, a.batch, b.size() == 1, 1};
  int64_t equations = b[0];
  if (!sides.is_vector) {
    const Stack stack = stack_of(op, inputs, 1);
    equations = is_left ? stack.rows : stack.columns;
    sides.count = is_left ? stack.columns : stack.rows;
    sides.batch = broadcast_shapes(op.name(), a.batch, stack.batch);
  }
  if (equations != a.rows) {
    const std::string &left = name_of_arg(op, 0), &right = name_of_arg(op, 1);
    fail(ErrorKind::kShape, said::op(op.name()), left, ".shape[-2] must equal ", right, ".shape[",
         sides.is_vector ? "0" : (is_left ? "-2" : "-1"), "]",
         said::got(left, ".shape=", to_string(inputs[0].shape), ", ", right,
                   ".shape=", to_string(b)));
  }
  return sides;
}

Spec solution(Inputs inputs, const Sides& sides, bool is_left) {
  Stack found = sides.a;
  found.batch = sides.batch;
  if (sides.is_vector) return {floating(inputs), found.shape(sides.a.columns)};
  return {floating(inputs), is_left ? found.shape(sides.a.columns, sides.count)
                                    : found.shape(sides.count, sides.a.columns)};
}

Specs infer_solve(const Op& op, Inputs inputs) {
  const Sides sides = sides_of(op, inputs, square(op, inputs, 0), true);
  return Specs(1, solution(inputs, sides, true));
}

Specs infer_solve_triangular(const Op& op, Inputs inputs) {
  const bool is_left = op.get<bool>("left");
  const Sides sides = sides_of(op, inputs, square(op, inputs, 0), is_left);
  return Specs(1, solution(inputs, sides, is_left));
}

Specs infer_lstsq(const Op& op, Inputs inputs) {
  const Stack a = stack_of(op, inputs, 0);
  const Sides sides = sides_of(op, inputs, a, true);
  const DType dtype = floating(inputs);
  least_squares_tolerance(op, dtype, a.rows, a.columns);  // refuses a wrong one
  const Spec x = solution(inputs, sides, true);
  Stack batch = a;
  batch.batch = sides.batch;
  return {x, {DType::kInt64, sides.batch}, {real_of(dtype), batch.shape(a.smaller())}};
}

constexpr std::pair<std::string_view, InferRule> kRules[] = {
    {"cholesky", infer_square},
    {"inverse", infer_square},
    {"matrix_exp", infer_square},
    {"qr", infer_qr},
    {"svd", infer_svd},
    {"eigh", infer_eigh},
    {"eig", infer_eig},
    {"lu", infer_lu},
    {"determinant", infer_determinant},
    {"solve", infer_solve},
    {"solve_triangular", infer_solve_triangular},
    {"least_squares", infer_lstsq},
};

}  // namespace

RuleTable<InferRule> linear_solver_rules() { return kRules; }

}  // namespace tensorlike
