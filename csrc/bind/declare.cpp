// Declarations at run time: the specs that the Python front end has checked and lowered, by their
// field names.
#include "bind/declare.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind/objects.h"
#include "tensor/library.h"

namespace py = pybind11;

namespace tensorlike::bind {
namespace {

// Enumerations travel by name: "REAL_FLOATING" or "kRealFloating" alike.
std::string flat(const py::handle& value) {
  std::string name = py::hasattr(value, "value") && py::isinstance<py::str>(value.attr("value"))
                         ? value.attr("value").cast<std::string>()
                         : py::str(value).cast<std::string>();
  std::string out;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (out.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1])) != 0) {
    out.erase(0, 1);
  }
  return out;
}

Category to_category(const py::handle& value) {
  const std::string name = flat(value);
  if (name == "numeric") return Category::kNumeric;
  if (name == "realnumeric") return Category::kRealNumeric;
  if (name == "realfloating" || name == "realfloatingpoint") return Category::kRealFloating;
  if (name == "realorboolean") return Category::kRealOrBoolean;
  if (name == "floatingpoint") return Category::kFloating;
  if (name == "integer") return Category::kInteger;
  if (name == "integerorboolean") return Category::kIntegerOrBoolean;
  if (name == "boolean") return Category::kBoolean;
  if (name == "all") return Category::kAll;
  fail(ErrorKind::kDeclaration, "declare: unknown dtype category '", name, "'.");
}

Result to_result(const py::handle& value) {
  const std::string name = flat(value);
  if (name == "bool") return Result::kBool;
  if (name == "int64") return Result::kInt64;
  if (name == "sum") return Result::kSum;
  if (name == "real") return Result::kReal;
  if (name == "complex") return Result::kComplex;
  return Result::kSame;
}

Attr attr_from(const py::handle& value) {
  if (value.is_none()) return Attr();
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::int_>(value)) return value.cast<int64_t>();
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value)) {
    return value.cast<std::vector<int64_t>>();
  }
  return to_dtype(value.ptr());
}

ArgSpec arg_from(const py::handle& arg) {
  return {arg.attr("name").cast<std::string>(), to_category(arg.attr("category")),
          arg.attr("variadic").cast<bool>(), arg.attr("optional").cast<bool>(),
          attr_from(arg.attr("fallback"))};
}

std::vector<ArgSpec> args_from(const py::handle& args) {
  std::vector<ArgSpec> out;
  for (const py::handle& arg : args) out.push_back(arg_from(arg));
  return out;
}

std::vector<AttrSpec> attrs_from(const py::handle& attrs) {
  std::vector<AttrSpec> out;
  for (const py::handle& attr : attrs) {
    out.push_back({attr.attr("name").cast<std::string>(),
                   attr_type(attr.attr("type").cast<std::string>()),
                   attr.attr("required").cast<bool>(), attr_from(attr.attr("fallback")),
                   attr.attr("choices").cast<std::vector<std::string>>()});
  }
  return out;
}

AttrExpr expr_from(const py::handle& expr) {
  const std::string kind = flat(expr.attr("kind"));
  AttrExpr out;
  if (kind == "attr") out.kind = AttrExpr::Kind::kAttr;
  if (kind == "shape") out.kind = AttrExpr::Kind::kShape;
  if (kind == "dim") out.kind = AttrExpr::Kind::kDim;
  if (kind == "dtype") out.kind = AttrExpr::Kind::kDType;
  if (kind == "arithmetic") out.kind = AttrExpr::Kind::kArithmetic;
  if (kind == "tuple") out.kind = AttrExpr::Kind::kTuple;
  if (kind == "size") out.kind = AttrExpr::Kind::kSize;
  if (kind == "rank") out.kind = AttrExpr::Kind::kRank;
  if (kind == "flows") out.kind = AttrExpr::Kind::kFlows;
  if (out.kind == AttrExpr::Kind::kLiteral) out.literal = attr_from(expr.attr("literal"));
  out.attr = expr.attr("attr").cast<std::string>();
  out.slot = expr.attr("slot").cast<int>();
  out.dim = expr.attr("dim").cast<int>();
  for (const py::handle& part : expr.attr("parts")) out.parts.push_back(expr_from(part));
  return out;
}

Body body_from(const py::handle& body) {
  Body out;
  if (body.is_none()) return out;
  out.inputs = body.attr("inputs").cast<int>();
  for (const py::handle& constant : body.attr("constants")) {
    if (py::isinstance<py::bool_>(constant)) {
      out.constants.emplace_back(constant.cast<bool>());
    } else if (py::isinstance<py::int_>(constant)) {
      out.constants.emplace_back(constant.cast<int64_t>());
    } else {
      out.constants.emplace_back(constant.cast<double>());
    }
  }
  for (const py::handle& step : body.attr("steps")) {
    Step& made = out.steps.emplace_back();
    made.call = step.attr("call").cast<std::string>();
    made.args = step.attr("args").cast<std::vector<int>>();
    made.outputs = step.attr("outputs").cast<int>();
    for (const py::handle& pair : step.attr("attrs")) {
      const auto item = pair.cast<py::tuple>();
      made.attrs.emplace_back(item[0].cast<std::string>(), expr_from(item[1]));
    }
  }
  out.results = body.attr("results").cast<std::vector<int>>();
  return out;
}

std::vector<Grad> grads_from(const py::handle& grads) {
  std::vector<Grad> out;
  for (const py::handle& grad : grads) {
    out.push_back({grad.attr("input").cast<int>(), body_from(grad.attr("body")),
                   grad.attr("adds_up").cast<bool>(), grad.attr("match").cast<std::string>(),
                   grad.attr("choice").cast<std::string>(),
                   grad.attr("beside").cast<std::vector<int>>()});
  }
  return out;
}

std::vector<Condition> conditions_from(const py::handle& spec) {
  std::vector<Condition> out;
  for (const py::handle& each : spec.attr("conditions")) {
    out.push_back({each.attr("text").cast<std::string>(), body_from(each.attr("body"))});
  }
  return out;
}

std::vector<ShapePart> parts_from(const py::handle& shape) {
  std::vector<ShapePart> out;
  for (const py::handle& part : shape.attr("parts")) {
    const std::string kind = flat(part.attr("kind"));
    ShapePart& made = out.emplace_back();
    if (kind == "group") made.kind = ShapePart::Kind::kGroup;
    if (kind == "resized") made.kind = ShapePart::Kind::kResized;
    if (kind == "reduced") made.kind = ShapePart::Kind::kReduced;
    if (kind == "reducedsome") made.kind = ShapePart::Kind::kReducedSome;
    if (kind == "held") made.kind = ShapePart::Kind::kHeld;
    if (kind == "permuted") made.kind = ShapePart::Kind::kPermuted;
    made.group = part.attr("group").cast<int>();
    made.size = expr_from(part.attr("size"));
    made.axis = expr_from(part.attr("axis"));
  }
  return out;
}

ResultShape result_from(const py::handle& result) {
  const std::string of = flat(result.attr("of"));
  ResultShape out;
  if (of == "real") out.of = ResultShape::Of::kReal;
  if (of == "complex") out.of = ResultShape::Of::kComplex;
  if (of == "arg") out.of = ResultShape::Of::kArg;
  if (of == "given") out.of = ResultShape::Of::kGiven;
  if (of == "attr") out.of = ResultShape::Of::kAttr;
  if (of == "scalar") out.of = ResultShape::Of::kScalar;
  out.from = result.attr("start").cast<int>();
  if (of == "given") out.dtype = to_dtype(result.attr("dtype").ptr());
  out.parts = parts_from(result);
  out.when = expr_from(result.attr("when"));
  return out;
}

ShapeSpec shapes_from(const py::handle& shapes) {
  ShapeSpec out;
  out.sizes = shapes.attr("sizes").cast<int>();
  out.groups = shapes.attr("groups").cast<int>();
  out.broadcast = shapes.attr("broadcast").cast<int>();
  for (const py::handle& each : shapes.attr("cases")) {
    ShapeCase& made = out.cases.emplace_back();
    made.when = expr_from(each.attr("when"));
    for (const py::handle& arg : each.attr("args")) {
      made.args.push_back({arg.attr("arg").cast<int>(), arg.attr("broadcasts").cast<bool>(),
                           parts_from(arg), arg.attr("text").cast<std::string>()});
    }
    for (const py::handle& result : each.attr("results"))
      made.results.push_back(result_from(result));
  }
  for (const py::handle& each : shapes.attr("conditions")) {
    out.conditions.push_back(
        {each.attr("text").cast<std::string>(), expr_from(each.attr("holds"))});
  }
  return out;
}

std::optional<Category> unchanged_from(const py::handle& spec) {
  const py::object text = spec.attr("unchanged");
  return py::len(text) == 0 ? std::nullopt : std::optional(to_category(text));
}

ComputesIn computes_in_from(const std::string& word) {
  if (word == "result") return ComputesIn::kResult;
  return word == "promoted" ? ComputesIn::kPromoted : ComputesIn::kAsGiven;
}

MemorySpec memory_from(const py::handle& memory) {
  return {memory.attr("view").cast<bool>(), memory.attr("contiguous").cast<uint32_t>(),
          computes_in_from(memory.attr("computes_in").cast<std::string>()),
          memory.attr("reuses").cast<int>()};
}

OpSpec op_from(const py::handle& spec) {
  return {spec.attr("name").cast<std::string>(),
          args_from(spec.attr("args")),
          attrs_from(spec.attr("attrs")),
          spec.attr("outputs").cast<int>(),
          spec.attr("infer").cast<std::string>(),
          spec.attr("kernel").cast<std::string>(),
          spec.attr("grad").cast<std::string>(),
          grads_from(spec.attr("grads")),
          grads_from(spec.attr("complex_grads")),
          spec.attr("differentiable").cast<bool>(),
          body_from(spec.attr("define")),
          spec.attr("expand").cast<std::string>(),
          spec.attr("linear").cast<std::vector<std::vector<int>>>(),
          spec.attr("batch").cast<std::string>(),
          memory_from(spec.attr("memory")),
          conditions_from(spec),
          shapes_from(spec.attr("shapes")),
          spec.attr("effects").cast<std::string>(),
          spec.attr("channels").cast<std::vector<std::vector<int>>>(),
          spec.attr("source").cast<std::string>(),
          spec.attr("version").cast<int>()};
}

// The kernel that an op brings, where it does: of Python or of a library.
OwnRules rules_from(const py::handle& spec, const OpSpec& op, const py::dict& rules) {
  if (rules.contains(op.name)) {
    const auto own = rules[py::str(op.name)].cast<py::tuple>();
    return python_rules(py::object(own[0]).ptr(), py::object(own[1]).ptr());
  }
  const auto library = spec.attr("library").cast<std::string>();
  return library.empty() ? OwnRules() : library_rules(op, library);
}

std::string kind_of_spec(const py::handle& spec) {
  return py::type::of(spec).attr("__name__").cast<std::string>();
}

void add_spec(const py::handle& spec) {
  const std::string kind = kind_of_spec(spec);
  auto name = spec.attr("name").cast<std::string>();
  Registry& target = registry();
  if (kind == "ScalarSpec") {
    target.add(ScalarSpec{
        std::move(name), args_from(spec.attr("args")), to_result(spec.attr("result")),
        spec.attr("outputs").cast<int>(), grads_from(spec.attr("grads")),
        grads_from(spec.attr("complex_grads")), spec.attr("differentiable").cast<bool>(),
        body_from(spec.attr("expansion")), spec.attr("derived").cast<bool>(), unchanged_from(spec),
        conditions_from(spec), spec.attr("linear").cast<std::vector<std::vector<int>>>(),
        spec.attr("source").cast<std::string>()});
  } else if (kind == "ReductionSpec") {
    target.add(ReductionSpec{
        std::move(name), arg_from(spec.attr("arg")), to_result(spec.attr("result")),
        grads_from(spec.attr("grads")), grads_from(spec.attr("complex_grads")),
        spec.attr("differentiable").cast<bool>(), spec.attr("has_identity").cast<bool>(),
        spec.attr("single_axis").cast<bool>(), spec.attr("linear").cast<bool>(),
        body_from(spec.attr("map")), body_from(spec.attr("combine")),
        body_from(spec.attr("finish")), spec.attr("init").cast<std::string>(),
        spec.attr("source").cast<std::string>()});
  } else if (kind == "FunctionSpec") {
    std::vector<std::pair<std::string, Attr>> fixed;
    for (const py::handle& pair : spec.attr("fixed")) {
      const auto item = pair.cast<py::tuple>();
      fixed.emplace_back(item[0].cast<std::string>(), attr_from(item[1]));
    }
    target.add(FunctionSpec{std::move(name), spec.attr("op").cast<std::string>(), std::move(fixed),
                            args_from(spec.attr("args")), attrs_from(spec.attr("attrs"))});
  } else {
    fail(ErrorKind::kDeclaration, name, ": a ", kind, " cannot be declared at run time.");
  }
}

}  // namespace

void declare_specs(const py::iterable& specs, const py::dict& rules) {
  std::vector<std::pair<OpSpec, OwnRules>> ops;  // all kernels are found before anything is added
  for (const py::handle& spec : specs) {
    if (kind_of_spec(spec) != "OpSpec") continue;
    OpSpec op = op_from(spec);
    OwnRules own = rules_from(spec, op, rules);
    ops.emplace_back(std::move(op), std::move(own));
  }
  for (auto& [op, own] : ops) registry().add(std::move(op), std::move(own));
  for (const py::handle& spec : specs) {
    if (kind_of_spec(spec) != "OpSpec") add_spec(spec);
  }
  registry().link();
  dispatcher().invalidate();
}

}  // namespace tensorlike::bind
