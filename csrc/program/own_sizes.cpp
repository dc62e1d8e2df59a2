// What a step makes, by the first witnesses and by the second ones; and sizes that follow by a
// division, which get witnesses of their own there.
#include <algorithm>
#include <optional>

#include "op/divisions.h"
#include "program/literal_sizes.h"
#include "program/named_sizes.h"
#include "program/program.h"
#include "program/reader.h"

namespace tensorlike {
namespace {

constexpr size_t kMostOwn = 64;
constexpr int64_t kTelling =
    1'000;  // that two sizes come out as the same such number says something
constexpr int64_t kLargestOwn = int64_t{1} << 40;

}  // namespace

Witness Program::dimension(int variable, int index) const {
  const Variable& found = variables_[at(variable)];
  return {found.spec.shape[at(index)], found.other.shape[at(index)]};
}

const Program::OwnSize* Program::find_own(const std::string& text) const {
  const auto found = std::find_if(own_.begin(), own_.end(),
                                  [&](const OwnSize& own) { return text_of(own.expr) == text; });
  return found == own_.end() ? nullptr : &*found;
}

Witness Program::witness_of(const AttrExpr& expr) const {
  if (expr.kind == AttrExpr::Kind::kDim) return dimension(expr.slot, expr.dim);
  if (expr.kind == AttrExpr::Kind::kLiteral) {
    const int64_t number = std::get<int64_t>(expr.literal);
    return {number, number};
  }
  if (reads_reals(expr) || !goes_by_witnesses(expr.attr)) {
    if (const OwnSize* own = find_own(text_of(expr))) return own->witness;
    const auto whole_at = [&](Side side) {
      return std::get<int64_t>(number_at(side, expr).value_or(int64_t{0}));
    };
    return {whole_at(Side::kFirst), whole_at(Side::kSecond)};
  }
  const Witness a = witness_of(expr.parts[0]), b = witness_of(expr.parts[1]);
  const Witness made{calculate_witness(expr.attr, a.first, b.first),
                     calculate_witness(expr.attr, a.second, b.second)};
  if (expr.attr == "add" || expr.attr == "multiply") return made;
  // What was divided is told by how it was: two rests by small numbers are often the same.
  const std::string text = text_of(expr);
  const std::string less = text_of(arithmetic("multiply", {literal(int64_t{-1}), expr}));
  for (const OwnSize& own : own_) {
    const std::string known = text_of(own.expr);
    if (known == text) return own.witness;
    if (known == less) return {-own.witness.first, -own.witness.second};
  }
  return made;
}

// The number of a size, with others in the place of some: by both witnesses, since two sizes may
// have one of them in common.
int64_t Program::number_at(Side side, Witness size, std::span<const Equality> equal) const {
  for (const auto& [from, to] : equal) {
    if (size == from) size = to;
  }
  if (side == Side::kExtent) return extent_or_all(size).size;
  return side == Side::kFirst ? size.first : size.second;
}

Attr Program::attr_at(Side side, const AttrExpr& expr, std::span<const Equality> equal) const {
  if (is_real(expr)) return real_at(side, expr);
  if (expr.kind != AttrExpr::Kind::kTuple) return number_at(side, witness_of(expr), equal);
  std::vector<int64_t> out;
  for (const AttrExpr& part : expr.parts) out.push_back(number_at(side, witness_of(part), equal));
  return out;
}

Ref<const Op> Program::op_at(Side side, const Step& step, std::span<const Equality> equal) const {
  std::vector<Attr> values;
  for (const auto& [index, expr] : step.exprs) values.push_back(attr_at(side, expr, equal));
  return op_with(step, std::move(values));
}

Specs Program::infer_at(Side side, const Step& step, std::span<const Equality> equal) const {
  Specs given;
  for (int input : step.inputs) {
    Spec spec = variables_[at(input)].spec;
    for (size_t i = 0; i < spec.shape.size(); ++i) {
      spec.shape[i] = number_at(side, dimension(input, static_cast<int>(i)), equal);
    }
    given.push_back(std::move(spec));
  }
  const ByWitnesses all;
  const bool is_as_recorded = side == Side::kFirst && equal.empty();
  return infer_any(is_as_recorded ? *step.op : *op_at(side, step, equal), given);
}

Program::Made Program::infer(const Step& step, std::span<const Equality> equal) const {
  const LiteralSizes sizes(!step.exprs.empty());
  Made made{infer_at(Side::kFirst, step, equal), {}};
  try {
    made.others = infer_at(Side::kSecond, step, equal);
  } catch (const Error& error) {  // in the names of sizes: nobody knows these numbers
    ErrorFields fields = error.fields();
    for (std::string* field : {&fields.must, &fields.got, &fields.fix}) {
      for (const Base& base : bases_) {
        *field =
            replaced(std::move(*field), std::to_string(base.witness.second), text_of(base.expr));
      }
    }
    throw Error(error.kind(), std::move(fields));
  }
  for (size_t i = 0; i < made.specs.size(); ++i) {
    Dims& first = made.specs[i].shape;
    if (i >= made.others.size() || made.others[i].shape.size() != first.size()) {
      fail(ErrorKind::kShape, said::op(step.op->name()),
           "the number of dimensions must not depend on an unknown size");
    }
    Dims& second = made.others[i].shape;
    for (size_t k = 0; k < first.size(); ++k) {
      const OwnSize* const own = own_size({first[k], second[k]});
      if (own == nullptr) continue;
      first[k] = own->witness.first;
      second[k] = own->witness.second;
    }
  }
  return made;
}

Program::Made Program::made_by(const Step& step) const {
  try {
    return infer(step, {});
  } catch (const Error&) {
    if (const auto equal = equal_for(step, {})) return infer(step, *equal);
    std::vector<Guard> assumed;
    auto made = made_by_dividing(step, assumed);
    const auto is_known = [&](const Guard& guard) { return is_required(guard); };
    if (!made || !std::all_of(assumed.begin(), assumed.end(), is_known)) throw;
    return std::move(*made);
  }
}

std::optional<Program::Made> Program::made_by_dividing(const Step& step,
                                                       std::vector<Guard>& assumed) const {
  std::vector<Division> noted;
  const NotedDivisions all(noted);
  std::optional<Made> made;
  try {
    made = infer(step, {});
  } catch (const Error&) {
    return std::nullopt;
  }
  const size_t half = noted.size() / 2;  // by the first witnesses, then by the second ones
  if (noted.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < half; ++i) {
    const Division &first = noted[i], &second = noted[half + i];
    if (first.count % first.parts == 0 && second.count % second.parts == 0) continue;
    const Operand count = Witness{first.count, second.count};
    const Operand parts = Witness{first.parts, second.parts};
    AttrExpr rest = arithmetic("remainder", {expression_of(count), expression_of(parts)});
    const bool is_told = rest.parts[0].kind != AttrExpr::Kind::kLiteral;
    if (!is_told) return std::nullopt;
    assumed.push_back(
        {std::move(rest), literal(int64_t{0}), "==", true, step.place, step.op->name()});
  }
  return made;
}

// What comes out is told from other sizes by how it was divided.
bool Program::assume_divides(const Step& step) {
  std::vector<Guard> assumed;
  if (origin_ || !made_by_dividing(step, assumed) || assumed.empty()) return false;
  for (Guard& guard : assumed) {
    (void)calculate(arithmetic("floor_divide", guard.a.parts));
    require(std::move(guard));
  }
  return true;
}

const Program::OwnSize* Program::own_size(const Witness& inferred) const {
  if (inferred.is_known() || inferred.first < kTelling) return nullptr;
  const auto found = std::find_if(own_.begin(), own_.end(),
                                  [&](const OwnSize& own) { return own.inferred == inferred; });
  return found == own_.end() ? nullptr : &*found;
}

const Witness& Program::take_own_size(const Witness& inferred, AttrExpr expr,
                                      const Extent& extent) {
  own_.push_back({inferred, take_witness_below(*this, inferred), std::move(expr), extent});
  rebuild_bases();
  return own_.back().witness;
}

void Program::take_own_sizes(const Step& step, Made& made) {
  std::optional<Specs> extents;
  for (size_t i = 0; i < made.specs.size(); ++i) {
    for (size_t k = 0; k < made.specs[i].shape.size(); ++k) {
      int64_t& first = made.specs[i].shape[k];
      int64_t& second = made.others[i].shape[k];
      Witness size{first, second};
      if (size.is_known() || origin_) continue;
      const OwnSize* const known = own_size(size);
      if (known != nullptr) {
        size = known->witness;
      } else if (own_.size() < kMostOwn && size.first <= kLargestOwn && !extent_of(size)) {
        if (!extents) extents = extents_of(step);
        const Extent extent{extents->empty() ? size.first : (*extents)[i].shape[k], roots_of(step)};
        const int variable = static_cast<int>(variables_.size() + i);
        size = take_own_size(size, dim_of(variable, static_cast<int>(k)), extent);
      }
      first = size.first;
      second = size.second;
    }
  }
}

uint64_t Program::roots_of(const Step& step) const {
  uint64_t out = 0;
  for (int input : step.inputs) {
    for (size_t i = 0; i < variables_[at(input)].spec.shape.size(); ++i) {
      out |= extent_or_all(dimension(input, static_cast<int>(i))).roots;
    }
  }
  for (const auto& [index, expr] : step.exprs) {
    for (const AttrExpr& part : parts_of(expr)) {
      out |= reads_reals(part) ? ~uint64_t{0} : extent_or_all(witness_of(part)).roots;
    }
  }
  return out;
}

// What the results are where inputs are as large as their first witnesses; empty: it is not known.
Specs Program::extents_of(const Step& step) const {
  const LiteralSizes sizes(!step.exprs.empty());
  try {
    return infer_at(Side::kExtent, step, {});
  } catch (const Error&) {
    return {};
  }
}

}  // namespace tensorlike
