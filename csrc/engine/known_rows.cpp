#include "engine/known_rows.h"

#include <algorithm>
#include <optional>

#include "base/blocking.h"
#include "base/pool.h"
#include "engine/known_operands.h"
#include "memory/backend.h"
#include "memory/workspace.h"

namespace tensorlike {
namespace {

constexpr int64_t kLeast = 262144;    // elements: fewer are in the cache anyway
constexpr int64_t kLongest = 65536;   // elements of a row: what is made of more is in no near cache
constexpr int64_t kTogether = 65536;  // elements of the rows that run together, at most, and
constexpr int64_t kFewest = 16384;    // at least: launches have to be worth it
constexpr int64_t kRangesEach = 4;    // of a thread, if these are not too small then
constexpr int64_t kGrain = 16384;     // elements that are worth a thread

// Which rows run together: those of one range along `axis`, for each place along the axes before.
struct Cut {
  size_t axis = 0;
  int64_t before = 1;    // places along the axes before
  int64_t rows = 1;      // along the axis
  int64_t together = 1;  // of these
  int64_t elements = 1;  // of one of them, where they are most
  int64_t ranges() const { return (rows - 1) / together + 1; }
};

// An operand, or what is made, as one call sees it: the part that belongs to some rows.
struct Part {
  Array array;                     // of `together` rows
  char* base = nullptr;            // of all rows, or of memory that all ranges share
  SmallVector<int64_t, 4> steps;   // bytes along the axes that are cut; 0: the same for all
  std::optional<size_t> cut_axis;  // of the array
};

class RowRun {
 public:
  RowRun(const KnownRows& rows, std::span<const Spec* const> specs, Arrays operands)
      : rows_(rows), specs_(specs), operands_(operands) {}

  // Whether it is worth it.
  bool plan() {
    const Dims& first = over(rows_.calls[0]);
    size_t lead = std::min(first.size(), rows_.first_reduced);
    int64_t most = 0;
    for (const KnownRows::Call& call : rows_.calls) {
      if (call.op && !lies_in_order(call.in[0])) return false;
      if (!call.op && !makes_rows(call)) return false;
      const Dims& shape = over(call);
      lead = std::min(lead, shape.size());
      for (size_t i = 0; i < lead; ++i) {
        if (shape[i] != first[i]) lead = i;
      }
      most = std::max(most, element_count(shape));
    }
    if (lead == 0 || most < kLeast) return false;
    const Dims leading(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(lead));
    const int64_t count = element_count(leading);
    if (count == 0 || most / count > kLongest) return false;
    const int64_t wanted = std::clamp(most / (kRangesEach * num_threads()), kFewest, kTogether);
    cut_.elements = most / count;
    cut_.axis = lead - 1;
    while (cut_.axis > 0 && cut_.elements * leading[cut_.axis] <= wanted) {
      cut_.elements *= leading[cut_.axis--];
    }
    cut_.rows = leading[cut_.axis];
    cut_.together = std::clamp<int64_t>(wanted / cut_.elements, 1, cut_.rows);
    for (size_t i = 0; i < cut_.axis; ++i) cut_.before *= leading[i];
    leading_ = leading;
    return true;
  }

  void run(Arrays results) {
    const int64_t jobs = cut_.before * cut_.ranges();
    const int64_t grain = std::max<int64_t>(1, kGrain / (cut_.elements * cut_.together));
    const BlockingRegion blocking(true);
    parallel_for(jobs, grain, [&](int64_t begin, int64_t end) { run(begin, end, results); });
  }

 private:
  // Elements that lie elsewise are not reduced row after row, but all rows at once.
  bool lies_in_order(int slot) const {
    const size_t i = static_cast<size_t>(slot);
    return i >= rows_.operands || operands_[i]->is_contiguous;
  }

  // Whether what a chain would make by itself lies in rows, as all does that is made here.
  bool makes_rows(const KnownRows::Call& call) const {
    const Dims& shape = over(call);
    std::vector<Array> made;
    for (size_t i = rows_.operands; i < rows_.operands + rows_.made; ++i) {
      made.push_back(Array(DType::kBool, specs_[i]->shape, nullptr));
    }
    SmallVector<const Array*, 8> read;
    for (int slot : call.in) {
      const size_t i = static_cast<size_t>(slot);
      read.push_back(i < rows_.operands ? operands_[i] : &made[i - rows_.operands]);
    }
    const auto strides = strides_of(call.chain, shape, {read.data(), read.size()});
    return strides && tensorlike::lies_in_order(shape, *strides);
  }

  const Dims& over(const KnownRows::Call& call) const {
    return specs_[static_cast<size_t>(call.over)]->shape;
  }

  // What one thread runs: the calls with their parts, which move from range to range.
  struct Bound {
    const KnownRows::Call* call;
    SmallVector<Part, 4> in, out;
    Part over;  // for its shape
  };

  void run(int64_t begin, int64_t end, Arrays results) const {
    Workspace memory;
    const std::vector<Part> made = places(results, memory);
    std::vector<Bound> calls;
    for (const KnownRows::Call& call : rows_.calls) {
      Bound& bound = calls.emplace_back();
      bound.call = &call;
      const size_t ndim = over(call).size();
      for (int slot : call.in) {
        const size_t i = static_cast<size_t>(slot);
        bound.in.push_back(i < rows_.operands ? of_operand(*operands_[i], ndim)
                                              : made[i - rows_.operands]);
      }
      for (int slot : call.out) {
        bound.out.push_back(made[static_cast<size_t>(slot) - rows_.operands]);
      }
      bound.over = whole(Array(DType::kBool, over(call), nullptr), nullptr, false);
    }
    for (int64_t job = begin; job < end; ++job) {
      for (Bound& bound : calls) {
        move(bound, job);
        launch(bound);
      }
    }
  }

  // What calls make: in the results, or in memory for the rows of one range.
  std::vector<Part> places(Arrays results, Workspace& memory) const {
    std::vector<Part> made;
    for (size_t slot = rows_.operands; slot < rows_.operands + rows_.made; ++slot) {
      const Spec& spec = *specs_[slot];
      const auto result =
          std::find(rows_.results.begin(), rows_.results.end(), static_cast<int>(slot));
      if (result != rows_.results.end()) {
        const Array& array = *results[static_cast<size_t>(result - rows_.results.begin())];
        made.push_back(whole(array, array.data, true));
        continue;
      }
      Part part = whole(Array(spec.dtype, spec.shape, nullptr), nullptr, false);
      part.base = memory.bytes(static_cast<size_t>(part.array.count) * size_of(spec.dtype));
      made.push_back(std::move(part));
    }
    return made;
  }

  // Elements in order, of all rows or of those of one range.
  Part whole(const Array& all, char* base, bool moves) const {
    Part part{{}, base, {}, cut_.axis};
    Dims shape = all.shape;
    for (size_t i = 0; i <= cut_.axis; ++i) {
      shape[i] = i < cut_.axis ? 1 : cut_.together;
      part.steps.push_back(moves ? all.strides[i] * static_cast<int64_t>(size_of(all.dtype)) : 0);
    }
    part.array = Array(all.dtype, std::move(shape), base);
    return part;
  }

  // An operand of a call whose elements have so many dimensions; it broadcasts to them.
  Part of_operand(const Array& x, size_t ndim) const {
    Part part{{}, x.data, {}, std::nullopt};
    Dims shape = x.shape;
    const size_t lacks = ndim - shape.size();
    for (size_t i = 0; i <= cut_.axis; ++i) {
      const bool is_cut = i >= lacks && shape[i - lacks] != 1;
      part.steps.push_back(is_cut ? x.strides[i - lacks] * static_cast<int64_t>(size_of(x.dtype))
                                  : 0);
      if (!is_cut) continue;
      shape[i - lacks] = i < cut_.axis ? 1 : cut_.together;
      if (i == cut_.axis) part.cut_axis = i - lacks;
    }
    part.array = Array(x.dtype, std::move(shape), x.strides, x.data);
    return part;
  }

  void move(Bound& bound, int64_t job) const {
    const int64_t ranges = cut_.ranges();
    const int64_t row = job % ranges * cut_.together;
    const int64_t rows = std::min(cut_.together, cut_.rows - row);
    SmallVector<int64_t, 4> index(cut_.axis + 1);
    index[cut_.axis] = row;
    int64_t rest = job / ranges;
    for (size_t i = cut_.axis; i-- > 0;) {
      index[i] = rest % leading_[i];
      rest /= leading_[i];
    }
    const auto move_part = [&](Part& part) {
      Array& array = part.array;
      array.data = part.base;
      for (size_t i = 0; i <= cut_.axis; ++i) array.data += index[i] * part.steps[i];
      if (part.cut_axis && array.shape[*part.cut_axis] != rows) {
        Dims shape = array.shape;
        shape[*part.cut_axis] = rows;
        array = Array(array.dtype, std::move(shape), array.strides, array.data);
      }
    };
    for (Part& part : bound.in) move_part(part);
    for (Part& part : bound.out) move_part(part);
    move_part(bound.over);
  }

  static void launch(const Bound& bound) {
    SmallVector<const Array*, 8> in, out;
    for (const Part& part : bound.in) in.push_back(&part.array);
    for (const Part& part : bound.out) out.push_back(&part.array);
    const Arrays inputs(in.data(), in.size()), outputs(out.data(), out.size());
    const KnownRows::Call& call = *bound.call;
    Backend& host = backend(Device());
    if (call.op) {
      Workspace workspace;
      host.launch(*call.op, inputs, outputs, workspace);
    } else if (call.chain.reduction) {
      Workspace workspace;
      const Feed feed{
          &call.chain.prepared.program, call.chain.fed, bound.over.array.shape, inputs, {}, false};
      host.reduce(*call.chain.reduction, feed, *outputs[0], workspace);
    } else {
      host.run(call.chain.prepared.program, bound.over.array.shape, inputs, outputs);
    }
  }

  const KnownRows& rows_;
  const std::span<const Spec* const> specs_;
  const Arrays operands_;
  Cut cut_;
  Dims leading_;
};

}  // namespace

Values launch_rows(const KnownRows& rows, std::span<const Spec* const> specs, Args operands) {
  const KnownOperands there(operands);
  if (!there.are_there || !there.device().is_cpu()) return {};
  RowRun run(rows, specs, there.seen());
  if (!run.plan()) return {};
  Values results;
  SmallVector<const Array*, 4> arrays;
  for (int slot : rows.results) {
    const Spec& spec = *specs[static_cast<size_t>(slot)];
    Ref<RawTensor> made = RawTensor::empty(spec.dtype, spec.shape);
    arrays.push_back(made.get());
    results.push_back(std::move(made));
  }
  ProfileScope scope;
  run.run({arrays.data(), arrays.size()});
  tell(scope, rows.ops, rows.place, specs[static_cast<size_t>(rows.calls[0].over)]->shape, operands,
       results);
  return results;
}

}  // namespace tensorlike
