// Running combinations along an axis: x is seen as (outer, n, inner). Where there is little
// beside a long axis, it is cut into chunks of a fixed size: first their totals side by side, then
// the running values within each from the totals before it.
#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "kernels/kernel_table.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kScanGrain = 16384;
constexpr int64_t kScanChunk = 65536;  // elements; fixed, so that results do not depend on threads
constexpr int64_t kScanColumns = 512;
constexpr int64_t kWidest = 16;  // bytes of an accumulator, of which complex numbers take all

class Scanner {
 public:
  Scanner(const Array& x, size_t axis, bool reverse, const ScanKernels& kernels)
      : x_(x),
        kernels_(kernels),
        size_(static_cast<int64_t>(size_of(x.dtype))),
        n_(x.shape[axis]),
        inner_(element_count({x.shape.begin() + axis + 1, x.shape.end()})),
        reverse_(reverse),
        width_(std::min(inner_, kScanColumns)),
        tiles_((inner_ + kScanColumns - 1) / kScanColumns),
        rows_(std::max<int64_t>(1, kScanChunk / std::max<int64_t>(width_, 1))),
        chunks_((n_ + rows_ - 1) / rows_) {}

  // `out` has `extra` more rows than x: one before the first, for the identity, or none.
  void run(const Array& out, int64_t extra, Workspace& workspace) const {
    if (inner_ == 0 || out.size() == 0) return;
    BlockingRegion blocking(x_.size() > kScanGrain);
    const int64_t lines = out.size() / ((n_ + extra) * inner_) * tiles_;
    if (inner_ == 1 && chunks_ == 1) return whole_lines(out, extra, lines);
    const int64_t bytes = width_ * kWidest;
    char* totals = workspace.take<char>(lines * std::max<int64_t>(chunks_, 1) * bytes);
    const int64_t work = std::max<int64_t>(1, std::min(n_, rows_) * width_);
    const int64_t grain = std::max<int64_t>(1, kScanGrain / work);
    parallel_for(lines * (chunks_ - 1), grain, [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const Piece piece = piece_of(job / (chunks_ - 1), job % (chunks_ - 1));
        char* acc = totals + (piece.line * chunks_ + piece.chunk + 1) * bytes;
        kernels_.start(acc, width_);
        kernels_.total(acc, x_.data + piece.offset * size_, piece.rows, piece.width, step());
      }
    });
    parallel_for(lines, std::max<int64_t>(1, kScanGrain / (chunks_ + 1)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t line = b; line < e; ++line) {
                     char* first = totals + line * std::max<int64_t>(chunks_, 1) * bytes;
                     kernels_.start(first, width_);
                     // All that is combined here commutes: what lies before may be the right
                     // operand.
                     for (int64_t c = 1; c < chunks_; ++c) {
                       kernels_.join(first + c * bytes, first + (c - 1) * bytes, width_);
                     }
                   }
                 });
    parallel_for(lines * chunks_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const Piece piece = piece_of(job / chunks_, job % chunks_);
        const int64_t to = piece.offset + extra * inner_ * (piece.line / tiles_ + !reverse_);
        kernels_.run(totals + job * bytes, out.data + to * size_, x_.data + piece.offset * size_,
                     piece.rows, piece.width, step());
      }
    });
  }

 private:
  // A tile of columns within a chunk of rows, and where its first row begins.
  struct Piece {
    int64_t line, chunk, rows, width, offset;
  };

  // Lines that are not cut, whose elements follow each other.
  void whole_lines(const Array& out, int64_t extra, int64_t lines) const {
    const int64_t begin = reverse_ ? n_ - 1 : 0;
    const int64_t first = begin + (reverse_ ? 0 : extra);
    parallel_for(lines, std::max<int64_t>(1, kScanGrain / n_), [&](int64_t line, int64_t end) {
      kernels_.lines(out.data + (line * (n_ + extra) + first) * size_, n_ + extra,
                     x_.data + (line * n_ + begin) * size_, n_, n_, end - line, step());
    });
  }

  int64_t step() const { return reverse_ ? -inner_ : inner_; }

  Piece piece_of(int64_t line, int64_t chunk) const {
    const int64_t at = line % tiles_ * kScanColumns;
    const int64_t first = chunk * rows_;
    const int64_t row = reverse_ ? n_ - 1 - first : first;
    return {line, chunk, std::min(rows_, n_ - first), std::min(kScanColumns, inner_ - at),
            (line / tiles_ * n_ + row) * inner_ + at};
  }

  const Array& x_;
  const ScanKernels& kernels_;
  const int64_t size_, n_, inner_;
  const bool reverse_;
  const int64_t width_, tiles_, rows_, chunks_;
};

// What no elements combine to, as a result of this dtype.
Literal identity_of(std::string_view mode, DType dtype) {
  if (mode == "cumulative_sum") return int64_t{0};
  if (mode == "cumulative_prod") return int64_t{1};
  const bool is_least = mode != "cumulative_min";  // the largest of nothing is below everything
  if (kind_of(dtype) == Kind::kFloating) {
    const double infinity = std::numeric_limits<double>::infinity();
    return is_least ? -infinity : infinity;
  }
  const int bits = dtype == DType::kBool ? 1 : static_cast<int>(8 * size_of(dtype));
  const bool is_signed = dtype != DType::kBool && !is_unsigned(dtype);
  const uint64_t most = ~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
  if (is_least) return is_signed ? -static_cast<int64_t>(most) - 1 : int64_t{0};
  return dtype == DType::kUInt64 ? Literal(most) : Literal(static_cast<int64_t>(most));
}

// The dtype whose loop runs: integers wrap around alike in any width, but only the widest unsigned
// ones are too large to be ordered as signed ones.
DType loop_dtype(std::string_view mode, DType result) {
  if (kind_of(result) >= Kind::kFloating) return compute_of(result);
  const bool is_ordered = mode == "cumulative_max" || mode == "cumulative_min";
  return is_ordered && result == DType::kUInt64 ? DType::kUInt64 : DType::kInt64;
}

void scan(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const std::string& mode = op.get<std::string>("mode");
  const DType result = outputs[0]->dtype;
  const DType dtype = loop_dtype(mode, result);
  const Array x = prepared(*inputs[0], dtype, workspace);
  const auto* named = std::get_if<int64_t>(&op.attr("axis"));
  const size_t axis = static_cast<size_t>(normalize_axis(op.name(), named != nullptr ? *named : 0,
                                                         static_cast<int64_t>(x.shape.size())));
  const bool reverse = op.get<bool>("reverse");
  write_as(*outputs[0], dtype, workspace, [&](const Array& out) {
    const int64_t extra = out.shape[axis] - x.shape[axis];
    if (extra != 0) {
      Dims shape = out.shape;
      const int64_t at = reverse ? shape[axis] - 1 : 0;
      shape[axis] = 1;
      assign(out.view(shape, out.strides, at * out.strides[axis]), identity_of(mode, result));
    }
    if (x.count == 0) return;
    Scanner(x, axis, reverse, kernel_table().scans.find(mode)->second[dtype])
        .run(out, extra, workspace);
  });
}

constexpr std::pair<std::string_view, KernelRule> kScanKernels[] = {{"scan", scan}};

}  // namespace

RuleTable<KernelRule> scan_kernels() { return kScanKernels; }

}  // namespace tensorlike
