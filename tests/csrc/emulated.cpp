// Devices for tests, in a library that a test loads: "emulated", whose memory the host cannot touch
// and whose kernels are the CPU's, run later by a thread; and "bare", the same with kernels for
// copies alone, on which ops run through their bodies.
//
// The memory is mapped twice. The host's addresses, which tensors hold, may be neither read nor
// written: whoever follows one dies. The thread has addresses of its own.
#include <sys/mman.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/blocking.h"
#include "base/pool.h"
#include "engine/task.h"
#include "memory/backend.h"
#include "memory/workspace.h"
#include "op/registry.h"
#include "op/tile_program.h"
#include "program/variable.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

// A file of memory that is seen at two places.
class Arena {
 public:
  explicit Arena(size_t bytes) : bytes_(bytes) {
    const int file = memfd_create("emulated", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) std::abort();
    host_ = map(file, PROT_NONE);
    own_ = map(file, PROT_READ | PROT_WRITE);
    close(file);
    free_[0] = bytes;
  }

  char* allocate(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t size = rounded(bytes);
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      if (at->second < size) continue;
      const auto [offset, room] = *at;
      free_.erase(at);
      if (room > size) free_[offset + size] = room - size;
      return host_ + offset;
    }
    fail(ErrorKind::kMemory, said::part("memory"), bytes, " bytes could not be had on the device.");
  }
  void free(const char* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto at = free_.emplace(static_cast<size_t>(data - host_), rounded(bytes)).first;
    if (at != free_.begin()) {
      const auto before = std::prev(at);
      if (before->first + before->second == at->first) at = join(before, at);
    }
    const auto next = std::next(at);
    if (next != free_.end() && at->first + at->second == next->first) join(at, next);
  }
  char* own(const char* data) const { return own_ + (data - host_); }

 private:
  using Free = std::map<size_t, size_t>;  // from an offset, so many bytes

  Free::iterator join(Free::iterator first, Free::iterator second) {
    first->second += second->second;
    free_.erase(second);
    return first;
  }
  char* map(int file, int access) const {
    void* data = mmap(nullptr, bytes_, access, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) std::abort();
    return static_cast<char*>(data);
  }
  static size_t rounded(size_t bytes) { return (bytes + 64 + 63) / 64 * 64; }

  const size_t bytes_;
  std::mutex mutex_;
  Free free_;
  char* host_;
  char* own_;
};

// Work in the order in which it was asked for.
class Queue {
 public:
  Queue() : thread_([this] { work(); }) { thread_.detach(); }

  uint64_t push(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
    return ++pushed_;
  }
  uint64_t pushed() {
    const std::lock_guard lock(mutex_);
    return pushed_;
  }
  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return done_ == pushed_;
  }
  // Throws what went wrong until then, once.
  void wait(uint64_t event) {
    std::exception_ptr failure;
    {
      const BlockingRegion blocking(true);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return done_ >= event; });
      std::swap(failure, failure_);
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  void work() {
    become_worker();
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !tasks_.empty(); });
      std::exception_ptr failure;
      {
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        try {
          task();
        } catch (...) {
          failure = std::current_exception();
        }
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  uint64_t pushed_ = 0;
  uint64_t done_ = 0;
  std::exception_ptr failure_;
  std::thread thread_;
};

// Arrays as the thread sees them.
struct Seen {
  std::vector<Array> arrays;
  std::vector<const Array*> pointers;

  Seen(const Arena& arena, Arrays from) {
    for (const Array* x : from) {
      arrays.push_back(*x);
      arrays.back().device = Device();
      arrays.back().data = arena.own(x->data);
    }
  }
  Arrays all() {
    pointers.clear();
    for (const Array& array : arrays) pointers.push_back(&array);
    return pointers;
  }
};

class Emulated final : public Backend {
 public:
  Emulated(Device device, size_t bytes) : Backend(device), arena_(bytes) {}

  char* allocate(size_t bytes) override {
    char* const data = arena_.allocate(bytes);
    constexpr int kPoison = 0xAB;
    ask([to = arena_.own(data), bytes] { std::memset(to, kPoison, bytes); });
    return data;
  }
  void free(char* data, size_t bytes) noexcept override { arena_.free(data, bytes); }

  void copy_in(char* to, const char* from, size_t bytes) override {
    const std::vector<char> held(from, from + bytes);
    ask([to = arena_.own(to), held] { std::copy(held.begin(), held.end(), to); });
  }
  void copy_out(char* to, const char* from, size_t bytes) override {
    synchronise();
    std::copy_n(arena_.own(from), bytes, to);
  }
  void assign(const Array& out, const Array& x) override {
    const Array* const both[] = {&out, &x};
    ask([seen = see(both)] { cpu().assign(seen->arrays[0], seen->arrays[1]); });
  }
  void fill(const Array& out, const Literal& value) override {
    const Array* const only[] = {&out};
    ask([seen = see(only), value] { cpu().fill(seen->arrays[0], value); });
  }

  void launch(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) override {
    if (workspace.found == nullptr) workspace.found = std::make_shared<Workspace>();
    ask_for(op, [&op, from = see(inputs), to = see(outputs), found = workspace.found] {
      cpu().launch(op, from->all(), to->all(), *static_cast<Workspace*>(found.get()));
    });
  }
  void find_sizes(const Op& op, Arrays inputs, Specs& specs, Workspace& workspace) override {
    workspace.found = std::make_shared<Workspace>();
    ask([&op, &specs, from = see(inputs), found = workspace.found] {
      cpu().find_sizes(op, from->all(), specs, *static_cast<Workspace*>(found.get()));
    });
    synchronise();
  }
  void run(const TileProgram& program, const Dims& shape, Arrays operands,
           Arrays outputs) override {
    ask([copied = std::make_shared<TileProgram>(program), shape, from = see(operands),
         to = see(outputs)] { cpu().run(*copied, shape, from->all(), to->all()); });
  }

  bool takes_feed(const Op& op) const override { return cpu().takes_feed(op); }
  DType feed_dtype(const Op& op, DType dtype) const override { return cpu().feed_dtype(op, dtype); }
  bool writes_meanwhile(const Op& op, const Dims& shape, DType dtype) const override {
    return cpu().writes_meanwhile(op, shape, dtype);
  }
  void reduce(const Op& op, const Feed& feed, const Array& out, Workspace&) override {
    const Array* const only[] = {&out};
    ask_for(op, [&op, given = Feed(feed), program = std::make_shared<TileProgram>(*feed.program),
                 from = see(feed.operands), written = see(feed.written), to = see(only)]() mutable {
      given.program = program.get();
      given.operands = from->all();
      given.written = written->all();
      Workspace workspace;
      cpu().reduce(op, given, to->arrays[0], workspace);
    });
  }

  uint64_t record() override { return queue_.pushed(); }
  void wait(uint64_t event) override {
    queue_.wait(event);
    if (!is_running_task) forget();
  }

 private:
  static Backend& cpu() { return backend(Device()); }
  std::shared_ptr<Seen> see(Arrays from) const { return std::make_shared<Seen>(arena_, from); }
  void ask(std::function<void()> task) { queue_.push(std::move(task)); }

  // Ops are counted under the embedder's lock, which the engine's thread has not: it waits.
  void ask_for(const Op& op, std::function<void()> task) {
    if (is_running_task) {
      queue_.wait(queue_.push(std::move(task)));
      return;
    }
    held_.push_back(Ref<const Op>(&op));
    queue_.push(std::move(task));
    constexpr size_t kMost = 256;
    if (held_.size() > kMost) synchronise();
  }
  // What has run needs its ops no more.
  void forget() {
    if (queue_.is_idle()) held_.clear();
  }

  Arena arena_;
  Queue queue_;
  std::deque<Ref<const Op>> held_;
};

void add(const char* name, size_t bytes, const KernelSource& source) {
  const Device device{device_kind(name)};
  registry().add_kernels(device.kind, source);
  register_backend(std::make_unique<Emulated>(device, bytes));
}

}  // namespace

// Adds both devices, each of so many bytes.
extern "C" void add_devices(size_t bytes);
void add_devices(size_t bytes) {
  add("emulated", bytes, {.op = [](OpClass& cls) { return cls.kernel(Device()); }});
  add("bare", bytes, {.op = [](OpClass& cls) {
        const bool copies = cls.name() == "Cast" || cls.name() == "Copy";
        return copies ? cls.kernel(Device()) : KernelRule();
      }});
}

// Reads from the device's memory as if it were the host's.
extern "C" char touch();
char touch() {
  return *static_cast<volatile char*>(backend(*parse_device("emulated")).allocate(1));
}

// Applies `add` to a kind of tensor-like that Python has no class for: the variable of a C++
// program. Whether a rule of Python's gave one number as the result.
extern "C" bool apply_to_variable(double* result);
bool apply_to_variable(double* result) {
  const Ref<Value> x = make_ref<tape::Variable>("x", RawTensor::scalar(DType::kFloat64, 2.0));
  Value* args[] = {x.get(), x.get()};
  const Values out = apply(registry().scalar_op("add"), args);
  if (out.size() != 1 || out[0]->tag != Value::kRaw) return false;
  *result = *static_cast<RawTensor&>(*out[0]).as<double>();
  return true;
}

}  // namespace tensorlike
