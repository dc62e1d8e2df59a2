#include "op/registry.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "op/reduction_program.h"
#include "op/shapes.h"

namespace tensorlike {
namespace {

template <class Map>
auto find_in(const Map& map, std::string_view name) -> decltype(map.begin()->second.get()) {
  const auto it = map.find(name);
  return it == map.end() ? nullptr : it->second.get();
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}

void check_new(const void* previous, const std::string& name, const std::string& source) {
  if (previous != nullptr) {
    fail(ErrorKind::kDeclaration, source, ": ", name, ": this name is declared already.");
  }
}

}  // namespace

const Type& op_base_type() {
  static const Type* type = new Type("OpBase");
  return *type;
}

Registry::Registry() {
  OpSpec constant;
  constant.name = "Const";
  constant.args = {{"x", Category::kAll, true}};
  constant.differentiable = false;
  constant.attrs = {{"value", attr_type("any"), true, {}},
                    {"dtype", attr_type("dtype"), false, {}},
                    {"device", attr_type("device"), false, {}}};
  add(std::move(constant));
  const_ = ops_.find("Const")->second.get();
  // The call by which a body applies the scalar function that an attribute names.
  add(FunctionSpec{
      "elemwise", "Elemwise", {}, {{"x", Category::kAll}}, {{"mode", attr_type("str"), true, {}}}});
}

void Registry::add(ScalarSpec spec) {
  check_new(find_scalar(spec.name), spec.name, spec.source);
  auto scalar = std::make_unique<Scalar>(std::move(spec));
  for (const auto& [kind, source] : sources_) {
    if (source.scalar != nullptr) source.scalar(*scalar);
  }
  unlinked_scalars_.push_back(scalar.get());
  if (has_built_in_) added_.emplace_back(scalar.get());
  scalars_.emplace(scalar->spec.name, std::move(scalar));
}

void Registry::add(ReductionSpec spec) {
  check_new(find_reduction(spec.name), spec.name, spec.source);
  auto reduction = std::make_unique<Reduction>(std::move(spec));
  unlinked_reductions_.push_back(reduction.get());
  if (has_built_in_) added_.emplace_back(reduction.get());
  reductions_.emplace(reduction->spec.name, std::move(reduction));
}

void Registry::add(OpSpec spec) { add(std::move(spec), OwnRules()); }

void Registry::add(OpSpec spec, OwnRules own) {
  check_new(find_op(spec.name), spec.name, spec.source);
  auto op = std::make_unique<OpClass>(std::move(spec), &op_base_type());
  op->is_declared = true;
  if (own.kernel) {
    op->set_kernel(0, own.kernel);
    op->infer = own.infer;
    op->own = std::move(own.own);
  } else {
    op->infer = find_infer(op->spec.infer);
    for (const auto& [kind, source] : sources_) {
      if (source.op != nullptr) op->set_kernel(kind, source.op(*op));
    }
    if (op->spec.memory.view) op->view = find_view(op->spec.kernel);
    op->order = find_order(op->spec.kernel);
  }
  if (!op->spec.shapes.cases.empty()) {
    resolve_shapes(op->spec);
    op->infer = infer_declared;
  }
  for (size_t i = 0; i < op->spec.attrs.size(); ++i) {
    if (op->spec.attrs[i].type == attr_type("device")) op->device_attr = static_cast<int>(i);
  }
  if (!op->spec.grad.empty()) {
    if (const GradRule* rule = rules.grad(op->spec.grad)) op->grad = *rule;
  }
  if (!op->spec.expand.empty()) op->expand = rules.expand(op->spec.expand);
  for (const auto& [name, wanted, found] :
       {std::tuple{&op->spec.expand, !op->spec.expand.empty(), op->expand != nullptr},
        std::tuple{&op->spec.infer, !op->spec.infer.empty(), op->infer != nullptr},
        std::tuple{&op->spec.kernel, !op->spec.kernel.empty(), op->has_kernel()},
        std::tuple{&op->spec.kernel, op->spec.memory.view, op->view != nullptr},
        std::tuple{&op->spec.grad, !op->spec.grad.empty(), op->grad.run != nullptr}}) {
    if (wanted && !found) {
      fail(ErrorKind::kDeclaration, op->spec.source, ": ", op->spec.name, ": there is no rule '",
           *name, "' in the core.");
    }
  }
  if (op->spec.name == "Elemwise") {
    elemwise_ = op.get();
    op->family = OpClass::Family::kElemwise;
  }
  if (op->spec.name == "Reduce") {
    reduce_ = op.get();
    op->family = OpClass::Family::kReduce;
  }
  op_order_.push_back(op.get());
  unlinked_ops_.push_back(op.get());
  if (has_built_in_) added_.emplace_back(op.get());
  ops_.emplace(op->spec.name, std::move(op));
}

void Registry::add_kernels(uint8_t kind, const KernelSource& source) {
  sources_.emplace_back(kind, source);
  for (const auto& [name, scalar] : scalars_) {
    if (source.scalar != nullptr) source.scalar(*scalar);
  }
  for (const auto& [name, reduction] : reductions_) {
    if (source.reduction != nullptr) source.reduction(*reduction);
  }
  for (const auto& [name, op] : ops_) {
    if (source.op != nullptr) op->set_kernel(kind, source.op(*op));
  }
}

void Registry::add(FunctionSpec spec) {
  check_new(find_function(spec.name), spec.name, spec.op);
  auto function = std::make_unique<Function>();
  function->spec = std::move(spec);
  unlinked_functions_.push_back(function.get());
  if (has_built_in_) added_.emplace_back(function.get());
  function_order_.push_back(function.get());
  functions_.emplace(function->spec.name, std::move(function));
}

const Scalar* Registry::find_scalar(std::string_view name) const { return find_in(scalars_, name); }
const Reduction* Registry::find_reduction(std::string_view name) const {
  return find_in(reductions_, name);
}
const OpClass* Registry::find_op(std::string_view name) const { return find_in(ops_, name); }
const Function* Registry::find_function(std::string_view name) const {
  return find_in(functions_, name);
}

const Op& Registry::scalar_op(std::string_view name) const {
  const Scalar* scalar = find_scalar(name);
  if (scalar == nullptr) fail(ErrorKind::kDeclaration, "there is no scalar function '", name, "'.");
  return *scalar->op;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t least = name.size() / 2 + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best.empty() ? std::string() : text("; did you mean '", best, "'?");
}

std::string Registry::did_you_mean(std::string_view name, bool scalars, bool reductions) const {
  std::vector<std::string_view> candidates;
  for (const auto& [key, scalar] : scalars_) {
    if (scalars && !scalar->spec.derived) candidates.push_back(key);
  }
  for (const auto& [key, reduction] : reductions_) {
    if (reductions) candidates.push_back(key);
  }
  return tensorlike::did_you_mean(name, candidates);
}

Registry& registry() {
  static Registry* const instance = new Registry;
  static thread_local bool is_filling = false;  // the declarations' own ops look entries up
  if (is_filling) return *instance;
  static const bool is_filled = [] {
    is_filling = true;
    register_builtin(*instance);
    instance->link();
    instance->has_built_in_ = true;
    is_filling = false;
    return true;
  }();
  (void)is_filled;
  return *instance;
}

}  // namespace tensorlike
