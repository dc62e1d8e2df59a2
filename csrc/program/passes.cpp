#include "program/passes.h"

#include <algorithm>
#include <chrono>

#include "op/registry.h"

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
    {"chains", "elementwise steps of one shape run as one tile program", OptLevel::kUsual,
     &fuse_chains},
    {"rows", "what is reduced along rows and read again runs together, some rows at a time",
     OptLevel::kUsual, &fuse_rows},
    {"keep", "captured weights keep how kernels have packed and transformed them", OptLevel::kUsual,
     &keep_constants},
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

std::vector<int> run_pass(const Pass& pass, const Program& source, std::span<const int> results,
                          OptLevel level, Program& empty, PassReport& report) {
  const auto begin = std::chrono::steady_clock::now();
  Graph graph(source, results);
  if (level >= pass.least) {
    // What nobody reads already is left to the pass for that.
    const std::vector<int> dead = graph.dead_results();
    report.changes = pass.run(graph, level);
    const bool is_swept = pass.run == &remove_dead_code;
    if (report.changes > 0 && !is_swept) graph.keep(graph.live_steps(dead));
  }
  graph.finish(empty);
  report.name = pass.name;
  report.nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
          .count();
  return graph.finished_results();
}

Optimized optimize(const Program& source, std::span<const int> results,
                   const OptimizeOptions& options) {
  for (const std::string& name : options.off) find_pass(name);
  Optimized out{Ref<Program>(const_cast<Program*>(&source)), {results.begin(), results.end()}, {}};
  for (const Pass& pass : kPasses) {
    if (std::find(options.off.begin(), options.off.end(), pass.name) != options.off.end()) continue;
    PassReport report;
    Ref<Program> made = make_ref<Program>();
    std::vector<int> found =
        run_pass(pass, *out.program, out.results, options.level, *made, report);
    if (options.keeps_texts) {
      report.before = out.program->text();
      report.after = made->text();
    }
    out.program = std::move(made);
    out.results = std::move(found);
    if (options.verifies) verify(*out.program, out.results);
    out.reports.push_back(std::move(report));
  }
  return out;
}

}  // namespace tensorlike
