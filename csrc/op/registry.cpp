#include "op/registry.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "op/declaration_text.h"
#include "op/shapes.h"

namespace tensorlike {
namespace {

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

// Whether a class is none of these and derives from none.
bool is_apart(const OpClass& op, const std::vector<const Type*>& touched) {
  return std::none_of(touched.begin(), touched.end(),
                      [&](const Type* each) { return op.is_a(*each); });
}

}  // namespace

const Type& op_base_type() {
  static const Type* type = new Type("OpBase");
  return *type;
}

Registry::Registry()
    : scalars_(built_ins().scalars),
      reductions_(built_ins().reductions),
      ops_(built_ins().ops),
      functions_(built_ins().functions) {
  OpSpec constant;
  constant.name = "Const";
  constant.args = {{"x", Category::kAll, true}};
  constant.differentiable = false;
  constant.attrs = {{"value", attr_type("any"), true, {}},
                    {"dtype", attr_type("dtype"), false, {}},
                    {"device", attr_type("device"), false, {}}};
  add(std::move(constant));
  const_ = find_op("Const");
  // The call by which a body applies the scalar function that an attribute names.
  add(FunctionSpec{
      "elemwise", "Elemwise", {}, {{"x", Category::kAll}}, {{"mode", attr_type("str"), true, {}}}});
}

std::unique_ptr<Scalar> Registry::made(ScalarSpec spec) const {
  auto scalar = std::make_unique<Scalar>(std::move(spec));
  for (const auto& [kind, source] : sources_) {
    if (source.scalar != nullptr) source.scalar(*scalar);
  }
  return scalar;
}

std::unique_ptr<Reduction> Registry::made(ReductionSpec spec) const {
  return std::make_unique<Reduction>(std::move(spec));
}

std::unique_ptr<Function> Registry::made(FunctionSpec spec) const {
  auto function = std::make_unique<Function>();
  function->spec = std::move(spec);
  return function;
}

std::unique_ptr<OpClass> Registry::made(OpSpec spec, OwnRules own) const {
  auto op = std::make_unique<OpClass>(std::move(spec), &op_base_type());
  op->is_declared = true;
  add_rules(*op, std::move(own));
  if (!op->spec.shapes.cases.empty()) {
    resolve_shapes(op->spec);
    op->infer = infer_declared;
  }
  for (size_t i = 0; i < op->spec.attrs.size(); ++i) {
    if (op->spec.attrs[i].type == attr_type("device")) op->device_attr = static_cast<int>(i);
  }
  if (op->spec.name == "Elemwise") op->family = OpClass::Family::kElemwise;
  if (op->spec.name == "Reduce") op->family = OpClass::Family::kReduce;
  return op;
}

// What the core has by the names that the declaration gives; all of them must be there.
void Registry::add_rules(OpClass& op, OwnRules own) const {
  if (own.kernel) {
    op.set_kernel(0, own.kernel);
    op.infer = own.infer;
    op.own = std::move(own.own);
  } else {
    op.infer = find_infer(op.spec.infer);
    for (const auto& [kind, source] : sources_) {
      if (source.op != nullptr) op.set_kernel(kind, source.op(op));
    }
    if (op.spec.memory.view) op.view = find_view(op.spec.kernel);
    op.order = find_order(op.spec.kernel);
  }
  if (!op.spec.grad.empty()) {
    if (const GradRule* rule = rules.grad(op.spec.grad)) op.grad = *rule;
  }
  if (!op.spec.expand.empty()) op.expand = rules.expand(op.spec.expand);
  for (const auto& [name, wanted, found] :
       {std::tuple{&op.spec.expand, !op.spec.expand.empty(), op.expand != nullptr},
        std::tuple{&op.spec.infer, !op.spec.infer.empty(), op.infer != nullptr},
        std::tuple{&op.spec.kernel, !op.spec.kernel.empty(), op.has_kernel()},
        std::tuple{&op.spec.kernel, op.spec.memory.view, op.view != nullptr},
        std::tuple{&op.spec.grad, !op.spec.grad.empty(), op.grad.run != nullptr}}) {
    if (wanted && !found) {
      fail(ErrorKind::kDeclaration, op.spec.source, ": ", op.spec.name, ": there is no rule '",
           *name, "' in the core.");
    }
  }
}

template <class T>
T& Registry::add_made(Entries<T>& entries, std::unique_ptr<T> entry) {
  T& made = *entry;
  if (has_built_in_) added_.emplace_back(&made);
  entries.added().emplace(made.spec.name, std::move(entry));
  return made;
}

void Registry::add(ScalarSpec spec) {
  const std::lock_guard lock(reading_);
  check_new(find_scalar(spec.name), spec.name, spec.source);
  unlinked_scalars_.push_back(&add_made(scalars_, made(std::move(spec))));
}

void Registry::add(ReductionSpec spec) {
  const std::lock_guard lock(reading_);
  check_new(find_reduction(spec.name), spec.name, spec.source);
  unlinked_reductions_.push_back(&add_made(reductions_, made(std::move(spec))));
}

void Registry::add(OpSpec spec) { add(std::move(spec), OwnRules()); }

void Registry::add(OpSpec spec, OwnRules own) {
  const std::lock_guard lock(reading_);
  check_new(find_op(spec.name), spec.name, spec.source);
  unlinked_ops_.push_back(&add_made(ops_, made(std::move(spec), std::move(own))));
}

void Registry::add(FunctionSpec spec) {
  const std::lock_guard lock(reading_);
  check_new(find_function(spec.name), spec.name, spec.op);
  Function& function = add_made(functions_, made(std::move(spec)));
  unlinked_functions_.push_back(&function);
  function_order_.push_back(&function);
}

void Registry::add_kernels(uint8_t kind, const KernelSource& source) {
  const std::lock_guard lock(reading_);
  sources_.emplace_back(kind, source);
  if (source.scalar != nullptr) scalars_.for_each(source.scalar);
  if (source.reduction != nullptr) reductions_.for_each(source.reduction);
  if (source.op == nullptr) return;
  ops_.for_each([&](OpClass& op) { op.set_kernel(kind, source.op(op)); });
}

template <class T>
const T* Registry::find(Entries<T>& entries, std::string_view name) const {
  if (const int which = entries.find_built_in(name); which >= 0) return read(entries, which);
  const auto added = entries.added().find(name);
  return added == entries.added().end() ? nullptr : added->second.get();
}

template <class T>
const T* Registry::read(Entries<T>& entries, int which) const {
  if (const T* known = entries.complete(which)) return known;
  const std::lock_guard lock(reading_);
  std::unique_ptr<T>& entry = entries.owned(which);
  if (entry != nullptr) return entry.get();  // made meanwhile, or what it speaks of asks for it
  const std::string_view text = entries.built_ins()[static_cast<size_t>(which)].text;
  entry = made(std::get<decltype(T::spec)>(read_built_in(text)));
  try {
    link(*entry);
  } catch (...) {
    entry = nullptr;
    throw;
  }
  entries.finish(which);
  return entry.get();
}

template <class T>
void Registry::read_all(Entries<T>& entries) const {
  for (size_t i = 0; i < entries.built_ins().size(); ++i) read(entries, static_cast<int>(i));
}

void Registry::read_all() const {
  read_all(scalars_);
  read_all(reductions_);
  read_all(ops_);
  read_all(functions_);
}

const Scalar* Registry::find_scalar(std::string_view name) const { return find(scalars_, name); }
const Reduction* Registry::find_reduction(std::string_view name) const {
  return find(reductions_, name);
}
const OpClass* Registry::find_op(std::string_view name) const { return find(ops_, name); }
const Function* Registry::find_function(std::string_view name) const {
  return find(functions_, name);
}

bool Registry::has_function(std::string_view name) const {
  return functions_.find_built_in(name) >= 0 || functions_.added().contains(name);
}

std::vector<std::string_view> Registry::function_names() const {
  const std::span<const BuiltIn> built_in = functions_.built_ins();
  std::vector<std::string_view> names(built_in.size());
  for (const BuiltIn& each : built_in) names[static_cast<size_t>(each.place)] = each.name;
  for (const Function* added : function_order_) names.push_back(added->spec.name);
  return names;
}

std::vector<const Function*> Registry::functions() const {
  std::vector<const Function*> found;
  for (const std::string_view name : function_names()) found.push_back(find_function(name));
  return found;
}

void Registry::take(OpClass& op) const {
  const std::lock_guard lock(classes_mutex_);
  classes_.push_back(&op);
  op.plain = is_apart(op, touched_);
}

void Registry::set_touched(std::vector<const Type*> touched) {
  const std::lock_guard lock(classes_mutex_);
  touched_ = std::move(touched);
  for (const OpClass* op : classes_) op->plain = is_apart(*op, touched_);
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
  read_all();
  scalars_.for_each([&](const Scalar& scalar) {
    if (scalars && !scalar.spec.derived) candidates.push_back(scalar.spec.name);
  });
  reductions_.for_each([&](const Reduction& reduction) {
    if (reductions) candidates.push_back(reduction.spec.name);
  });
  return tensorlike::did_you_mean(name, candidates);
}

Registry& registry() {
  static Registry* const instance = new Registry;
  static thread_local bool is_filling = false;  // what is linked looks entries up
  if (is_filling) return *instance;
  static const bool is_filled = [] {
    is_filling = true;
    register_floors(*instance);
    instance->elemwise_ = instance->find_op("Elemwise");
    instance->reduce_ = instance->find_op("Reduce");
    instance->link();
    instance->has_built_in_ = true;
    is_filling = false;
    return true;
  }();
  (void)is_filled;
  return *instance;
}

}  // namespace tensorlike
