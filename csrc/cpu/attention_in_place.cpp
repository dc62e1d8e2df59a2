// Attention of few queries: their products with keys and values are all that there is to do, and
// take as long as memory takes to give these.
#include <algorithm>
#include <vector>

#include "base/blocking.h"
#include "cpu/attention_call.h"

namespace tensorlike {
namespace {

constexpr int64_t kMostQueries = 4;
constexpr int64_t kPieceKeys = 256;  // whose scores one thread makes, where heads are few

template <class T>
class AttentionInPlace {
 public:
  AttentionInPlace(const AttentionCall<T>& call, T* out)
      : c_(call),
        out_(out),
        seen_(call.seen_before(call.sizes.queries)),
        step_(call.row_step(std::max<int64_t>(1, seen_))) {}

  void run() const {
    BlockingRegion blocking(c_.work() > 1e6);
    const bool is_small = c_.is_small();
    if (is_small || c_.heads >= num_threads()) {
      return parallel_for(c_.heads, is_small ? c_.heads : 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(ScoreRows<T>::bytes(c_.sizes.queries, step_));
        const ScoreRows<T> rows(scratch, c_.sizes.queries, step_);
        for (int64_t head = begin; head < end; ++head) {
          multiply_keys(head, 0, seen_, rows);
          weigh_values(head, rows);
        }
      });
    }
    share_heads();
  }

 private:
  // Threads share the keys of a head, then the heads.
  void share_heads() const {
    const int64_t queries = c_.sizes.queries;
    Scratch scratch(static_cast<size_t>(c_.heads) * (ScoreRows<T>::bytes(queries, step_) + 64));
    std::vector<ScoreRows<T>> rows;
    for (int64_t head = 0; head < c_.heads; ++head) rows.emplace_back(scratch, queries, step_);
    const int64_t pieces = std::max<int64_t>(1, (seen_ + kPieceKeys - 1) / kPieceKeys);
    parallel_for(c_.heads * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * kPieceKeys;
        multiply_keys(i / pieces, first, std::min(kPieceKeys, seen_ - first),
                      rows[static_cast<size_t>(i / pieces)]);
      }
    });
    parallel_for(c_.heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) weigh_values(i, rows[static_cast<size_t>(i)]);
    });
  }

  // The scores of `count` keys from `first` on.
  void multiply_keys(int64_t head, int64_t first, int64_t count, const ScoreRows<T>& rows) const {
    loops_.dot_rows(count, c_.sizes.width, c_.at(c_.key, head, first), c_.key.row_stride,
                    c_.at(c_.query, head, 0), c_.sizes.queries, c_.query.row_stride,
                    rows.scores + first, rows.step);
  }

  void weigh_values(int64_t head, const ScoreRows<T>& rows) const {
    const AttentionSizes& s = c_.sizes;
    T* const to = out_ + head * s.queries * s.value_width;
    c_.weigh_scores(head, 0, s.queries, 0, seen_, rows);
    loops_.sum_rows(s.queries, s.value_width, seen_, rows.scores, rows.step, 1,
                    c_.at(c_.value, head, 0), c_.value.row_stride, to, s.value_width);
    c_.divide(to, s.queries, rows);
  }

  const AttentionCall<T>& c_;
  const detail::GemmKernels<T>& loops_ = Panels<T>::loops();
  T* out_;
  int64_t seen_;  // keys that one of the queries sees
  int64_t step_;
};

}  // namespace

template <class T>
bool attend_in_place(const AttentionCall<T>& call, const Array& out) {
  const bool are_rows =
      call.query.column_stride == 1 && call.key.column_stride == 1 && call.value.column_stride == 1;
  const bool has_keys = call.seen_before(call.sizes.queries) > 0;  // else there are no sums
  if (call.sizes.queries > kMostQueries || !are_rows || !has_keys) return false;
  AttentionInPlace<T>(call, out.as<T>()).run();
  return true;
}

template bool attend_in_place(const AttentionCall<float>&, const Array&);
template bool attend_in_place(const AttentionCall<double>&, const Array&);

}  // namespace tensorlike
