// A program: ops in their order, and the variables that they read and make. The one form of what is
// recorded, whoever records it, whether it is to be printed, drawn, saved or run again.
//
// Shapes may have sizes that are not known (sizes.h). An attribute that a rule made of such a size
// is kept as the expression that it is; `bind` evaluates them for the sizes at hand, and infers the
// whole program again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "program/sizes.h"
#include "tensor/value.h"

namespace tensorlike {

class Program : public RefCounted {
 public:
  enum class Role : uint8_t { kInput, kCaptured, kResult };

  struct Variable {
    std::string name;
    Spec spec;   // unknown sizes as their first witnesses
    Spec other;  // and as their second ones
    Role role = Role::kResult;
    Ref<Value> value = {};        // of one that was captured; null: it is only described
    std::string note = {};        // of one that was captured: what it is
    std::vector<int> bases = {};  // which base each dimension is; -1: it is known
  };

  // A dimension of an input.
  struct Dimension {
    int64_t size = kUnknownSize;
    std::string name = {};  // of one that is unknown: those of one name are equal
  };

  struct Step {
    Ref<const Op> op;  // with attributes for the first witnesses
    // The attributes that depend on unknown sizes; slots are variables.
    std::vector<std::pair<size_t, AttrExpr>> exprs = {};
    std::vector<int> inputs = {}, outputs = {};
    std::string place = {};  // the user's line, as "file:line"
    int before = 0;          // how many variables there were
  };

  Program() = default;
  ~Program() override;

  int add_input(std::string name, DType dtype, std::span<const Dimension> dimensions);
  // A value from outside: a parameter, or a constant. Without a name it gets the next number.
  int capture(Ref<Value> value, const Spec& spec, std::string note, std::string name = {});
  // Adds an op, and says where its results are; bad inputs are refused as the op refuses them.
  std::vector<int> append(const Op& op, std::span<const int> inputs, std::string place);
  // The same where it is known what comes out.
  std::vector<int> append(const Op& op, std::span<const int> inputs, std::string place,
                          const Specs& outputs);
  // A program that attributes of ops name.
  void add_part(std::string name, Ref<Program> part);
  void rename(int variable, std::string name);
  // What somebody asked of numbers that stand for unknown sizes, and was told by the witnesses;
  // `bind` refuses sizes for which the answer is another. `how` is one of == < <=.
  bool compare(int64_t a, int64_t b, const std::string& how, std::string place);
  // The same where the answer is known, as it is of a program that was saved.
  struct Guard {
    AttrExpr a, b;
    std::string how;
    bool answer;
    std::string place;
  };
  void require(int64_t a, int64_t b, const std::string& how, bool answer, std::string place);
  const std::vector<Guard>& guards() const { return guards_; }
  // Lets captured values go: of a program that nobody can run any more.
  void release_values();

  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<int>& inputs() const { return inputs_; }
  const std::map<std::string, Ref<Program>>& parts() const { return parts_; }
  bool has_unknown_sizes() const { return !roots_.empty(); }
  // The unknown sizes of the inputs: their names, in the order in which `bind` takes them.
  std::vector<std::string> unknown_sizes() const;
  // Where such a size was first met: an input's variable, and its dimension.
  std::pair<int, int> place_of_size(size_t number) const;

  // The ops of all steps for these sizes; kept, so that the same sizes cost nothing again.
  struct Bound {
    std::vector<Ref<const Op>> ops;
    std::vector<Spec> specs;  // of all variables
  };
  std::shared_ptr<const Bound> bind(const std::vector<int64_t>& sizes);
  // The sizes that values of these specs give; ErrorKind::kShape, or kDType, where one does not
  // fit. `who` is named in errors.
  std::vector<int64_t> sizes_of(const char* who, std::span<const Spec> given) const;

  // What the program gives when it is applied to tensor-likes of any kind, one for each input: the
  // values of some of its variables. A value that nobody reads any more is dropped at once.
  Values run(std::span<const int> results, Args given);

  // The two numbers that a number made of unknown sizes stands for; none where it is plain.
  std::optional<Witness> witness_of(int64_t number) const;

  // "float32(None, 3)".
  std::string describe(int variable) const;
  std::string describe(const Spec& spec, const Spec& other) const;
  // The op as it is printed, with expressions in the place of witnesses.
  std::string describe(const Step& step) const;
  std::string line(const Step& step) const;
  std::vector<std::string> lines() const;
  std::string text() const;

  // Whether something was added, or one of its sizes used, since it ran last: until then, eager ops
  // that make something of its sizes belong to it.
  bool is_recorded = true;
  // For who embeds the core: the object that stands for this program.
  void* handle = nullptr;

 private:
  friend class Reader;
  struct Root {
    std::string name;
    Witness witness;
    int variable;
    int dimension;
  };
  // A number that depends on unknown sizes, and how it is made of them.
  struct Base {
    Witness witness;
    AttrExpr expr;
  };

  int add(Variable variable);
  void check(const Guard& guard, std::span<const Spec> specs) const;
  std::string next_name() { return "_" + std::to_string(++names_); }
  Witness witness_of_dimension(const Dimension& dimension, int variable, int index);
  void add_bases(int variable);
  void note_known(const Dims& shape, const Dims& other);
  bool leads_to(const Program& other) const;
  int add_base(const Base& base);
  // ErrorKind::kShape where a step gave other sizes than those that were recorded.
  void check_sizes(const Step& step, std::span<const Spec> specs) const;
  std::vector<int> finish(Step step, const Specs& specs, const Specs& others);
  // An error in terms of the program: its own names of sizes, and the line of the step.
  [[noreturn]] void rethrow(const Error& error, const std::string& place) const;
  std::string with_names(std::string message) const;
  std::string text_of(const AttrExpr& expr) const;

  std::vector<Variable> variables_;
  std::vector<Step> steps_;
  std::vector<int> inputs_;
  std::map<std::string, Ref<Program>> parts_;
  std::vector<Root> roots_;
  std::vector<Base> bases_;
  std::vector<Guard> guards_;
  std::unordered_set<int64_t> known_;  // products of known dimensions of variables
  int names_ = 0;
  std::map<std::vector<int64_t>, std::shared_ptr<const Bound>> bound_;
};

// Shapes and dtypes of an op's results, as tensor-likes without elements get them: ops and rules
// written outside of the core included.
Specs infer_any(const Op& op, std::span<const Spec> inputs);

// The attribute for variables of these specs.
Attr evaluate(const AttrExpr& expr, std::span<const Spec> variables);
// The op with attributes for variables of these specs; the step's own where it has no expressions.
Ref<const Op> op_for(const Program::Step& step, std::span<const Spec> variables);

// An op on RawTensors, or on nothing, that makes something of an unknown size is part of that
// size's program.
bool append_creation(const Op& op, Args args, Values& out);

// What whoever embeds the core knows of programs: the tensor-like that stands for a variable, and
// how an op is printed that was written elsewhere.
inline Ref<Value> (*symbol_of)(Program& program, int variable) = nullptr;
inline std::string (*text_of_op)(const Op& op) = nullptr;

}  // namespace tensorlike
