// All declarations by name: the one place that knows which ops, modes and functional calls exist.
// Entries are only ever added, so that plain pointers to them stay valid.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "op/op.h"

namespace tensorlike {

// Declarations by name, found without making a string.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};
template <class T>
using ByName = std::unordered_map<std::string, std::unique_ptr<T>, NameHash, std::equal_to<>>;

// The kernel and the inference of an op that brings its own, where others name the core's: what a
// library or Python has of them, OpClass::own holds.
struct OwnRules {
  KernelRule kernel = {};
  InferRule infer = nullptr;
  std::shared_ptr<const void> own = {};
};

// What a backend has for declarations; a null function: nothing. All are called when an entry is
// complete; they say what was compiled for a scalar function or a reduction, and give the kernel
// of an op class.
struct KernelSource {
  void (*scalar)(Scalar& scalar) = nullptr;
  void (*reduction)(Reduction& reduction) = nullptr;
  KernelRule (*op)(OpClass& cls) = nullptr;
};

// Rules that are written above, by the names that declarations use: null for an unknown name.
struct RuleSource {
  const GradRule* (*grad)(std::string_view name) = nullptr;
  ExpandRule (*expand)(std::string_view name) = nullptr;
};

class Registry {
 public:
  void add(ScalarSpec spec);
  void add(ReductionSpec spec);
  void add(OpSpec spec);
  void add(OpSpec spec, OwnRules own);
  void add(FunctionSpec spec);
  void add(AnySpec spec);
  // Resolves the names in what was added since the last call. Entries may refer to later ones, so
  // this follows a whole set of them.
  void link();
  // Adds and links all of them; an error leaves the registry as it was.
  void add_all(std::vector<AnySpec> specs);
  // What was added after the built-in declarations, in order.
  using Entry = std::variant<const Scalar*, const Reduction*, const OpClass*, const Function*>;
  const std::vector<Entry>& added() const { return added_; }
  // Where the kernels of a kind of device come from, for what is declared already and for what
  // comes. Other kinds may have the CPU's, which come first.
  void add_kernels(uint8_t kind, const KernelSource& source);

  const Scalar* find_scalar(std::string_view name) const;
  const Reduction* find_reduction(std::string_view name) const;
  const OpClass* find_op(std::string_view name) const;
  const Function* find_function(std::string_view name) const;
  const std::vector<const OpClass*>& op_classes() const { return op_order_; }
  const std::vector<const Function*>& functions() const { return function_order_; }

  // Names the candidates closest to `name`, for errors.
  std::string did_you_mean(std::string_view name, bool scalars, bool reductions) const;

  const OpClass& elemwise() const { return *elemwise_; }
  const OpClass& reduce() const { return *reduce_; }
  const OpClass& constant() const { return *const_; }
  RuleSource rules;

  // The shared op of a scalar function that must exist.
  const Op& scalar_op(std::string_view name) const;

  // A body with its calls found by name; `source` is named where there is no such function.
  CompiledBody compile(const Body& body, const std::string& source) const;

 private:
  friend Registry& registry();
  Registry();
  void remove_from(size_t first_added);
  void link(Function& function) const;
  void compile_later(Scalar& scalar) const;
  void compile_later(OpClass& op) const;
  void compile_now() const;
  Gradients gradients_of(const OpClass& op) const;
  std::shared_ptr<CompiledBody> compiled(const Body& body, const std::string& source) const;
  template <class Spec>
  Gradients compile_gradients(const Spec& spec, int inputs, int outputs) const;
  std::vector<CompiledCondition> compile_conditions(const std::vector<Condition>& conditions,
                                                    const std::string& source) const;
  void compile_rules(const std::vector<Grad>& grads, int inputs, int outputs,
                     const std::string& source, Gradients& out) const;

  std::vector<std::pair<uint8_t, KernelSource>> sources_;
  ByName<Scalar> scalars_;
  ByName<Reduction> reductions_;
  ByName<OpClass> ops_;
  ByName<Function> functions_;
  std::vector<const OpClass*> op_order_;
  std::vector<const Function*> function_order_;
  std::vector<Scalar*> unlinked_scalars_;
  std::vector<Reduction*> unlinked_reductions_;
  std::vector<OpClass*> unlinked_ops_;
  std::vector<Function*> unlinked_functions_;
  std::vector<Entry> added_;
  bool has_built_in_ = false;
  OpClass* elemwise_ = nullptr;
  OpClass* reduce_ = nullptr;
  OpClass* const_ = nullptr;
};

// The process's registry, filled with the built-in declarations at first use.
Registry& registry();

// Generated from the declarations. It begins with what the floors above bring.
void register_builtin(Registry& registry);

// The root of the ops' hierarchy.
const Type& op_base_type();

// "; did you mean 'name'?", where one of the candidates is close to the name.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

// Rules by the names that declarations use; null for an unknown name.
InferRule find_infer(std::string_view name);
ViewRule find_view(std::string_view name);
OrderRule find_order(std::string_view name);

}  // namespace tensorlike
