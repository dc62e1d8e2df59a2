// What a device gives: memory, copies, kernels in an order, and ways to wait. One object per
// device; nothing above a backend touches elements.
//
// Work on a device runs in the order in which it was asked for, and may run after the call has
// returned. Memory that is freed may be given out again at once, since whoever gets it works behind
// those who had it. What went wrong in a kernel is thrown where somebody waits.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/device.h"
#include "base/shape.h"
#include "memory/array.h"

namespace tensorlike {

class Op;
class Workspace;
struct TileProgram;

// What a reduction reads, where a chain of elementwise ops computes it: element by element of
// `shape`, the first result of `program` on operands that broadcast to it. The other results go
// to `written`; where the reduced elements are written too, they are the first of these.
struct Feed {
  const TileProgram* program = nullptr;
  DType dtype = DType::kFloat32;  // of the elements that are reduced
  Dims shape;
  Arrays operands;
  Arrays written;
  bool is_written = false;
  Dims strides = {};  // as the elements would lie, without gaps; empty: in order
};

// A program that is run on many sets of operands, one after the other, all on the calling thread.
class ProgramSets {
 public:
  virtual ~ProgramSets() = default;
  // `operands`: those that sets differ in; all are in order and of one shape. Outputs may lie over
  // operands.
  virtual void run(Arrays operands, Arrays outputs) = 0;
};

class Backend {
 public:
  explicit Backend(Device device) : device(device) {}
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // `bytes` bytes, 64-byte aligned, not set; ErrorKind::kMemory when there are none.
  virtual char* allocate(size_t bytes) = 0;
  virtual void free(char* data, size_t bytes) noexcept = 0;
  // Whether the host may read and write its memory as its own.
  virtual bool is_host_memory() const { return false; }

  // Bytes that follow each other, from the host or to it. The host's may change, or are there, when
  // these return.
  virtual void copy_in(char* to, const char* from, size_t bytes) = 0;
  virtual void copy_out(char* to, const char* from, size_t bytes) = 0;
  // Writes x, broadcast and converted, into the elements that `out` sees; both live here, and do
  // not overlap.
  virtual void assign(const Array& out, const Array& x) = 0;
  // Writes one element, which the dtype holds, into all of them.
  virtual void fill(const Array& out, const Literal& value) = 0;

  // Computes an op's outputs, from inputs that lie as its declaration asks for.
  virtual void launch(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) = 0;
  // Sets the sizes that depend on elements; waits for them.
  virtual void find_sizes(const Op& op, Arrays inputs, Specs& specs, Workspace& workspace) = 0;
  // Runs a chain of elementwise ops over `shape`. Its outputs, and those of an elementwise op that
  // is launched, are in order, or all in the same other order of axes without gaps: SeenInOrder, in
  // memory/layout.h, makes one of the other.
  virtual void run(const TileProgram& program, const Dims& shape, Arrays operands,
                   Arrays outputs) = 0;
  // The same on many sets, which have these single elements in common (null: operands that sets
  // differ in). Null: there is no better way than `run`.
  virtual std::unique_ptr<ProgramSets> run_sets(const TileProgram&, Arrays) { return nullptr; }
  // Reductions that read what a chain computes: whether the op is one, the dtype in which it takes
  // elements, whether the chain can write results of its own meanwhile, and the launch.
  virtual bool takes_feed(const Op&) const { return false; }
  virtual DType feed_dtype(const Op&, DType dtype) const { return dtype; }
  virtual bool writes_meanwhile(const Op&, const Dims&, DType) const { return false; }
  virtual void reduce(const Op&, const Feed&, const Array&, Workspace&) {}

  // A mark behind all that was asked for so far; `wait` returns when the device has come to it.
  virtual uint64_t record() { return 0; }
  virtual void wait(uint64_t event) { static_cast<void>(event); }
  void synchronise() { wait(record()); }

  const Device device;
};

namespace detail {

inline Backend* cpu = nullptr;  // handed down with the declarations
Backend& find_backend(Device device);

}  // namespace detail

// The device's; ErrorKind::kDevice where there is no such device.
inline Backend& backend(Device device) {
  return device.is_cpu() && detail::cpu != nullptr ? *detail::cpu : detail::find_backend(device);
}
// Adds a device; its kind is known from then on.
void register_backend(std::unique_ptr<Backend> made);
// Whether there is one beside the CPU.
bool has_devices();
// All devices, in the order in which they were added.
std::vector<Device> devices();
// The device of a name; ErrorKind::kDevice, for this op and argument, where there is none.
Device require_device(const std::string& op, std::string_view name);

}  // namespace tensorlike
