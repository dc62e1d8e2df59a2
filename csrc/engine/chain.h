// Elementwise nodes of one shape, which run as one tile program: alone, or as what a reduction
// reads. Its outputs are the results that somebody outside of the chain holds.
#pragma once

#include <string>
#include <vector>

#include "engine/lazy.h"
#include "memory/workspace.h"
#include "op/tile_program.h"

namespace tensorlike {

class Chain {
 public:
  Chain(const Dims& shape, const Dims& strides) : shape_(shape), strides_(strides) {}
  ~Chain() {
    for (const Ref<LazyNode>& node : nodes_) node->mark = -1;
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // Adds a node and what it can be fused with; returns a node that must run before, or null.
  LazyNode* collect(LazyNode& root);
  // Prepares to write the last node's results, and what else is held.
  void prepare();
  // Prepares to compute one result of the last node in a dtype, without writing it unless somebody
  // beside the one who reduces it holds it.
  void prepare_for_reduction(const LazyNode& reduction, DType dtype);

  // Whether results are prepared to be written, beside the one that a reduction reads.
  bool writes() const { return !written_.empty(); }
  bool is_in_order() const { return lies_in_order(shape_, strides_); }
  // A node with a result that is written, and would not lie as the last one's do; it has to run
  // before. Null: there is none.
  LazyNode* written_apart() const;
  // An intermediate result that is written, or the last.
  LazyNode* written_node() const { return written_.front().node; }

  // Gives memory to the results that are written: a dying operand's where `may_take` and the
  // program allow that, else fresh memory.
  void allocate(bool may_take);
  // Runs it over the memory. Nodes whose operands are written over are lost until they are filled.
  void run();
  // Runs it as what a reduction reads, in elements of a dtype.
  void run_into(const Op& reduction, DType dtype, const Array& out, Workspace& workspace);
  // It has run: hands the memory out; the nodes are done, but for those that stay.
  void fill();

  FusedProgram describe(const char* reason) const;
  int64_t bytes() const;  // read and written

 private:
  struct Written {
    LazyNode* node;
    Ref<RawTensor> tensor;
    Ref<Storage> storage;
  };
  // Where the elements of operands are, and where those of results will be.
  struct Places {
    SmallVector<const Array*, 8> operands;
    SmallVector<Array, 4> written;
    SmallVector<const Array*, 4> outputs;
  };

  // References to a result from inside the chain; from those of its nodes that will be done.
  int64_t inner_uses(const RawTensor& tensor) const;
  int64_t uses_that_end(const RawTensor& tensor) const;
  bool is_dying(const RawTensor& operand) const;
  void number_operands();
  void choose_written(const LazyNode& reader, const RawTensor* fed);
  int64_t donated_holds(const RawTensor& operand) const;
  void find_staying(const RawTensor* fed);
  void find_program(SmallVector<int, 4> results, const SmallVector<DType, 4>& converted);
  void find(Places& places) const;
  Device device() const { return nodes_.front()->result.device; }

  const Dims shape_, strides_;
  std::vector<Ref<LazyNode>> nodes_;  // inputs before users
  std::vector<RawTensor*> operands_;
  std::vector<ChainStep> steps_;
  std::vector<int> first_slot_;  // of each node's results
  std::vector<bool> stays_;      // nodes whose results are not written, and may still be asked for
  std::vector<Written> written_;
  const PreparedProgram* prepared_ = nullptr;
  int first_written_ = 0;  // of the program's outputs
  int taken_ = 0;          // operands whose memory is written over
};

}  // namespace tensorlike
