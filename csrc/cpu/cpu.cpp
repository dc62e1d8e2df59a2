#include "cpu/cpu.h"

#include <cstring>

#include "cpu/arrays.h"
#include "cpu/loops.h"
#include "cpu/program_sets.h"
#include "cpu/reductions.h"
#include "cpu/small_launch.h"
#include "cpu/tiles.h"
#include "memory/backend.h"
#include "memory/storage.h"
#include "op/infer.h"
#include "tensor/raw_tensor.h"
#include "tensor/small_assignment.h"

namespace tensorlike {
namespace {

class Cpu final : public Backend {
 public:
  Cpu() : Backend(Device()) {}

  // Storage and workspaces have a shorter way to the allocator; these are for who asks for any
  // device's memory.
  char* allocate(size_t bytes) override {
    const Block block = require_block(bytes, kHeader);
    char* const data = static_cast<char*>(block.data) + kHeader;
    std::memcpy(block.data, &block, sizeof(block));
    return data;
  }
  void free(char* data, size_t) noexcept override {
    Block block;
    std::memcpy(&block, data - kHeader, sizeof(block));
    free_block(block);
  }
  bool is_host_memory() const override { return true; }
  void copy_in(char* to, const char* from, size_t bytes) override { copy(to, from, bytes); }
  void copy_out(char* to, const char* from, size_t bytes) override { copy(to, from, bytes); }
  void assign(const Array& out, const Array& x) override { tensorlike::assign(out, x); }
  void fill(const Array& out, const Literal& value) override { tensorlike::assign(out, value); }

  void launch(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) override {
    if (op.reduction != nullptr) {
      reduce_memory(op, inputs, outputs, workspace);
    } else if (op.scalar == nullptr) {
      op.cls.kernel(Device()).run(op, inputs, outputs, workspace);
    } else {
      SmallVector<DType, 16> dtypes;
      for (const Array* input : inputs) dtypes.push_back(input->dtype);
      const PreparedProgram& prepared = prepare(*op.scalar, {dtypes.data(), dtypes.size()});
      run(prepared.program, outputs[0]->shape, inputs, outputs);
    }
  }
  void find_sizes(const Op& op, Arrays inputs, Specs& specs, Workspace& workspace) override {
    op.cls.kernel(Device()).sizes(op, inputs, specs, workspace);
  }
  void run(const TileProgram& program, const Dims& shape, Arrays operands,
           Arrays outputs) override {
    run_program(program, shape, operands, outputs);
  }
  std::unique_ptr<ProgramSets> run_sets(const TileProgram& program, Arrays shared) override {
    return program_sets(program, shared);
  }

  bool takes_feed(const Op& op) const override { return is_reducing(op); }
  DType feed_dtype(const Op& op, DType dtype) const override { return reduction_loop(op, dtype); }
  bool writes_meanwhile(const Op& op, const Dims& shape, DType loop) const override {
    const Dims axes = named_axes(op, static_cast<int64_t>(shape.size()));
    return is_walked_in_order(shape, axes, reduction_kernel(op, loop));
  }
  void reduce(const Op& op, const Feed& feed, const Array& out, Workspace& workspace) override {
    tensorlike::reduce(op, reducible(feed), feed.dtype, out, workspace);
  }

 private:
  static constexpr size_t kHeader = 64;

  static void copy(char* to, const char* from, size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
};

}  // namespace

void register_cpu(Registry& registry) {
  register_backend(std::make_unique<Cpu>());
  const KernelSource source = {.scalar = find_loops, .reduction = find_loops, .op = find_kernel};
  registry.add_kernels(0, source);
  launch_small = small_launch;
  assign_small = set_few;
}

}  // namespace tensorlike
