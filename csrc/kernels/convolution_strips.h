// How a convolution is cut into strips of output positions, and where the input that a strip sees
// lies once it is gathered. For each column of the kernel there is one copy of the input's rows,
// cut to the columns of the strip; rows of the kernel read the same copy, some rows further down.
// So the operand of a product is read in place: its row for channel and tap begins at an offset,
// and positions follow each other without a gap, whatever the stride, dilation and padding.
#pragma once

#include <cstdint>
#include <vector>

#include "base/window.h"
#include "kernels/gemm_plan.h"
#include "kernels/kernel_table.h"

namespace tensorlike {

// At least n elements, in an odd number of pieces of a cache line: what lies so far apart does not
// meet in few sets of the cache.
inline int64_t odd_lines(int64_t n) {
  constexpr int64_t kLine = 16;
  return (detail::ceil_div(n, kLine) | 1) * kLine;
}

// Whole lines (rows of windows of one image after another), or a part of one.
struct Strip {
  int64_t line, lines;
  int64_t column, columns;

  int64_t size() const { return lines * columns; }
  bool operator==(const Strip&) const = default;
};

class Strips {
 public:
  // Of `wanted` positions at most, where lines are not longer. Planes (of an image and depth) of at
  // most `joint` positions are put side by side; else a strip stays within one.
  Strips(const Window& window, int64_t images, int64_t wanted, int64_t joint);

  int64_t count() const { return planes_ * lines_.count * columns_.count; }
  Strip operator[](int64_t i) const;
  // The i-th strip in another order: all planes' strips at one place, then those at the next place.
  // Strips at one place have the same layout, which is then found once.
  int64_t by_place(int64_t i) const { return i % planes_ * (count() / planes_) + i / planes_; }
  bool is_joint() const { return is_joint_; }

 private:
  bool is_joint_;
  int64_t planes_;
  detail::Split lines_;  // of a plane; of all where strips are joint
  detail::Split columns_;
};

// Positions of a strip that lie beside each other in the result.
struct PlaceRun {
  int64_t image;
  int64_t from;   // in the strip
  int64_t place;  // in a channel's plane of windows
  int64_t size;
};

// What a strip sees of one channel.
struct StripLayout {
  std::vector<GatherLine> lines;
  std::vector<int64_t> taps;  // where the operand's row for a tap begins
  int64_t channel_size = 0;

  // Places in joint images, image_step elements apart, count from the first of all; else from the
  // strip's own. False: nothing has changed, since the last strip lay at the same place of another
  // image.
  bool arrange(const Window& window, const Strip& strip, bool is_joint, int64_t image_step);
  // How many elements are written for a channel by vectors of so many: whole ones for each line.
  static int64_t written(const Window& window, const Strip& strip, bool is_joint, int64_t lanes);

 private:
  void add_lines(const Window& window, const Strip& strip, bool is_joint, int64_t image_step);
  void place_rows(const Window& window, const Strip& strip, bool is_joint);

  struct RowCopies {  // rows of the kernel, `step` apart, that read the same copy
    int64_t first;    // row of the kernel
    int64_t start;    // its row in the copies
    int64_t count;    // rows of the copy
  };
  Strip arranged_{-1, 0, 0, 0};
  std::vector<RowCopies> copies_;
  int64_t step_ = 1;
  int64_t rows_ = 0;
  int64_t copy_size_ = 0;
};

// The runs of a strip; lines of their own unless is_dense, which says that windows of an image lie
// in the result one after another.
void find_runs(const Window& window, const Strip& strip, bool is_dense,
               std::vector<PlaceRun>& runs);

}  // namespace tensorlike
