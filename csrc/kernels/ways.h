// Which of the ways that may compute a convolution does: the one with the least predicted time. A
// way counts what it would do to a shape; times are those counts at the rates of the processor's
// family, which benchmarks/fit_costs.py has measured (ways.inc). Shapes, dtypes and processor
// decide alone: not threads, and no clock, so that results have the same bits again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace tensorlike {

enum class Way {
  kStrips,     // products of weights and windows, strip by strip
  kTiles,      // the same in F(2x2, 3x3)
  kPixels,     // a matrix product for each image
  kRows,       // one whose rows are windows
  kBlocks,     // channels by themselves, as many at a time as a vector has lanes
  kAlone,      // channels by themselves, one by one
  kDots,       // the gradient by the weights: dots along strips
  kTileDots,   // the same in F(2x2, 3x3)
  kPixelDots,  // the same where windows are pixels: a matrix product
  kApart,      // taps that lie apart: tiles of more and smaller images
  kApartDots,  // the gradient by the weights of those
  kScattered,  // the gradient by the image: a matrix product, added to its places
  kParts,      // strips of windows that see the same taps
  kPartDots,   // the gradient by the weights: dots along the windows that see a tap
};
constexpr std::array<std::string_view, 14> kWayNames = {
    "strips",    "tiles",      "pixels", "rows",       "blocks",    "alone", "dots",
    "tile dots", "pixel dots", "apart",  "apart dots", "scattered", "parts", "part dots"};

// What a way does to a shape.
struct Work {
  double calls = 0;     // of inner loops
  double products = 0;  // multiply-adds of vectors, those of empty lanes with them
  double loads = 0;     // of vectors that are multiplied
  double moved = 0;     // bytes that are gathered, transformed or put in their places
  double made = 0;      // bytes of weights that are packed or transformed, kept or not
  double read = 0;      // bytes of them that come from beyond the second-level cache

  Work& operator+=(const Work& other);
};
constexpr int kWorkCounts = 6;

// What comes from beyond the second-level cache where so many bytes are read several times.
inline double far_bytes(double bytes, double times) {
  constexpr double kNear = 512 * 1024;
  return bytes > kNear ? bytes * times : 0;
}

// Nanoseconds of this processor's family.
double predicted_time(Way way, const Work& work);

class Choice {
 public:
  // `count` is called where there is another way.
  void offer(Way way, std::function<Work()> count);
  // The fastest of those offered, of which there is one at least.
  Way best() const;

 private:
  struct Offer {
    Way way;
    std::function<Work()> count;
  };
  static constexpr int kMost = 8;
  Offer offers_[kMost];
  int offered_ = 0;
};

// For tests and measurements: what choices take where it is offered; and what the first choice was
// between since it is noted.
struct Considered {
  Way way = Way::kStrips;
  Work work;
  double time = 0;
};
void want_way(std::optional<Way> way);
void note_ways(bool is_on);
std::vector<Considered> noted_ways();
// Who made this processor: "amd", "intel", or "" where that is not known; "amd 19h" are Zen 3 and
// 4, which take two turns for a vector of 64 bytes.
std::string_view processor_vendor();

}  // namespace tensorlike
