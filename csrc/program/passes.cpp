#include "program/passes.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "op/registry.h"
#include "program/holder.h"

namespace tensorlike {
namespace {

constexpr Pass kPasses[] = {
    {"dead_code", "steps that nobody reads go", OptLevel::kUsual, &remove_dead_code},
    {"fold", "steps over captured values alone become captured values", OptLevel::kUsual,
     &fold_constants},
    {"moves", "transposes, reshapes and broadcasts go to where they cancel, or cost nothing",
     OptLevel::kUsual, &move_views},
    {"identities", "what the declared identities make shorter", OptLevel::kUsual,
     &apply_identities},
    {"cse", "equal steps over equal inputs are one", OptLevel::kUsual, &share_subexpressions},
    {"bodies", "what is written out as the body of an op becomes that op", OptLevel::kUsual,
     &fuse_bodies},
    {"channels", "what scales and shifts a product's channels becomes part of captured weights",
     OptLevel::kUsual, &scale_channels},
    {"products", "products of a few rows by the same captured weights are one", OptLevel::kUsual,
     &join_products},
    {"order", "steps that let memory go run as soon as they can", OptLevel::kUsual, &order_steps},
    {"chains", "elementwise steps of one shape run as one tile program", OptLevel::kUsual,
     &fuse_chains},
    {"rows", "what is reduced along rows and read again runs together, some rows at a time",
     OptLevel::kUsual, &fuse_rows},
    {"keep", "captured weights keep how kernels have packed and transformed them", OptLevel::kUsual,
     &keep_constants},
    {"arena", "results of a run share one piece of memory, each for as long as it lives",
     OptLevel::kUsual, &share_memory},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

const Pass& find_pass(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPasses) {
    if (pass.name == name) return pass;
    names.push_back(pass.name);
  }
  fail(ErrorKind::kArgument, said::op("optimize"), said::argument("passes"),
       "must be names of passes", said::got(text("'", name, "'", did_you_mean(name, names))));
}

namespace {

int run_on(const Pass& pass, Graph& graph, OptLevel level);

// A call of the program that the pass makes of a call's; the same one where it changes nothing.
Ref<Stretch> rewritten(const Pass& pass, const Ref<Stretch>& call, OptLevel level, int& changes) {
  if (!Graph::can_take(*call)) return call;
  Graph graph(*call);
  const int changed = run_on(pass, graph, level);
  if (changed == 0) return call;
  changes += changed;
  Ref<Program> made = make_ref<Program>();
  graph.finish(*made);
  return make_ref<Stretch>(std::move(made), graph.finished(call->given), graph.finished_results());
}

// The pass in the programs that ops of a graph hold. What these are given stays outside of them,
// however often they run.
int run_inside(const Pass& pass, Graph& graph, OptLevel level) {
  int changes = 0;
  std::map<const Stretch*, Ref<Stretch>> known;  // which several ops may hold
  for (Program::Step& step : graph.steps()) {
    const Holder* holder = holder_of(*step.op);
    if (holder == nullptr) continue;
    std::vector<Ref<Stretch>> calls;
    for (const Ref<Stretch>& call : holder->calls) {
      const auto [at, is_new] = known.try_emplace(call.get());
      if (is_new) at->second = rewritten(pass, call, level, changes);
      calls.push_back(at->second);
    }
    const bool is_same =
        std::equal(calls.begin(), calls.end(), holder->calls.begin(),
                   [](const auto& a, const auto& b) { return a.get() == b.get(); });
    if (is_same) continue;
    step.op = op_around(make_ref<Holder>(holder->kind, std::move(calls), holder->params));
  }
  return changes;
}

// How many places the pass changed in a graph.
int run_on(const Pass& pass, Graph& graph, OptLevel level) {
  // What nobody reads already is left to the pass for that.
  const std::vector<int> dead = graph.dead_results();
  const int changes = pass.run(graph, level);
  const bool is_swept = pass.run == &remove_dead_code;
  if (changes > 0 && !is_swept) graph.keep(graph.live_steps(dead));
  return changes + run_inside(pass, graph, level);
}

}  // namespace

Ref<Stretch> rewritten(Ref<Stretch> call, std::span<const std::string> names, OptLevel level) {
  int changes = 0;
  for (const std::string& name : names) {
    const Pass& pass = find_pass(name);
    if (level >= pass.least) call = rewritten(pass, call, level, changes);
  }
  return call;
}

PassResult run_pass(const Pass& pass, const Program& source, std::span<const int> results,
                    OptLevel level, Program& empty) {
  const auto begin = std::chrono::steady_clock::now();
  PassResult found{{results.begin(), results.end()}};
  if (level >= pass.least) {
    Graph graph(source, results);
    found.changes = run_on(pass, graph, level);
    if (found.changes > 0) {
      graph.finish(empty);
      found.results = graph.finished_results();
    }
  }
  const auto taken = std::chrono::steady_clock::now() - begin;
  found.nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count();
  return found;
}

Optimized optimize(const Program& source, std::span<const int> results, OptLevel level) {
  Graph copied(source, results);
  Optimized out{make_ref<Program>(), {}};
  copied.finish(*out.program);
  out.results = copied.finished_results();
  for (const Pass& pass : kPasses) {
    Ref<Program> made = make_ref<Program>();
    PassResult found = run_pass(pass, *out.program, out.results, level, *made);
    if (found.changes == 0) continue;
    out = {std::move(made), std::move(found.results)};
  }
  return out;
}

}  // namespace tensorlike
