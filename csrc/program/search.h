// Finding patterns in a program, and putting what they stand for in their place.
#pragma once

#include <memory>

#include "program/graph.h"
#include "program/patterns.h"

namespace tensorlike {

class Search {
 public:
  // `takes_all`: nothing that is computed inside of what is found may be read elsewhere.
  Search(Graph& graph, Patterns& patterns, bool is_literal, bool takes_all);

  // Once over the program, from its end; how many places changed.
  int run();

 private:
  // A pattern that was found, with the steps that it takes the place of.
  struct Found {
    const Pattern* pattern = nullptr;
    Ref<const Op> op;                        // the pattern's, with the attributes that were found
    std::vector<int> holes;                  // terms
    std::vector<int> args;                   // variables; -1: a number
    std::vector<std::vector<int64_t>> axes;  // of variables that are transposed first; else none
    std::vector<int> others;                 // variables that its further results are; -1: none
    std::vector<size_t> steps;
    size_t ops = 0;   // how many of them are no literals
    size_t gone = 0;  // how many of these nobody else needs
  };

  // What variables mean for one of the two witnesses of their unknown sizes.
  struct Meanings {
    explicit Meanings(bool is_literal) : terms(is_literal) {}
    Terms terms;
    std::vector<int> of = {};      // terms of variables
    std::vector<Spec> specs = {};  // of variables
  };

  void name_terms(Meanings& meanings, bool is_second);
  static std::vector<int> terms_of_step(const Program::Step& step, Meanings& meanings);
  bool is_root(const Program::Step& step) const;
  std::optional<Found> best_at(size_t place, bool takes_scalars);
  bool takes_end_of_another(const Found& found);
  std::optional<Found> found_at(size_t place, const Pattern& pattern, int term);
  bool reshape_holes(std::vector<int>& holes, const Spec& from, const Spec& to);
  Ref<const Op> op_with(const Pattern& pattern, const Match& match) const;
  bool is_it(Found& found, const Program::Step& step);
  bool is_it_for_second(const Found& found, const Program::Step& step);
  Attr for_second(const Attr& attr) const;
  int64_t for_second(int64_t number) const;
  bool is_read_before(size_t place, const Found& found) const;
  int variable_of(int term, size_t before) const;
  bool take_argument(Found& found, size_t index, size_t place) const;
  void measure(size_t place, Found& found) const;
  bool is_literal_step(const Program::Step& step) const;
  bool put(size_t place, const Found& found);
  std::vector<int> emit(size_t& place, const Found& found, const std::string& line);
  int emit_term(size_t& place, const Terms& terms, int term, const Found& found,
                const std::string& line, std::unordered_map<int, int>& made);
  std::vector<int> emit_transposes(size_t& place, const Found& found, const std::string& line);
  int emit_number(size_t& place, double number, const Found& found, const std::string& line);

  Graph& graph_;
  Patterns& patterns_;
  const bool takes_all_;
  Meanings first_;
  // A number that was made of an unknown size looks like any other, but is another one here; null:
  // all sizes are known.
  std::unique_ptr<Meanings> second_;
  Terms& terms_ = first_.terms;
  std::vector<int>& term_ = first_.of;
  std::vector<int> makers_;    // of each variable
  std::vector<int> readers_;   // of each variable, among steps that are needed
  std::vector<bool> is_open_;  // of each step: it is needed, and no part of what was found
  std::unordered_map<int, std::vector<int>> variables_;  // of each term
};

// Again and again, since what was found may be part of more; how many places changed.
int rewrite(Graph& graph, Patterns& patterns, bool is_literal, bool takes_all);

}  // namespace tensorlike
