// Launches that wait: the nodes of the lazy graph. All of this is touched under the embedder's lock
// alone, and run under the engine's.
#pragma once

#include "base/blocking.h"
#include "engine/engine.h"
#include "engine/expression.h"

namespace tensorlike {

// Whether somebody's lock keeps apart the threads that apply ops. Those of a C++ program have none,
// so that nothing waits there but where a mode says so.
inline bool has_embedder() { return embedder_hooks.enter != nullptr; }

class LazyNode final : public Pending {
 public:
  // What is known of a launch within an expression (expression.h).
  struct Reader {
    UsersPlace place;
    int64_t holds = 0;     // the caller's references to an operand, which end with this launch
    uint32_t donated = 0;  // operands that may be written over when these and their name's are all
  };

  LazyNode(const Op& op, Args args, Spec result, Dims strides, int64_t size, Reader as);

  void finish(const char* reason) override;
  void forget(const RawTensor& tensor) override;

  // The node that a tensor waits for; null: it is there.
  static LazyNode* of(const RawTensor& tensor) {
    return static_cast<LazyNode*>(tensor.pending.get());
  }
  bool is_elementwise() const { return op->scalar != nullptr; }
  // The place of a tensor among the results.
  size_t index_of(const RawTensor& tensor) const;
  // The results are there (or nobody wants them): the inputs are not needed any more.
  void settle();
  // The inputs are being written over: without the results there is nothing to start from again.
  void lose() { is_lost_ = true; }
  bool is_lost() const { return is_lost_; }
  // Throws where there will be no result.
  void check_lost() const;

  const Ref<const Op> op;
  const Spec result;
  const Dims strides;       // of the results
  const std::string place;  // the user's line
  SmallVector<Ref<RawTensor>, 3> inputs;
  SmallVector<RawTensor*, 1> outputs;  // null: nobody can ask for this one
  const int64_t size;                  // nodes of the chain that ends here, at most
  const Reader as;
  // Of a tensor of one number: the number, seen in the tensor's shape, and the memory for it.
  Ref<RawTensor> number, room;
  bool is_settled = false;
  bool is_left = false;          // its chain has run without it, and somebody may still ask for it
  bool is_told = false;          // somebody has had the error that keeps it from running
  int mark = -1;                 // its place in the chain that is being collected
  mutable uint64_t counted = 0;  // by which count of a chain's nodes
  // The next younger one of the nodes that wait.
  LazyNode* next() const { return next_; }

 protected:
  ~LazyNode() override = default;
  void destroy() override;

 private:
  friend void finish_lazy(const char* reason);
  friend void finish_read(const UsersPlace& reader, const char* reason);
  void leave_list();

  // All nodes that wait form a list, oldest first; another one, those that die.
  LazyNode* previous_ = nullptr;
  LazyNode* next_ = nullptr;
  bool is_lost_ = false;
};

// Makes tensors that wait for `op`, where they are of as many elements at least and it can wait;
// none otherwise.
bool push_lazily(const Op& op, Args args, int64_t threshold, LazyNode::Reader as, Values& out);

// Makes a large tensor of one number, whose memory is there and written when somebody reads that;
// false: the op makes none. Elementwise ops read the number in its place.
bool push_fill(const Op& op, Values& out);

// Runs a node after the nodes that it needs, without recursion: the graph of waiting nodes may be
// deeper than the stack. An error is told with the op and the line that applied it.
void run_node(LazyNode& node, const char* reason);

// What ran before is not of interest any more.
void forget_programs();

// Runs everything that waits.
void finish_lazy(const char* reason);

// The same, but for what nobody reads who is known: what names hold that are done with it at the
// place of `reader`, and what is read for that alone.
void finish_read(const UsersPlace& reader, const char* reason);

}  // namespace tensorlike
