// Loops multiply what lies behind their operands, too, in lanes that nobody reads. On a heap whose
// free memory is full of denormal numbers no operand may be one: some processors take a hundred
// times as long for them. The processor says whether it has met any.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>

#include "../../csrc/base/pool.h"
#include "dispatch/dispatcher.h"
#include "tape_support.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace tensorlike;

namespace {

// What the heap and the allocator of tensors hand out next.
void fill_free_memory() {
  std::vector<char*> blocks;
  Values tensors;
  for (int i = 6; i < 23; ++i) {
    const size_t size = size_t{1} << i;
    char* const block = static_cast<char*>(std::malloc(size));
    const std::vector<float> denormals(size / sizeof(float), 4.5e-41F);
    std::memcpy(block, denormals.data(), size);
    blocks.push_back(block);
    tensors.push_back(tape::make_tensor(denormals, {static_cast<int64_t>(denormals.size())}));
  }
  for (char* block : blocks) std::free(block);
}

Ref<Value> numbers(Dims shape) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> draw(1, 2);
  std::vector<float> made(static_cast<size_t>(element_count(shape)));
  for (float& x : made) x = draw(random);
  return tape::make_tensor(made, std::move(shape));
}

template <class Run>
void expect_no_denormals(const std::string& what, Run&& run) {
#if defined(__x86_64__)
  constexpr unsigned kDenormal = 2;
  fill_free_memory();
  _mm_setcsr(_mm_getcsr() & ~kDenormal);
  run();
  tape::expect((_mm_getcsr() & kDenormal) == 0, what + " multiplies denormal numbers");
#else
  run();
#endif
}

std::string text(std::initializer_list<int64_t> numbers) { return to_string(Dims(numbers)); }

void convolutions() {
  struct Case {
    int64_t in, out, height, width, kernel, stride, images;
  };
  for (const Case& c : {Case{256, 512, 14, 14, 1, 2, 8},
                        {128, 256, 28, 28, 1, 2, 1},
                        {16, 16, 7, 7, 3, 1, 1},
                        {16, 32, 9, 9, 3, 2, 2},
                        {3, 8, 13, 17, 5, 1, 1},
                        {64, 64, 14, 14, 3, 1, 1},
                        {8, 12, 5, 5, 1, 1, 3},
                        {5, 7, 6, 11, 3, 2, 3}}) {
    const Ref<Value> x = numbers({c.images, c.in, c.height, c.width});
    const Ref<Value> weight = numbers({c.out, c.in, c.kernel, c.kernel});
    const NamedAttr attrs[] = {{"stride", std::vector<int64_t>{c.stride, c.stride}},
                               {"padding", std::vector<int64_t>{c.kernel / 2, c.kernel / 2}}};
    const std::string what = "a convolution of " + text({c.in, c.out, c.height, c.width, c.kernel});
    Ref<Value> y;
    expect_no_denormals(what, [&] { y = call("conv2d", {x.get(), weight.get()}, attrs); });
    expect_no_denormals(what + ", by the image",
                        [&] { call("conv_transpose2d", {y.get(), weight.get()}, attrs); });
  }
}

void products() {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 7, 5},
                                {3, 97, 456},
                                {33, 50, 70},
                                {17, 65, 129},
                                {128, 100, 384},
                                {5, 3, 1000},
                                {200, 3, 97}}) {
    const Ref<Value> a = numbers({m, k}), b = numbers({k, n}), rows = numbers({n, k});
    const Ref<Value> turned =
        call("permute_dims", {rows.get()}, {{"axes", std::vector<int64_t>{1, 0}}});
    expect_no_denormals("a product of " + text({m, n, k}), [&] {
      call("matmul", {a.get(), b.get()});
      call("matmul", {a.get(), turned.get()});
    });
  }
}

}  // namespace

int main() {
  set_num_threads(1);
  convolutions();
  products();
  return tape::report();
}
