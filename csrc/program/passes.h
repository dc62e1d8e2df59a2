// Passes: each turns a program into one that gives the same values, for less. One is a function
// over a Graph in a file of its own (pass_*.cpp); `passes` has them in their order.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/graph.h"

namespace tensorlike {

// How far passes may go. kUsual: results are the same but for rounding, where a fused op takes the
// place of what was written out, weights are transformed once, or products are joined; all other
// changes keep every bit.
// kReal: identities of real numbers, too, that floats know in part, as log(exp(x)) is x.
enum class OptLevel : uint8_t { kNone, kUsual, kReal };

struct Pass {
  std::string_view name;
  std::string_view what;
  OptLevel least;  // at which it runs
  // Gives how many places it changed.
  int (*run)(Graph& graph, OptLevel level);
};

// All of them, in the order in which they run.
std::span<const Pass> passes();
// ErrorKind::kArgument for a name that there is not.
const Pass& find_pass(std::string_view name);

struct PassResult {
  std::vector<int> results;
  int changes = 0;
  int64_t nanoseconds = 0;
};

struct Optimized {
  Ref<Program> program;
  std::vector<int> results;
};

// What passes make of a stretch, whose program is its own then; the same one where they change
// nothing, or where it cannot be a program.
Ref<Stretch> rewritten(Ref<Stretch> call, std::span<const std::string> names, OptLevel level);

// One pass over a program, whose result fills an empty one. Where the pass changes nothing this
// stays empty, and the results are those given.
PassResult run_pass(const Pass& pass, const Program& source, std::span<const int> results,
                    OptLevel level, Program& empty);
// All passes; another program than the source, whatever they change.
Optimized optimize(const Program& source, std::span<const int> results,
                   OptLevel level = OptLevel::kUsual);

// That a program is one: what a step reads is made before, once; its results are inferred to be
// what is written; states become values of their kind. ErrorKind::kArgument where it is not.
void verify(const Program& program, std::span<const int> results);

int remove_dead_code(Graph& graph, OptLevel level);
int fold_constants(Graph& graph, OptLevel level);
int move_views(Graph& graph, OptLevel level);
int apply_identities(Graph& graph, OptLevel level);
int share_subexpressions(Graph& graph, OptLevel level);
int fuse_bodies(Graph& graph, OptLevel level);
int scale_channels(Graph& graph, OptLevel level);
int join_products(Graph& graph, OptLevel level);
int order_steps(Graph& graph, OptLevel level);
int fuse_chains(Graph& graph, OptLevel level);
int fuse_rows(Graph& graph, OptLevel level);
int keep_constants(Graph& graph, OptLevel level);
int share_memory(Graph& graph, OptLevel level);

}  // namespace tensorlike
