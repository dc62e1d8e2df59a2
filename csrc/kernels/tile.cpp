#include "kernels/tile.h"

#include <algorithm>
#include <cstring>

#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int64_t kSmall = 2;            // bytes of an element
constexpr int64_t kResident = 262144;    // bytes of an operand that stay in the second-level cache
constexpr int64_t kOfMany = 8 << 20;     // bytes of operands that come from beyond it
constexpr int64_t kFollowed = 2;         // streams that the processor itself asks for in time
constexpr int64_t kStripBytes = 262144;  // of a strip, so that it stays in cache
constexpr int64_t kStripColumns = 128;   // that are transposed together
constexpr int64_t kMostStripBytes = int64_t{4} << 20;  // of one with few long rows
constexpr int64_t kLeastRows = 16;       // of a strip: elements that share a cache line
constexpr int64_t kGoodRows = 64;        // that share several: memory is quick at those
constexpr int64_t kLeastRow = 128;       // elements that are worth a run
constexpr int64_t kLeastRepeated = 512;  // one that is written out: shorter ones together
constexpr int64_t kLeastSteps = 256;     // one that is carried, since it lies in steps
constexpr int64_t kLineElements = 16;
constexpr int64_t kShortRow = 512;   // elements: several of them make a better run
constexpr int64_t kGoodPeriods = 8;  // that are worth keeping one of them

// Apart by more than a power of two, so that slots do not share cache sets. By 24 cache lines: a
// load waits for a store in flight whose address ends in the same 12 bits, and a loop that reads
// one slot and writes another would meet its own stores if these were a line or two ahead.
size_t tile_bytes(const TileLoops& program) {
  return static_cast<size_t>(kTile) * program.widest + 1536;
}

// Tile buffers of this thread: aligned, grown as needed, reused by every program.
char* scratch(size_t bytes) {
  struct Buffer {
    char* data = nullptr;
    size_t bytes = 0;
    ~Buffer() { std::free(data); }
  };
  static thread_local Buffer buffer;
  if (buffer.bytes < bytes) {
    std::free(buffer.data);
    buffer.data = static_cast<char*>(std::aligned_alloc(64, (bytes + 4095) / 4096 * 4096));
    if (buffer.data == nullptr) {
      buffer.bytes = 0;
      fail(ErrorKind::kMemory, said::part("memory"), bytes, " bytes for tiles could not be had.");
    }
    buffer.bytes = bytes;
  }
  return buffer.data;
}

bool is_direct(const TileOperand& operand, std::span<const int64_t> shape) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && operand.strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool is_filled(const TileOperand& operand, std::span<const int64_t> shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && operand.strides[i] != 0) return false;
  }
  return true;
}

// Neighbours lie a row apart, and rows side by side.
bool is_transposed(const TileOperand& operand, const Dims& shape) {
  const size_t ndim = shape.size();
  if (ndim < 2 || operand.strides[ndim - 2] != 1) return false;
  const int64_t step = operand.strides[ndim - 1];
  const int64_t row = shape[ndim - 1] * static_cast<int64_t>(operand.size);
  return (step > 1 || step < -1) && row > 0 && shape[ndim - 2] >= kLeastRows &&
         row * kLeastRows <= kMostStripBytes;
}

// Only the last dimension tells elements apart.
bool is_one_row(const TileOperand& operand) {
  const auto& strides = operand.strides;
  return std::all_of(strides.begin(), strides.end() - 1, [](int64_t s) { return s == 0; });
}

// The elements of as many rows as end where a cache line does.
int64_t even_rows(int64_t row) {
  return row * (kLineElements >> std::min(std::countr_zero(static_cast<uint64_t>(row)), 4));
}

// After how many elements an operand begins again, as channels do for each example, where so many
// stay in cache; else 0.
int64_t period_of(const TileOperand& operand, const Dims& shape) {
  if (shape.size() < 2 || operand.strides[0] != 0) return 0;
  int64_t period = 1;
  for (size_t i = 1; i < shape.size(); ++i) period *= shape[i];
  return period * static_cast<int64_t>(operand.size) <= kStripBytes ? period : 0;
}

}  // namespace

void fill_tile(char* out, const void* value, size_t size, int64_t n) {
  const int64_t step = static_cast<int64_t>(size);
  move_kernels(static_cast<int64_t>(size))
      .rows({out, 0, step, static_cast<const char*>(value), 0, 0, 1, n});
}

BoundProgram::BoundProgram(const TileLoops& program, std::span<const int64_t> shape,
                           std::span<const TileOperand> operands)
    : program_(program), operands_(operands.begin(), operands.end()) {
  needs_tiles_ = program.temporaries > 0 || !program.constants.empty();
  access_.resize(operands.size());
  bool gathers = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    access_[i] = is_direct(operands[i], shape)   ? Access::kDirect
                 : is_filled(operands[i], shape) ? Access::kFilled
                                                 : Access::kGathered;
    gathers = gathers || access_[i] == Access::kGathered;
    needs_tiles_ = needs_tiles_ || access_[i] != Access::kDirect;
    if (!lies_in_order(i)) continue;
    bytes_in_order_ += element_count(shape) * static_cast<int64_t>(operands[i].size);
  }
  if (gathers) find_rows(shape);
  if (!needs_tiles_) return;
  anywhere_ = beside_numbers(false);
  if (has_rows_) in_row_ = beside_numbers(true);
}

// How operands are read that neither lie in order nor are one element.
void BoundProgram::find_rows(std::span<const int64_t> shape) {
  shape_ = Dims(shape);
  collapse(shape_, {operands_.data(), operands_.size()});
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (access_[i] != Access::kGathered) continue;
    if (is_transposed(operands_[i], shape_)) access_[i] = Access::kTransposed;
    repeats_row_ = repeats_row_ || (shape_.back() <= kShortRow && is_one_row(operands_[i]));
  }
  bool writes_rows = false;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (access_[i] != Access::kGathered) continue;
    const int64_t step = operands_[i].strides.back();
    const bool begins_again = shape_.back() < kShortRow && shape_[0] >= kGoodPeriods &&
                              period_of(operands_[i], shape_) > 0;
    const int64_t least = step == 0   ? (may_be_number(i) ? kLeastRow : kLeastRepeated)
                          : step == 1 ? kLeastRow
                                      : kLeastSteps;
    if (repeats_row_) {
      if (is_one_row(operands_[i])) access_[i] = Access::kOneRow;
    } else if (shape_.back() >= least && !begins_again) {
      access_[i] = Access::kInRows;
      has_rows_ = true;
    } else {
      writes_rows = writes_rows || (step == 0 && !begins_again);
    }
  }
  // What repeats along short rows is written out in whole ones.
  repeats_row_ = repeats_row_ || (writes_rows && !has_rows_ && even_rows(shape_.back()) <= kTile);
}

// What is transposed comes in strips of whole rows, so that a cache line is read once for all the
// rows that it has elements of.
int64_t BoundProgram::strip_rows(const TileOperand& operand) const {
  const int64_t row = shape_.back() * static_cast<int64_t>(operand.size);
  const int64_t least = std::clamp(kMostStripBytes / row, kLeastRows, kGoodRows);
  return std::min(std::max(kStripBytes / row, least), shape_[shape_.size() - 2]);
}

TileRunner::TileRunner(const BoundProgram& bound, int64_t total)
    : bound_(bound),
      total_(total),
      reads_many_(bound.in_order() > kFollowed && bound.bytes_in_order_ >= kOfMany) {
  const TileLoops& program = bound.program_;
  slot_.resize(static_cast<size_t>(program.slots()));
  held_.resize(bound.operands_.size());
  if (!bound.needs_tiles_) return;
  // One buffer per operand, constant and temporary; direct operands leave theirs unused.
  const size_t bytes = tile_bytes(program);
  const size_t tiles = static_cast<size_t>(program.first_output()) * bytes;
  char* buffers = scratch(tiles + plan_strips());
  for (Strip& strip : strips_) strip.data = buffers + tiles + strip.offset;
  tiles_ = buffers;
  for (int s = 0; s < program.first_output(); ++s) {
    slot_[static_cast<size_t>(s)] = tile(static_cast<size_t>(s));
  }
  for (size_t i = 0; i < bound.operands_.size(); ++i) {
    const TileOperand& operand = bound.operands_[i];
    if (bound.access_[i] == BoundProgram::Access::kFilled) fill(i, operand.data, operand.size);
  }
  for (size_t c = 0; c < program.constants.size(); ++c) {
    const auto& constant = program.constants[c];
    fill(static_cast<size_t>(program.first_constant()) + c, constant.value,
         size_of(constant.dtype));
  }
}

// What a slot holds in all runs.
void TileRunner::fill(size_t slot, const void* value, size_t size) {
  const bool is_one =
      bound_.anywhere_.is_one[slot] != 0 && (!bound_.has_rows_ || bound_.in_row_.is_one[slot] != 0);
  const int64_t count = is_one ? 1 : std::min(total_, kTile);
  fill_tile(slot_[slot], value, size, count);
}

char* TileRunner::tile(size_t slot) const { return tiles_ + slot * tile_bytes(bound_.program_); }

// Bytes for the strips; only runs that will use a whole one have any.
size_t TileRunner::plan_strips() {
  size_t bytes = 0;
  for (size_t i = 0; i < bound_.operands_.size(); ++i) {
    const BoundProgram::Access access = bound_.access_[i];
    const bool is_turned = access == BoundProgram::Access::kTransposed;
    if (!is_turned && access != BoundProgram::Access::kGathered) continue;
    const TileOperand& operand = bound_.operands_[i];
    const int64_t elements = is_turned ? bound_.strip_rows(operand) * bound_.shape_.back()
                                       : period_of(operand, bound_.shape_);
    const int64_t least = is_turned ? 4 * kTile : 1;
    if (elements < least || total_ < (is_turned ? elements : 2 * elements)) continue;
    strips_.push_back({i, bytes, nullptr, 0, 0});
    bytes += static_cast<size_t>(elements + kTile) * operand.size + 64;  // runs begin again in it
  }
  return bytes;
}

// Reads the rows from that of element `begin` on.
void TileRunner::read_strip(Strip& strip, int64_t begin) {
  const TileOperand& operand = bound_.operands_[strip.operand];
  const Dims& shape = bound_.shape_;
  const size_t ndim = shape.size();
  const int64_t size = static_cast<int64_t>(operand.size);
  const int64_t columns = shape[ndim - 1];
  int64_t rest = begin / columns;
  strip.begin = rest * columns;
  const int64_t left = shape[ndim - 2] - rest % shape[ndim - 2];
  const int64_t used = (end_ - strip.begin + columns - 1) / columns;
  const int64_t rows = std::min({bound_.strip_rows(operand), left, used});
  strip.end = strip.begin + rows * columns;
  const char* from = operand.data;
  for (size_t i = ndim - 1; i-- > 0;) {
    from += rest % shape[i] * operand.strides[i] * size;
    rest /= shape[i];
  }
  const int64_t step = operand.strides[ndim - 1] * size;
  for (int64_t c = 0; c < columns; c += kStripColumns) {
    move_kernels(static_cast<int64_t>(operand.size))
        .transpose({strip.data + c * size, columns * size, size, from + c * step, size, step, rows,
                    std::min(kStripColumns, columns - c)});
  }
}

// The operand's elements [begin, begin + n), if one strip holds them.
const char* TileRunner::in_strip(size_t operand, int64_t begin, int64_t n) {
  for (Strip& strip : strips_) {
    if (strip.operand != operand) continue;
    const TileOperand& from = bound_.operands_[operand];
    if (bound_.access_[operand] == BoundProgram::Access::kGathered) {
      if (strip.end == 0) {
        strip.end = period_of(from, bound_.shape_);
        const int64_t all = strip.end * bound_.shape_[0];
        gather_tile(from, bound_.shape_, 0, std::min(strip.end + kTile, all), strip.data);
      }
      return strip.data + static_cast<size_t>(begin % strip.end) * from.size;
    }
    if (begin < strip.begin || begin >= strip.end) read_strip(strip, begin);
    if (begin + n > strip.end) return nullptr;
    return strip.data + static_cast<size_t>(begin - strip.begin) * from.size;
  }
  return nullptr;
}

int64_t TileRunner::run_length(int64_t begin, int64_t most) {
  const int64_t row = bound_.shape_.empty() ? 0 : bound_.shape_.back();
  if (bound_.repeats_row_ && most >= row) {  // whole rows, that end with a cache line if they can
    const int64_t even = even_rows(row);
    const int64_t unit = even <= most ? even : row;
    return most / unit * unit - begin % unit;
  }
  if (!bound_.has_rows_) return most;
  if (begin != next_) go_to(begin);
  const int64_t left = row - column_;
  if (left <= most) return left;
  return std::min(most, (left / ((left - 1) / most + 1) + 15) / 16 * 16);  // about equal parts
}

void TileRunner::go_to(int64_t begin) {
  const Dims& shape = bound_.shape_;
  const size_t last = shape.size() - 1;
  next_ = begin;
  column_ = begin % shape[last];
  row_.resize(last);
  int64_t rest = begin / shape[last];
  for (size_t i = last; i-- > 0; rest /= shape[i]) row_[i] = rest % shape[i];
  place_.resize(bound_.operands_.size());
  for (size_t k = 0; k < place_.size(); ++k) {
    const TileOperand& operand = bound_.operands_[k];
    int64_t offset = column_ * operand.strides[last];
    for (size_t i = 0; i < last; ++i) offset += row_[i] * operand.strides[i];
    place_[k] = operand.data + offset * static_cast<int64_t>(operand.size);
  }
}

// From one row at most to the begin of the next.
void TileRunner::go_on(int64_t n) {
  const Dims& shape = bound_.shape_;
  const size_t last = shape.size() - 1;
  const bool is_over = column_ + n == shape[last];
  next_ += n;
  column_ = is_over ? 0 : column_ + n;
  size_t turned = last;  // the first dimension that begins again
  while (is_over && turned > 0 && ++row_[turned - 1] == shape[turned - 1]) row_[--turned] = 0;
  for (size_t k = 0; k < place_.size(); ++k) {
    if (bound_.access_[k] != BoundProgram::Access::kInRows) continue;
    const TileOperand& operand = bound_.operands_[k];
    int64_t step = n * operand.strides[last];
    if (is_over) {
      for (size_t i = turned; i <= last; ++i) step -= shape[i] * operand.strides[i];
      if (turned > 0) step += operand.strides[turned - 1];
      for (size_t i = turned; i < last; ++i) step += operand.strides[i];
    }
    place_[k] += step * static_cast<int64_t>(operand.size);
  }
}

// The operand's elements [begin, begin + n) into its slot: where they lie, or copied to its tile.
void TileRunner::find_elements(size_t i, int64_t begin, int64_t n) {
  using Access = BoundProgram::Access;
  const TileOperand& operand = bound_.operands_[i];
  const Access access = bound_.access_[i];
  Held& held = held_[i];
  slot_[i] = tile(i);
  if (access == Access::kOneRow) {
    const bool is_whole = begin % bound_.shape_.back() == 0;
    if (is_whole && n <= held.count) return;
    gather_tile(operand, bound_.shape_, begin, n, slot_[i]);
    held.count = is_whole ? n : 0;
    return;
  }
  const bool is_row = access == Access::kInRows;
  const char* place = !is_row ? in_strip(i, begin, n) : stays_in_row(n) ? place_[i] : nullptr;
  if (place == nullptr) {
    held.place = nullptr;
    gather_tile(operand, bound_.shape_, begin, n, slot_[i]);
  } else if (!is_row || operand.strides.back() == 1 || bound_.in_row_.is_one[i] != 0) {
    slot_[i] = const_cast<char*>(place);
  } else if (place != held.place || n > held.count) {
    const auto size = static_cast<int64_t>(operand.size);
    held = {place, n};
    move_kernels(size).rows({slot_[i], 0, size, place, 0, operand.strides.back() * size, 1, n});
  }
}

void TileRunner::run(int64_t begin, int64_t n, char* const* out) {
  using Access = BoundProgram::Access;
  const TileLoops& program = bound_.program_;
  const size_t first_output = static_cast<size_t>(program.first_output());
  if (begin >= end_) end_ = begin + total_;
  if (bound_.has_rows_ && begin != next_) go_to(begin);
  for (size_t i = 0; i < bound_.operands_.size(); ++i) {
    const TileOperand& operand = bound_.operands_[i];
    if (bound_.access_[i] == Access::kDirect) {
      slot_[i] = const_cast<char*>(operand.data) + static_cast<size_t>(begin) * operand.size;
    } else if (bound_.access_[i] != Access::kFilled) {
      find_elements(i, begin, n);
    }
  }
  for (size_t i = 0; i < static_cast<size_t>(program.outputs); ++i)
    slot_[first_output + i] = out[i];
  // Tiles are read in bursts, between which loops run from the cache. The processor's own
  // prefetcher does not reach the next one of small elements, and begins anew with each page of
  // many operands.
  for (size_t i = 0; i < bound_.operands_.size() && bound_.needs_tiles_; ++i) {
    const int64_t size = static_cast<int64_t>(bound_.operands_[i].size);
    const bool is_small = size <= kSmall && total_ * size >= kResident;
    if (bound_.access_[i] != Access::kDirect || !(is_small || reads_many_)) continue;
    for (int64_t at = n * size; at < 2 * n * size; at += 64)
      is_small ? __builtin_prefetch(slot_[i] + at) : __builtin_prefetch(slot_[i] + at, 0, 2);
  }
  const bool is_in_row = bound_.has_rows_ && stays_in_row(n);
  const BoundProgram::Beside& beside = is_in_row ? bound_.in_row_ : bound_.anywhere_;
  run_loops(program, {slot_.data(), slot_.size()}, n, beside.kernels);
  if (is_in_row) {
    go_on(n);
  } else {
    next_ = -1;
  }
}

}  // namespace tensorlike
