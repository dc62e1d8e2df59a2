// A program: ops in their order, and the variables that they read and make. The one form of what is
// recorded, whoever records it, whether it is to be printed, drawn, saved or run again.
//
// Shapes may have sizes that are not known (sizes.h). An attribute that a rule made of such a size
// is kept as the expression that it is; `bind` evaluates them for the sizes at hand, and infers the
// whole program again.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "program/calculate.h"
#include "program/draws.h"
#include "program/sizes.h"
#include "tensor/value.h"

namespace tensorlike {

struct MemoryPlan;
struct ProgramFile;

// The number of a variable or a step as a place in a list of them.
inline size_t at(int number) { return static_cast<size_t>(number); }

class Program : public RefCounted {
 public:
  // A state stays between runs, under its name: a parameter, a moment, a running mean.
  enum class Role : uint8_t { kInput, kCaptured, kResult, kState };

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
    int chain = -1;          // steps side by side of one number run as one tile program
    int band = -1;           // the same of steps that run together, some rows at a time
  };

  Program() = default;
  ~Program() override;
  // One that was saved: see file.h.
  static ProgramFile load(const std::string& path);

  int add_input(std::string name, DType dtype, std::span<const Dimension> dimensions);
  // A value from outside: a parameter, or a constant. Without a name it gets the next number.
  int capture(Ref<Value> value, const Spec& spec, std::string note, std::string name = {});
  int add_state(std::string name, const Spec& spec);
  // A new state that starts as a variable is, a captured value or what steps make of no input: they
  // go to `startup`, with a state of the same name to which they are assigned.
  // ErrorKind::kArgument where they read an input, or a state.
  int keep(int variable, std::string name, Program& startup);
  // The same of a value from outside.
  int keep(Ref<Value> value, const Spec& spec, std::string name, Program& startup);
  // The state is a copy of this value after a run.
  void start(int state, Ref<Value> value, const Spec& spec);
  // The state is this variable, of the same shape and dtype, after a run; the last one counts.
  void assign(int state, int variable);
  // Adds an op, and says where its results are; bad inputs are refused as the op refuses them.
  std::vector<int> append(const Op& op, std::span<const int> inputs, std::string place);
  // The same where it is known what comes out.
  std::vector<int> append(const Op& op, std::span<const int> inputs, std::string place,
                          const Specs& outputs);
  // A step as it was recorded before: what its expressions say depends on unknown sizes, and the op
  // has the attributes for the first witnesses.
  std::vector<int> append(Step step);
  // A program that attributes of ops name.
  void add_part(std::string name, Ref<Program> part);
  void rename(int variable, std::string name);
  // What nobody names is called by numbers above this one: of a program that takes over the names
  // of another.
  void reserve_names(int count) {
    if (count > names_) names_ = count;
  }
  // What somebody asked of numbers that stand for unknown sizes, and was told by the witnesses;
  // `bind` refuses sizes for which the answer is another. `how` is one of == < <=.
  bool compare(const SizeNumber& a, const SizeNumber& b, const std::string& how, std::string place);
  // The same where the answer is known, as it is of a program that was saved.
  struct Guard {
    AttrExpr a, b;
    std::string how;
    bool answer;
    std::string place;
    std::string op = {};  // that wanted sizes to be equal; empty: somebody asked
  };
  // `op` is the one that assumes it; empty: somebody asked.
  void require(const SizeNumber& a, const SizeNumber& b, const std::string& how, bool answer,
               std::string place, std::string op = {});
  void require(Guard guard);
  struct Schedule;  // schedule.h
  class Updating;
  const std::vector<Guard>& guards() const { return guards_; }
  // A size, or a number with a fraction, which may stand for what was calculated before.
  using Operand = std::variant<Witness, double>;
  // What comes out where somebody calculates with sizes, or numbers: see calculate_number.
  // ErrorKind::kShape where it cannot be told from others.
  Operand calculate(const std::string& how, std::span<const Operand> parts);
  // Whether two numbers, one of them made of its sizes, are equal: taken for it if they may be.
  bool agree(int64_t a, int64_t b, const std::string& place, const std::string& op);
  // What a number with a fraction stands for; null: it is what it is.
  const AttrExpr* real_expression(double number) const;
  // How a number is made of sizes; none where it is not known, or of none.
  std::optional<AttrExpr> expression_for(const Operand& number) const;
  // Lets captured values go: of a program that nobody can run any more.
  void release_values();

  const std::vector<Variable>& variables() const { return variables_; }
  const std::deque<Step>& steps() const { return steps_; }
  // Another one after each change of the variables, the steps or what states become.
  uint64_t version() const { return version_; }
  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& states() const { return states_; }
  // What states are after a run, of those that change.
  const std::map<int, int>& assigned() const { return assigned_; }
  const std::map<std::string, Ref<Program>>& parts() const { return parts_; }
  bool has_unknown_sizes() const { return !roots_.empty() || !found_.empty(); }
  // Whether sizes follow from elements, as that of `unique_values` does: they are known when its
  // result is there, so that such a program is bound step by step as it runs.
  bool is_bound_late() const { return !found_.empty(); }
  // The unknown sizes of the inputs: their names, in the order in which `bind` takes them.
  std::vector<std::string> unknown_sizes() const;
  // Where such a size was first met: an input's variable, and its dimension.
  std::pair<int, int> place_of_size(size_t number) const;

  // The ops of all steps for these sizes; kept, so that the same sizes cost nothing again.
  // ErrorKind::kShape where sizes follow from elements.
  struct Bound {
    std::vector<Ref<const Op>> ops;
    std::vector<Spec> specs;  // of all variables
    // Where results lie, of schedules (by their numbers) that replace states or do not.
    mutable std::vector<std::pair<std::pair<uint64_t, bool>, std::shared_ptr<const MemoryPlan>>>
        plans = {};
  };
  std::shared_ptr<const Bound> bind(const std::vector<int64_t>& sizes);
  // The sizes that values of these specs give; ErrorKind::kShape, or kDType, where one does not
  // fit. `who` is named in errors.
  std::vector<int64_t> sizes_of(const char* who, std::span<const Spec> given) const {
    return sizes_of(who, inputs_, given);
  }
  // The same of values for some variables; what follows from other sizes is not looked at.
  std::vector<int64_t> sizes_of(const char* who, std::span<const int> variables,
                                std::span<const Spec> given) const;

  // Whether a value of this dtype and shape may be the variable, as far as known sizes tell.
  bool may_be(int variable, DType dtype, const Dims& shape) const;

  // What the program gives when it is applied to tensor-likes of any kind, one for each input and
  // for each state: the values of some of its variables. A value that nobody reads any more is
  // dropped at once. With `updating`, states that it lets go may be written over.
  Values run(std::span<const int> results, Args given, Args states = {},
             Updating* updating = nullptr);

  // What a step makes, as inferred by the first witnesses and by the second ones.
  struct Made {
    Specs specs, others;
  };
  Made made_by(const Step& step) const;

  // The two numbers that a number made of unknown sizes stands for; none where it is plain.
  std::optional<Witness> witness_of(int64_t number) const;
  // Whether a number is one that the second witnesses give: ops are inferred with these, too.
  bool is_of_second_witnesses(int64_t number) const;

  // "float32(None, 3)".
  std::string describe(int variable) const;
  std::string describe(const Spec& spec, const Spec& other) const;
  // The op as it is printed, with expressions in the place of witnesses.
  std::string describe(const Step& step) const;
  std::string line(const Step& step) const;
  std::vector<std::string> lines() const;
  // What is taken for granted of sizes: "h == 2 * _1.shape[2]  # Concat, unet.py:12".
  std::vector<std::string> assumptions() const;
  // "x, _1"
  std::string names_of(const std::vector<int>& numbers) const;
  // All lines, then the programs that are parts of it, and those that its ops hold.
  std::string text() const;

  // Whether something was added, or one of its sizes used, since it ran last: until then, eager ops
  // that make something of its sizes belong to it.
  bool is_recorded = true;
  // Whether results of a run share memory by a plan (memory_plan.h).
  bool shares_memory = false;
  // The draws that were taken from the process's stream while it was recorded: each run takes new
  // ones in their place. What somebody drew by a seed of their own is drawn again as it was.
  DrawSet draws;
  // For who embeds the core: the object that stands for this program.
  void* handle = nullptr;

 private:
  friend class Graph;
  friend class Reader;
  friend class Stretch;
  // What a number comes to where the sizes of inputs are their first witnesses, and which of these
  // it depends on.
  struct Extent {
    int64_t size = 0;
    uint64_t roots = 0;
  };
  struct Root {
    std::string name;
    Witness witness;
    int variable;
    int dimension;
    Extent extent = {};
  };
  // A size that follows from others by a division, or in another way that is no sum of products:
  // it has witnesses of its own, so that what is made of it is told from what is made of others.
  struct OwnSize {
    Witness inferred;
    Witness witness;
    AttrExpr expr;
    Extent extent;
  };
  // A number that depends on unknown sizes, and how it is made of them.
  struct Base {
    Witness witness;
    AttrExpr expr;
    Extent extent = {};
  };
  // A number with a fraction that follows from sizes, and what stands for it in attributes.
  struct Real {
    double stands;
    AttrExpr expr;
  };
  // Two sizes that an op wanted to be equal; the guard says so.
  struct Equality {
    Witness from, to;
  };
  struct MetSize;  // equal_sizes.cpp
  enum class Side : uint8_t { kFirst, kSecond, kExtent };
  class LateSizes;  // late_sizes.h
  // Whether values are variables of other programs that are recorded, of sizes that these do not
  // know. Whether everything is given that this one reads.
  bool is_of_outer_sizes(Args values, std::span<const Spec> specs) const;
  bool is_given(std::span<const int> variables) const;
  // Whether the op draws random numbers anew in each run.
  bool draws_anew(const Op& op) const;
  // What makes the results of what is given; `runs_all`: and all other steps; `reads_sizes`: and
  // what attributes have their sizes of.
  // ErrorKind::kArgument where a result depends on an input or a state that is not given.
  std::shared_ptr<const Schedule> plan(std::span<const int> given, std::span<const int> results,
                                       bool runs_all, bool reads_sizes = false) const;
  std::shared_ptr<const Schedule> schedule(std::span<const int> results);
  // Null: sizes follow from elements.
  Values run(const Schedule& schedule, Args given, const Bound* bound,
             Updating* updating = nullptr);
  // The steps in the order in which they run, and how many come before those that only make what
  // states become.
  std::pair<std::vector<size_t>, size_t> order_of_steps() const;
  int add(Variable variable);
  std::vector<int> append(Step step, bool reads_attributes);
  std::vector<size_t> slice(int variable) const;
  void set_aside(const std::vector<size_t>& steps);
  void take_back(std::span<const int> variables);
  void check(const Guard& guard, std::span<const Spec> specs,
             CalculateNumber calculate = calculate_number) const;
  // What a step gives for sizes that stand for others, by what was recorded. False: it is not said.
  bool spec_as_recorded(const Step& step, std::vector<Spec>& specs) const;
  std::string next_name() { return "_" + std::to_string(++names_); }
  Extent next_extent(const Witness& made) const;
  Witness witness_of_dimension(const Dimension& dimension, int variable, int index);
  void add_bases(int variable);
  void add_counts(int variable);
  void add_large_counts(int variable);
  void rebuild_bases();
  void forget_runs() {  // what was worked out for them is so no more
    ++version_;
    bound_.clear();
    schedules_.clear();
  }
  // Gives witnesses to sizes that follow from elements.
  void open_sizes(Specs& specs, Specs& others);
  Witness dimension(int variable, int index) const;
  Witness witness_of(const AttrExpr& expr) const;
  Witness calculate_sizes(const std::string& how, const Witness& a, const Witness& b);
  Operand calculate(const AttrExpr& expr);
  Witness calculate_whole(AttrExpr expr);
  double calculate_real(AttrExpr expr);
  AttrExpr expression_of(const Operand& number) const;
  // What an expression comes to by the witnesses; none where these have no such value.
  std::optional<SizeNumber> number_at(Side side, const AttrExpr& expr) const;
  double real_at(Side side, const AttrExpr& expr) const;
  const OwnSize* find_own(const std::string& text) const;
  int64_t number_at(Side side, Witness size, std::span<const Equality> equal) const;
  Attr attr_at(Side side, const AttrExpr& expr, std::span<const Equality> equal) const;
  Ref<const Op> op_at(Side side, const Step& step, std::span<const Equality> equal) const;
  Specs infer_at(Side side, const Step& step, std::span<const Equality> equal) const;
  Made infer(const Step& step, std::span<const Equality> equal) const;
  // None where it is no sum of products of sizes.
  std::optional<Extent> extent_of(const Witness& number) const;
  std::optional<Extent> extent_of(const Witness& number, size_t bases, int count,
                                  int64_t most_rest) const;
  // Witnesses of their own for sizes that are new, and no sums of products.
  void take_own_sizes(const Step& step, Made& made);
  const OwnSize* own_size(const Witness& inferred) const;
  const Witness& take_own_size(const Witness& inferred, AttrExpr expr, const Extent& extent);
  Specs extents_of(const Step& step) const;
  uint64_t roots_of(const Step& step) const;
  // The sizes to be taken for equal for the step to be one that can be inferred, as few as will do:
  // some that are, or some of the pairs. None: it is no such step.
  std::optional<std::vector<Equality>> equal_for(const Step& step,
                                                 std::span<const Equality> pairs) const;
  // Takes sizes for equal that may be; false: it is no such step.
  bool assume_equal(const Step& step);
  // As made_by, by what is taken for equal, or for divisible, if it has to be.
  Made made_of(const Step& step);
  // By what is divided, and need not leave nothing; none: nothing is.
  std::optional<Made> made_by_dividing(const Step& step, std::vector<Guard>& assumed) const;
  bool assume_divides(const Step& step);
  bool is_required(const Guard& guard) const;
  void calculate_again(Step& step);
  std::vector<MetSize> sizes_met(const Step& step) const;
  bool may_be_equal(const Witness& a, const Witness& b) const;
  bool is_root(const Witness& size) const;
  bool is_taken_for(const Witness& a, const Witness& b) const;
  Equality towards_root(const Witness& a, const Witness& b) const;
  void note_known(const Dims& shape, const Dims& other);
  bool leads_to(const Program& other) const;
  int add_base(const Base& base);
  bool is_read(const Witness& number) const;
  Extent extent_or_all(const Witness& number) const;
  AttrExpr expression_of(const Witness& size) const;
  static Base product_of(const Base& a, const Base& b);
  // ErrorKind::kShape where a step gave other sizes than those that were recorded.
  void check_sizes(const Step& step, std::span<const Spec> specs) const;
  [[noreturn]] void refuse_sizes(const Step& step, int output, const Dims& found) const;
  std::vector<int> finish(Step step, const Specs& specs, const Specs& others);
  // An error in terms of the program: its own names of sizes, and the line of the step.
  [[noreturn]] void rethrow(const Error& error, const std::string& place) const;
  std::string with_names(std::string message) const;
  std::optional<std::string> text_of_number(int64_t number) const;
  std::string text_of(const AttrExpr& expr) const;
  std::string text_of(const Guard& guard) const;

  std::vector<Variable> variables_;
  std::deque<Step> steps_;  // whose elements stay where they are while others are added
  uint64_t version_ = 0;
  std::vector<Step> aside_;  // that nobody reads: what they make is kept from run to run
  std::vector<int> inputs_;
  std::vector<int> states_;
  std::map<int, int> assigned_;
  std::unordered_map<const Value*, int> captured_;  // of those that were not named
  std::map<std::string, Ref<Program>> parts_;
  Ref<const Program> origin_ = {};  // whose unknown sizes these are, of one that a pass rewrote
  std::vector<Root> roots_;
  std::vector<Root> found_;  // sizes that follow from elements
  std::vector<OwnSize> own_;
  std::vector<Real> reals_;
  std::vector<Equality> equal_;
  std::vector<Base> bases_;
  std::vector<Base> calculated_;
  std::unordered_multimap<int64_t, int> base_numbers_;  // by the first witness
  bool has_new_size_ = false;                           // of which `bases_` are not made yet
  std::vector<Guard> guards_;
  std::unordered_set<int64_t> known_;  // products of known dimensions of variables
  int names_ = 0;
  std::map<std::vector<int64_t>, std::shared_ptr<const Bound>> bound_;
  static constexpr size_t kMostSchedules = 8;
  std::vector<std::shared_ptr<const Schedule>> schedules_;  // of the results that were asked for
};

// Shapes and dtypes of an op's results, as tensor-likes without elements get them: ops and rules
// written outside of the core included. A size that follows from elements is kUnknownSize.
Specs infer_any(const Op& op, std::span<const Spec> inputs);

// The step's op with these values of the attributes that have expressions, in their order.
Ref<const Op> op_with(const Program::Step& step, std::vector<Attr> values);

// The op with attributes for variables of these specs; the step's own where it has no expressions.
Ref<const Op> op_for(const Program::Step& step, std::span<const Spec> variables,
                     CalculateNumber calculate = calculate_number);

// What whoever embeds the core knows of programs: the tensor-like that stands for a variable, and
// how an op is printed that was written elsewhere.
inline Ref<Value> (*symbol_of)(Program& program, int variable) = nullptr;
inline std::string (*text_of_op)(const Op& op) = nullptr;

}  // namespace tensorlike
