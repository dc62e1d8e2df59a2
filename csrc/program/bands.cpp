// Turns that run together, some rows at a time, as a schedule has them.
#include <algorithm>

#include "op/counts.h"
#include "op/infer.h"
#include "op/tile_program.h"
#include "program/schedule.h"

namespace tensorlike {
namespace {

constexpr double kMostOfMemory = 0.6;  // that a band reads and writes of what its calls would

class BandOfTurns {
 public:
  BandOfTurns(const Program& program, const Program::Schedule& schedule, size_t first, size_t end)
      : program_(program), schedule_(schedule), first_(first), end_(end) {}

  // Nothing where one of its turns can't be taken.
  std::optional<Program::Schedule::Band> make(ReaderCounts& readers) {
    for (size_t i = first_; i < end_; i += taken_) {
      if (!add(i, readers)) return std::nullopt;
    }
    if (!reads_by_rows()) return std::nullopt;
    number_slots();
    find_results(readers);
    made_.turns = end_ - first_;
    made_.known.place = step_at(end_ - 1).place;
    for (size_t i = first_; i < end_; ++i) {
      const std::vector<int>& drops = schedule_.turns[i].drops;
      made_.drops.insert(made_.drops.end(), drops.begin(), drops.end());
    }
    if (made_.writes.empty() || made_.known.operands == 0 || !pays()) return std::nullopt;
    return made_;
  }

 private:
  const Program::Step& step_at(size_t turn) const {
    return program_.steps()[schedule_.turns[turn].step];
  }

  // A call, with variables where slots will be; how many turns it is.
  bool add(size_t turn, ReaderCounts& readers) {
    KnownRows::Call call;
    const Program::Schedule::Turn& one = schedule_.turns[turn];
    const Program::Step& step = step_at(turn);
    taken_ = 1;
    std::optional<Program::Schedule::Chain> chain;
    if (one.chain >= 0) {
      chain = schedule_.chains[at(one.chain)];
    } else if (is_elementwise(*step.op)) {
      chain = make_chain(program_, {&one, 1}, readers);
      if (!chain) return false;
    }
    if (chain) {
      taken_ = chain->turns;
      call.in = chain->operands;
      call.out = chain->writes;
      call.over = chain->inner;
      call.chain = std::move(chain->known);
    } else {
      if (step.op->reduction == nullptr || one.writes[0] < 0) return false;
      call.op = step.op;
      call.in = step.inputs;
      call.out = one.writes;
      call.over = step.inputs[0];
    }
    for (size_t i = turn; i < turn + taken_; ++i) {
      const Program::Step& member = step_at(i);
      made_.known.ops.push_back(member.op->name());
      if (member.op->reduction != nullptr) note_axes(*member.op, member.inputs[0]);
    }
    made_.known.calls.push_back(std::move(call));
    return turn + taken_ <= end_;  // a pass that came later may have joined it with others
  }

  // What is made here is read row by row: nothing is broadcast along an axis in front of it.
  bool reads_by_rows() const {
    std::vector<int> made_here;
    const auto ndim = [&](int variable) {
      return program_.variables()[at(variable)].spec.shape.size();
    };
    for (const KnownRows::Call& call : made_.known.calls) {
      for (int variable : call.in) {
        if (slot_of(made_here, variable) >= 0 && ndim(variable) != ndim(call.over)) return false;
      }
      made_here.insert(made_here.end(), call.out.begin(), call.out.end());
    }
    return true;
  }

  void note_axes(const Op& op, int variable) {
    const Dims& shape = program_.variables()[at(variable)].spec.shape;
    for (int64_t axis : named_axes(op, static_cast<int64_t>(shape.size()))) {
      made_.known.first_reduced = std::min(made_.known.first_reduced, static_cast<size_t>(axis));
    }
  }

  // Operands first, then what is made; last what is there for its shape alone.
  void number_slots() {
    std::vector<int> made_here;
    for (const KnownRows::Call& call : made_.known.calls) {
      for (int variable : call.in) {
        if (slot_of(made_here, variable) < 0 && slot_of(made_.slots, variable) < 0) {
          made_.slots.push_back(variable);
        }
      }
      made_here.insert(made_here.end(), call.out.begin(), call.out.end());
    }
    made_.known.operands = made_.slots.size();
    made_.slots.insert(made_.slots.end(), made_here.begin(), made_here.end());
    for (KnownRows::Call& call : made_.known.calls) {
      for (std::vector<int>* part : {&call.in, &call.out}) {
        for (int& variable : *part) variable = slot_of(made_.slots, variable);
      }
    }
    made_.known.made = made_here.size();
    for (KnownRows::Call& call : made_.known.calls) {
      if (slot_of(made_.slots, call.over) < 0) made_.slots.push_back(call.over);
      call.over = slot_of(made_.slots, call.over);
    }
  }

  static int slot_of(const std::vector<int>& slots, int variable) {
    const auto found = std::find(slots.begin(), slots.end(), variable);
    return found == slots.end() ? -1 : static_cast<int>(found - slots.begin());
  }

  void find_results(ReaderCounts& readers) {
    ReaderCounts inside;
    for (size_t i = first_; i < end_; ++i) {
      for (int input : step_at(i).inputs) ++inside[input];
    }
    for (size_t i = made_.known.operands; i < made_.known.operands + made_.known.made; ++i) {
      const int variable = made_.slots[i];
      if (readers[variable] == inside[variable]) continue;
      made_.known.results.push_back(static_cast<int>(i));
      made_.writes.push_back(variable);
    }
  }

  double bytes(int slot) const {
    const Spec& spec = program_.variables()[at(made_.slots[at(slot)])].spec;
    return static_cast<double>(inferred_count(spec.shape)) *
           static_cast<double>(size_of(spec.dtype));
  }

  // Whether memory has much less to bring and to keep than for call after call: launches are
  // smaller, and nothing is written over what was there.
  bool pays() const {
    double each = 0, together = 0;
    for (const KnownRows::Call& call : made_.known.calls) {
      for (int slot : call.in) each += bytes(slot);
      for (int slot : call.out) each += bytes(slot);
    }
    for (size_t i = 0; i < made_.known.operands; ++i) together += bytes(static_cast<int>(i));
    for (int slot : made_.known.results) together += bytes(slot);
    return together <= kMostOfMemory * each;
  }

  const Program& program_;
  const Program::Schedule& schedule_;
  const size_t first_, end_;
  size_t taken_ = 1;
  Program::Schedule::Band made_;
};

}  // namespace

void find_bands(const Program& program, Program::Schedule& schedule) {
  const auto band_at = [&](size_t turn) { return program.steps()[schedule.turns[turn].step].band; };
  ReaderCounts readers = readers_in(program, schedule);
  size_t end = 0;
  for (size_t first = 0; first < schedule.turns.size(); first = end) {
    end = first + 1;
    if (band_at(first) < 0) continue;
    while (end < schedule.turns.size() && band_at(end) == band_at(first) &&
           end != schedule.updates) {
      ++end;
    }
    if (end - first == 1) continue;
    auto made = BandOfTurns(program, schedule, first, end).make(readers);
    if (!made) continue;
    schedule.turns[first].band = static_cast<int>(schedule.bands.size());
    schedule.bands.push_back(std::move(*made));
  }
}

}  // namespace tensorlike
