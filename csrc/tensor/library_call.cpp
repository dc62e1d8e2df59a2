// The trampoline: arrays and attributes as C structs, and what a kernel may ask for as functions.
// Nothing is thrown through a library's frames: what fails is kept, and thrown when it is back.
#include "tensor/library_call.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>

#include "base/blocking.h"
#include "base/pool.h"
#include "memory/workspace.h"
#include "native/tensorlike_native.h"
#include "op/counts.h"
#include "op/infer.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

static_assert(static_cast<int>(DType::kBool) == TL_BOOL &&
              static_cast<int>(DType::kUInt64) == TL_UINT64 &&
              static_cast<int>(DType::kBFloat16) == TL_BFLOAT16 &&
              static_cast<int>(DType::kComplex128) == TL_COMPLEX128 &&
              kDTypeCount == TL_COMPLEX128 + 1);
static_assert(sizeof(bool) == 1);

const tl_kernel& kernel_of(const Op& op) {
  return *static_cast<const tl_kernel*>(op.cls.own.get());
}

struct AttrReader {
  tl_attr& out;
  void operator()(const Nothing&) { out.kind = TL_ATTR_NONE; }
  void operator()(bool value) { integer(TL_ATTR_BOOL, value ? 1 : 0); }
  void operator()(int64_t value) { integer(TL_ATTR_INT, value); }
  void operator()(uint64_t value) { integer(TL_ATTR_UINT, static_cast<int64_t>(value)); }
  void operator()(DType value) { integer(TL_ATTR_DTYPE, static_cast<int64_t>(value)); }
  void operator()(double value) {
    out.kind = TL_ATTR_FLOAT;
    out.number = value;
  }
  void operator()(const std::complex<double>& value) {
    out.kind = TL_ATTR_COMPLEX;
    out.number = value.real();
    out.imaginary = value.imag();
  }
  void operator()(const std::string& value) {
    out.kind = TL_ATTR_TEXT;
    out.count = static_cast<int64_t>(value.size());
    out.text = value.c_str();
  }
  void operator()(const std::vector<int64_t>& value) {
    out.kind = TL_ATTR_INTS;
    out.count = static_cast<int64_t>(value.size());
    out.integers = value.data();
  }
  void integer(int32_t kind, int64_t value) {
    out.kind = kind;
    out.integer = value;
  }
};

ErrorKind kind_of_error(int32_t kind) {
  switch (kind) {
    case TL_SHAPE_ERROR:
      return ErrorKind::kShape;
    case TL_DTYPE_ERROR:
      return ErrorKind::kDType;
    case TL_INDEX_ERROR:
      return ErrorKind::kIndex;
    case TL_MEMORY_ERROR:
      return ErrorKind::kMemory;
    case TL_MATRIX_ERROR:
      return ErrorKind::kMatrix;
    default:
      return ErrorKind::kArgument;
  }
}

class LibraryCall : public tl_call {
 public:
  LibraryCall(const Op& op, size_t inputs) : tl_call{}, op_(op), name_(op.name()) {
    for (size_t i = 0; i < op.attrs.size(); ++i) {
      tl_attr& made = attrs_.emplace_back();
      made.name = op.cls.spec.attrs[i].name.c_str();
      std::visit(AttrReader{made}, op.attrs[i]);
    }
    tl_call::op = name_.c_str();
    attrs = attrs_.data();
    attr_count = static_cast<int32_t>(attrs_.size());
    input_count = static_cast<int32_t>(inputs);
    memory = [](tl_call* call, size_t bytes) { return of(call).take(bytes); };
    parallel = [](tl_call* call, int64_t count, int64_t grain, tl_loop body, void* data) {
      return of(call).loop(count, grain, body, data);
    };
    result = [](tl_call* call, int32_t dtype, int32_t ndim, const int64_t* shape) {
      return of(call).infer_one(dtype, ndim, shape);
    };
    tl_call::fail = [](tl_call* call, int32_t kind, const char* text) {
      return of(call).refuse(kind, text);
    };
  }

  void run(Arrays from, Arrays to, Workspace& workspace) {
    workspace_ = &workspace;
    for (const Array* x : from) add(x->dtype, x->shape, x->strides.data(), x->data);
    for (const Array* x : to) add(x->dtype, x->shape, x->strides.data(), x->data);
    inputs = arrays_.data();
    outputs = arrays_.data() + from.size();
    output_count = static_cast<int32_t>(to.size());
    const BlockingRegion unlocked(true);
    call(kernel_of(op_).run);
  }

  Specs infer(std::span<const Spec> from) {
    SmallVector<Dims, 4> strides;
    for (const Spec& x : from) strides.push_back(contiguous_strides(x.shape));
    for (size_t i = 0; i < from.size(); ++i) {
      add(from[i].dtype, from[i].shape, strides[i].data(), nullptr);
    }
    inputs = arrays_.data();
    is_inference_ = true;
    call(kernel_of(op_).infer);
    const int wanted = op_.cls.spec.outputs;
    if (wanted >= 0 && specs_.size() != static_cast<size_t>(wanted)) {
      tensorlike::fail(ErrorKind::kShape, said::op(name_),
                       "the library's inference must give as many results as the op has outputs, ",
                       wanted, said::got(specs_.size()));
    }
    return std::move(specs_);
  }

 private:
  static LibraryCall& of(tl_call* call) { return *static_cast<LibraryCall*>(call); }

  void add(DType dtype, const Dims& shape, const int64_t* strides, char* data) {
    arrays_.push_back({static_cast<int32_t>(dtype), static_cast<int32_t>(shape.size()),
                       shape.data(), strides, data});
  }

  void call(tl_function function) {
    int32_t status = 0;
    try {
      status = function(this);
    } catch (...) {  // of a library in C++
      keep();
    }
    if (failure_) raise();
    if (status == 0) return;
    tensorlike::fail(ErrorKind::kArgument, said::op(name_),
                     "the library's kernel must say why it fails, by tl_fail",
                     said::got("status ", status));
  }

  bool has_failed() {
    const std::lock_guard lock(mutex_);
    return failure_ != nullptr;
  }

  // Keeps what is being thrown, unless something else was before; returns 1.
  int32_t keep() {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    return 1;
  }

  [[noreturn]] void raise() {
    try {
      std::rethrow_exception(failure_);
    } catch (const Error&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      tensorlike::fail(ErrorKind::kArgument, said::op(name_), "the library's kernel must not throw",
                       said::got(error.what()));
    } catch (...) {
      tensorlike::fail(ErrorKind::kArgument, said::op(name_), "the library's kernel must not throw",
                       said::got("no std::exception"));
    }
  }

  void* take(size_t bytes) {
    try {
      const std::lock_guard lock(mutex_);
      return workspace_ == nullptr ? nullptr : workspace_->bytes(bytes);
    } catch (...) {
      keep();
      return nullptr;
    }
  }

  int32_t loop(int64_t count, int64_t grain, tl_loop body, void* data) {
    if (has_failed()) return 1;
    try {
      parallel_for(count, std::max<int64_t>(grain, 1),
                   [&](int64_t begin, int64_t end) { body(data, begin, end); });
      return has_failed() ? 1 : 0;
    } catch (...) {
      return keep();
    }
  }

  int32_t infer_one(int32_t dtype, int32_t ndim, const int64_t* shape) {
    try {
      const bool is_shape =
          ndim >= 0 && static_cast<size_t>(ndim) <= kMaxDims &&
          std::all_of(shape, shape + ndim, [](int64_t size) { return size >= 0; });
      if (!is_inference_ || dtype < 0 || dtype >= kDTypeCount || !is_shape) {
        tensorlike::fail(ErrorKind::kShape, said::op(name_),
                         "the library must give results in inference alone, each a dtype and sizes "
                         "that are not negative");
      }
      Spec spec{static_cast<DType>(dtype), Dims(shape, shape + ndim)};
      inferred_count(spec.shape);
      specs_.push_back(std::move(spec));
      return 0;
    } catch (...) {
      return keep();
    }
  }

  int32_t refuse(int32_t kind, const char* text) {
    try {
      tensorlike::fail(kind_of_error(kind), said::op(name_), text);
    } catch (...) {
      return keep();
    }
  }

  const Op& op_;
  const std::string name_;
  std::vector<tl_attr> attrs_;
  SmallVector<tl_array, 6> arrays_;
  Workspace* workspace_ = nullptr;
  Specs specs_;
  bool is_inference_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

// Whether a dtype is of a declared category, as the Array API has them.
bool belongs(Kind kind, Category category) {
  switch (category) {
    case Category::kAll:
      return true;
    case Category::kNumeric:
      return kind != Kind::kBool;
    case Category::kRealNumeric:
      return kind == Kind::kInteger || kind == Kind::kFloating;
    case Category::kRealOrBoolean:
      return kind != Kind::kComplex;
    case Category::kFloating:
      return kind >= Kind::kFloating;
    case Category::kRealFloating:
      return kind == Kind::kFloating;
    case Category::kInteger:
      return kind == Kind::kInteger;
    case Category::kIntegerOrBoolean:
      return kind <= Kind::kInteger;
    case Category::kBoolean:
      break;
  }
  return kind == Kind::kBool;
}

const ArgSpec& arg_at(const Op& op, size_t i) {
  const std::vector<ArgSpec>& args = op.cls.spec.args;
  return args[std::min(i, args.size() - 1)];
}

// A kernel reads memory as what it was declared to hold: nothing else may get there.
void check_dtype(const Op& op, size_t i, DType dtype) {
  const ArgSpec& arg = arg_at(op, i);
  if (!belongs(kind_of(dtype), arg.category)) fail_category(op.name(), arg, dtype);
}

// Whether whole numbers may be given, since the launch makes numbers with fractions of them.
bool takes_whole(const Op& op, size_t i) {
  const Category category = arg_at(op, i).category;
  const bool is_floating = category == Category::kFloating || category == Category::kRealFloating;
  return is_floating && op.cls.spec.memory.computes_in != ComputesIn::kAsGiven;
}

}  // namespace

void run_of_library(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  for (size_t i = 0; i < inputs.size(); ++i) check_dtype(op, i, inputs[i]->dtype);
  const auto is_empty = [](const Array* out) { return out->count == 0; };
  if (std::all_of(outputs.begin(), outputs.end(), is_empty)) return;
  LibraryCall(op, inputs.size()).run(inputs, outputs, workspace);
}

Specs infer_of_library(const Op& op, std::span<const Spec> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_whole = kind_of(inputs[i].dtype) <= Kind::kInteger;
    if (!is_whole || !takes_whole(op, i)) check_dtype(op, i, inputs[i].dtype);
  }
  if (kernel_of(op).infer == nullptr) return infer_by_body(op, inputs);
  return LibraryCall(op, inputs.size()).infer(inputs);
}

}  // namespace tensorlike
