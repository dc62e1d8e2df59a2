// Patterns: bodies as terms with holes, and the search for them among the terms of a program.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "op/identities.h"
#include "op/registry.h"
#include "program/samples.h"
#include "program/terms.h"

namespace tensorlike {

// What a body looks like for sample attributes, and with some of its pieces chosen.
struct Pattern {
  Ref<const Op> op;                    // with the sample attributes; of an identity, its left side
  const Identity* identity = nullptr;  // null: it is an op's own body
  Choices choices = {};
  bool keeps_inner = false;                       // see Terms::through_body
  int neutral = -1;                               // the attribute that is 0 or 1; -1: none
  std::vector<std::optional<double>> fixed = {};  // arguments that are numbers
  std::vector<int> results = {};                  // terms of `Patterns`
  // The dtypes that its arguments may have.
  std::span<const ArgSpec> args() const;
};

// Where the holes and the attributes of a pattern are in a program.
struct Match {
  std::vector<int> holes;                  // terms; -1: not met
  std::vector<std::optional<Attr>> attrs;  // of the op; none: as in the sample
};

// The parts of sums and products of patterns, as they are looked for.
using Orders = std::unordered_map<int, std::vector<Term::Part>>;

class Patterns {
 public:
  // `is_literal`: as Terms has it.
  explicit Patterns(bool is_literal) : terms_(is_literal) {}

  void add_bodies(const Registry& registry);
  void add(const Identity& identity);
  size_t size() const { return patterns_.size(); }

  // Those that may look like a term.
  const std::vector<size_t>& candidates(const Term& term) const;
  const Pattern& operator[](size_t index) const { return patterns_[index]; }
  // Where a pattern's holes are for its result to be this term, if numbers are right; attributes
  // are read off where their samples stand.
  std::optional<Match> match(const Pattern& pattern, const Terms& program, int term);

 private:
  void add_op(const Ref<Op>& op, const Specs& args, std::span<const ArgSpec> arg_specs,
              const Identity* identity, int neutral = -1);
  void add_neutral(const Sample& sample, std::span<const ArgSpec> arg_specs,
                   const Identity* identity);
  void add_without(const Pattern& pattern, const Specs& args);
  // Unless its root is that one.
  void add(Pattern pattern, const Specs& args, const void* other_than = nullptr);

  Terms terms_;
  Orders orders_;
  std::vector<Pattern> patterns_;
  std::unordered_map<const void*, std::vector<size_t>> by_root_;
  std::unordered_map<const void*, bool> added_;
};

// What a term is looked up by: the op of a call, or that it is a sum or a product.
// What an op is, whatever its attributes are.
const void* meaning_of(const Op& op);
const void* root_of(const Term& term);

}  // namespace tensorlike
