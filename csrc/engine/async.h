// Launches on threads of the engine's own: one, which takes them in order, or several, each of
// which takes the first that needs nothing that is not done. Kernels give the same bits on any
// thread, and write to memory of their own, so that results are the same. Elementwise ops and
// reductions run there without the embedder's lock: all that they need is made when they are
// pushed. Other ops take the lock while they set up, and let it go as long kernels do.
#pragma once

#include "engine/engine.h"

namespace tensorlike {

// Makes tensors that the thread will fill; false where the launch is better run at once.
bool push_async(const Op& op, Args args, Values& out);

// Waits for all tasks; rethrows the first failure that nobody has been told of.
void finish_async();

// Ends the thread after the task that it runs. Later launches run at once; a queued task runs when
// somebody reads its result. For the end of the process, which waits for no result that nobody
// reads.
void stop_async();

}  // namespace tensorlike
