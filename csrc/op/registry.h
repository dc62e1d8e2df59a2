// All declarations by name: the one place that knows which ops, modes and functional calls exist.
// A built-in one is read when it is first asked for. Entries stay where they are, so that plain
// pointers to them stay valid.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "op/entries.h"
#include "op/op.h"

namespace tensorlike {

// The kernel and the inference of an op that brings its own, where others name the core's: what a
// library or Python has of them, OpClass::own holds.
struct OwnRules {
  KernelRule kernel = {};
  InferRule infer = nullptr;
  std::shared_ptr<const void> own = {};
};

// What a backend has for declarations; a null function: nothing. All are called when an entry is
// made; they say what was compiled for a scalar function or a reduction, and give the kernel
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
  // Whether there is such a call, which is not read for that.
  bool has_function(std::string_view name) const;
  // All calls in the order of their declarations, and their names alone.
  std::vector<const Function*> functions() const;
  std::vector<std::string_view> function_names() const;
  // Reads every built-in declaration that nobody has asked for.
  void read_all() const;
  // OpClass::plain of all classes, those to come included: false for those that are or derive from
  // one of these.
  void set_touched(std::vector<const Type*> touched);

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
  std::unique_ptr<Scalar> made(ScalarSpec spec) const;
  std::unique_ptr<Reduction> made(ReductionSpec spec) const;
  std::unique_ptr<OpClass> made(OpSpec spec, OwnRules own = {}) const;
  std::unique_ptr<Function> made(FunctionSpec spec) const;
  void add_rules(OpClass& op, OwnRules own) const;
  template <class T>
  T& add_made(Entries<T>& entries, std::unique_ptr<T> entry);
  template <class T>
  const T* find(Entries<T>& entries, std::string_view name) const;
  template <class T>
  const T* read(Entries<T>& entries, int which) const;
  template <class T>
  void read_all(Entries<T>& entries) const;
  void take(OpClass& op) const;
  void make_shared_op(Scalar& scalar) const;
  void link(Scalar& scalar) const;
  void link(Reduction& reduction) const;
  void link(OpClass& op) const;
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

  // For reading, which may ask for further entries.
  mutable std::recursive_mutex reading_;
  std::vector<std::pair<uint8_t, KernelSource>> sources_;
  mutable Entries<Scalar> scalars_;
  mutable Entries<Reduction> reductions_;
  mutable Entries<OpClass> ops_;
  mutable Entries<Function> functions_;
  std::vector<const Function*> function_order_;  // of those that were added
  std::vector<Scalar*> unlinked_scalars_;
  std::vector<Reduction*> unlinked_reductions_;
  std::vector<OpClass*> unlinked_ops_;
  std::vector<Function*> unlinked_functions_;
  std::vector<Entry> added_;
  bool has_built_in_ = false;
  const OpClass* elemwise_ = nullptr;
  const OpClass* reduce_ = nullptr;
  const OpClass* const_ = nullptr;
  mutable std::mutex classes_mutex_;
  mutable std::vector<const OpClass*> classes_;
  std::vector<const Type*> touched_;
};

// The process's registry.
Registry& registry();

// Generated: what the floors above bring.
void register_floors(Registry& registry);

// The root of the ops' hierarchy.
const Type& op_base_type();

// "; did you mean 'name'?", where one of the candidates is close to the name.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

// Rules by the names that declarations use; null for an unknown name.
InferRule find_infer(std::string_view name);
ViewRule find_view(std::string_view name);
OrderRule find_order(std::string_view name);

}  // namespace tensorlike
