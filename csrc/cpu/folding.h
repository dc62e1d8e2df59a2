// Folding elements into accumulators, on one thread: by the compiled loops of a reduction, or by
// the programs of one that was declared at run time.
#pragma once

#include <optional>

#include "cpu/scratch.h"
#include "cpu/tiles.h"
#include "kernels/kernel_table.h"
#include "op/reduction_program.h"

namespace tensorlike {

// A program with one result over elements that lie side by side.
class FlatProgram {
 public:
  // `buffers` has room for bytes_of(program).
  FlatProgram(const TileLoops& program, char* buffers);
  static size_t bytes_of(const TileLoops& program);
  // out[i] = program(in[0][i], in[1][i], ...) for i < n, which is at most kTile. `out` may be
  // in[0].
  void run(void* out, std::initializer_list<const void*> in, int64_t n);

 private:
  const TileLoops& program_;
  SmallVector<void*, 12> slots_;
};

// The same five steps as those of a ReductionKernel.
class Folding {
 public:
  explicit Folding(const ReductionKernel& kernel);

  void start(void* acc, int64_t n);
  void row(void* acc, const void* x, int64_t n);
  void rows(void* acc, const void* x, int64_t n, int64_t count, int64_t step);
  void join(void* acc, const void* other, int64_t n);
  void finish(void* out, const void* acc, int64_t n, int64_t count);

 private:
  // What programs need, in memory of this thread.
  struct Programs {
    explicit Programs(const ReductionProgram& program);
    const ReductionProgram& program;
    Scratch scratch;
    char* mapped;
    int64_t* counts;
    FlatProgram map, combine, finish;
    size_t size;  // bytes of an accumulator
  };
  void fold_mapped(char* acc, int64_t n);

  const ReductionKernel& kernel_;
  std::optional<Programs> programs_;
};

}  // namespace tensorlike
