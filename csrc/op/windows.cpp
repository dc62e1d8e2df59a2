#include "op/windows.h"

#include <algorithm>
#include <limits>

namespace tensorlike {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// Of numbers that are not negative; kHuge stands for everything that is larger.
int64_t sum(int64_t a, int64_t b) { return a > kHuge - b ? kHuge : a + b; }
int64_t product(int64_t a, int64_t b) { return b != 0 && a > kHuge / b ? kHuge : a * b; }

using Ints = std::vector<int64_t>;

// How the attributes of one op are read: spatial dimension i of n stands at 3 - n + i of a Window.
struct Reader {
  const Op& op;
  int n;

  Reader(const Op& op_, const Dims& x, const char* name) : op(op_), n(0) {
    const int64_t ndim = static_cast<int64_t>(x.size());
    const int64_t wanted = op.cls.attr_index("spatial") < 0 ? 0 : op.get<int64_t>("spatial");
    if (wanted < 0 || wanted > Window::kDims) {
      fail(ErrorKind::kShape, said::op(op.name()), said::argument("spatial"),
           "must be 1, 2 or 3, or 0 for what ", name, " has", said::got("spatial=", wanted));
    }
    if (wanted != 0 && ndim != wanted + 2) {
      fail(ErrorKind::kShape, said::op(op.name()), said::argument(name), "must have ", wanted + 2,
           " dimensions: images, channels and ", wanted, " spatial",
           said::got(name, ".shape=", to_string(x)),
           said::fix("a single image needs a first dimension of 1"));
    }
    if (ndim < 3 || ndim > Window::kDims + 2) {
      fail(ErrorKind::kShape, said::op(op.name()), said::argument(name),
           "must have 3 to 5 dimensions: images, channels and 1 to 3 spatial",
           said::got(name, ".shape=", to_string(x)));
    }
    n = static_cast<int>(ndim) - 2;
  }

  int64_t* dims(int64_t (&values)[Window::kDims]) const { return values + Window::kDims - n; }

  void set_shape(int64_t (&to)[Window::kDims], const Dims& shape) const {
    std::copy(shape.begin() + 2, shape.end(), dims(to));
  }

  [[noreturn]] void refuse(const char* name, const char* what) const {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument(name), "must be ", what,
         said::got(name, "=", to_string(op.attr(name))));
  }

  // One number for all dimensions, or one for each.
  void read(const char* name, const Ints& given, int64_t minimum,
            int64_t (&to)[Window::kDims]) const {
    if (given.size() != 1 && given.size() != static_cast<size_t>(n)) {
      fail(ErrorKind::kShape, said::op(op.name()), said::argument(name),
           "must be one number, or one for each of ", n, " spatial dimensions",
           said::got(name, "=", to_string(op.attr(name))));
    }
    for (int i = 0; i < n; ++i) {
      const int64_t value = given[given.size() == 1 ? 0 : static_cast<size_t>(i)];
      if (value < minimum) refuse(name, minimum == 0 ? "0 or more" : "positive");
      dims(to)[i] = value;
    }
  }
  void read(const char* name, int64_t minimum, int64_t (&to)[Window::kDims]) const {
    read(name, op.get<Ints>(name), minimum, to);
  }

  const Ints* optional(const char* name) const { return std::get_if<Ints>(&op.attr(name)); }
};

int64_t reach(const Window& w, int d) { return sum(product(w.kernel[d] - 1, w.dilation[d]), 1); }

// Sets the padding in front; what stands behind goes to `after`.
void read_padding(const Reader& reader, Window& w, int64_t (&after)[Window::kDims]) {
  const Attr& given = reader.op.attr("padding");
  const auto* word = std::get_if<std::string>(&given);
  if (word == nullptr) {
    reader.read("padding", 0, w.before);
    std::copy_n(w.before, Window::kDims, after);
    return;
  }
  if (*word == "valid") return;
  if (*word != "same") reader.refuse("padding", "\"same\", \"valid\" or numbers");
  for (int d = 0; d < Window::kDims; ++d) {
    if (w.stride[d] != 1) reader.refuse("padding", "a number where the stride is not 1");
    const int64_t total = product(w.kernel[d] - 1, w.dilation[d]);
    w.before[d] = total / 2;
    after[d] = total - total / 2;
  }
}

void set_outputs(const Reader& reader, Window& w, const int64_t (&after)[Window::kDims]) {
  for (int d = 0; d < Window::kDims; ++d) {
    const int64_t padded = sum(sum(w.in[d], w.before[d]), after[d]);
    if (padded == kHuge) reader.refuse("padding", "smaller, so that sizes fit 64 bits");
    if (reach(w, d) > padded) {
      fail(ErrorKind::kShape, said::op(reader.op.name()), "the kernel must fit into the padded x",
           said::got("a kernel that reaches over ", reach(w, d), " elements of ", padded,
                     " in spatial dimension ", d - Window::kDims + reader.n));
    }
    w.out[d] = (padded - reach(w, d)) / w.stride[d] + 1;
  }
}

// Reads what follows from the kernel: stride, dilation and padding.
void read_window(const Reader& reader, Window& w, int64_t (&after)[Window::kDims]) {
  reader.read("stride", 1, w.stride);
  reader.read("dilation", 1, w.dilation);
  read_padding(reader, w, after);
}

int64_t read_groups(const Op& op) {
  const int64_t groups = op.get<int64_t>("groups");
  if (groups < 1) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("groups"), "must be positive",
         said::got("groups=", groups));
  }
  return groups;
}

void check_groups(const Op& op, const char* what, int64_t channels, int64_t groups) {
  if (channels % groups == 0) return;
  fail(ErrorKind::kShape, said::op(op.name()), said::argument("groups"), "must divide ", what,
       said::got(channels, " channels in ", groups, " groups"));
}

[[noreturn]] void fail_weight(const Op& op, const Dims& x, const Dims& weight, const char* rule) {
  fail(ErrorKind::kShape, said::op(op.name()), "weight.shape must be ", rule,
       said::got("x.shape=", to_string(x), ", weight.shape=", to_string(weight),
                 ", groups=", op.get<int64_t>("groups")));
}

void read_kernel(const Reader& reader, const Dims& weight, Window& w) {
  reader.set_shape(w.kernel, weight);
  for (int64_t size : w.kernel) {
    if (size > 0) continue;
    fail(ErrorKind::kShape, said::op(reader.op.name()), "the kernel must have elements",
         said::got("weight.shape=", to_string(weight)));
  }
}

}  // namespace

Convolution convolution_of(const Op& op, const Dims& x, const Dims& weight) {
  const Reader reader(op, x, "x");
  Convolution c;
  c.images = x[0];
  c.groups = read_groups(op);
  check_groups(op, "the channels of x", x[1], c.groups);
  c.in_channels = x[1] / c.groups;
  if (weight.size() != x.size() || weight[1] != c.in_channels) {
    fail_weight(op, x, weight, "(channels of the result, x.shape[1] / groups, *kernel)");
  }
  check_groups(op, "weight.shape[0]", weight[0], c.groups);
  c.out_channels = weight[0] / c.groups;
  reader.set_shape(c.window.in, x);
  read_kernel(reader, weight, c.window);
  int64_t after[Window::kDims] = {};
  read_window(reader, c.window, after);
  set_outputs(reader, c.window, after);
  return c;
}

namespace {

// How large the result of a transpose is: what its windows reach over, more where that is asked
// for, and less what is cut off on both sides.
void set_transposed(const Reader& reader, Window& w, const int64_t (&after)[Window::kDims]) {
  const Ints* const sizes = reader.optional("output_size");
  int64_t extra[Window::kDims] = {};
  reader.read("output_padding", 0, extra);
  if (sizes != nullptr) reader.read("output_size", *sizes, 1, w.in);
  for (int d = 0; d < Window::kDims; ++d) {
    const int64_t most = sizes != nullptr ? w.stride[d] : std::max(w.stride[d], w.dilation[d]);
    if (sizes != nullptr && extra[d] != 0) {
      reader.refuse("output_padding", "left out where output_size is given");
    }
    if (extra[d] >= most) reader.refuse("output_padding", "less than the stride or the dilation");
    const int64_t whole = sum(sum(product(w.out[d] - 1, w.stride[d]), reach(w, d)), extra[d]);
    const int64_t cut = sum(w.before[d], after[d]);
    if (whole == kHuge) reader.refuse("stride", "smaller, so that sizes fit 64 bits");
    if (sizes == nullptr) {
      if (cut >= whole) reader.refuse("padding", "less, so that something is left of the result");
      w.in[d] = whole - cut;
    } else if (w.in[d] < whole - cut || w.in[d] - (whole - cut) >= most) {
      fail(ErrorKind::kShape, said::op(reader.op.name()), said::argument("output_size"),
           "must be from ", whole - cut, " to ", whole - cut + most - 1, " in spatial dimension ",
           d - Window::kDims + reader.n, said::got(w.in[d]));
    }
  }
}

}  // namespace

Convolution transposed_convolution_of(const Op& op, const Dims& x, const Dims& weight) {
  const Reader reader(op, x, "x");
  Convolution c;
  c.images = x[0];
  c.groups = read_groups(op);
  check_groups(op, "the channels of x", x[1], c.groups);
  c.out_channels = x[1] / c.groups;
  if (weight.size() != x.size() || weight[0] != x[1]) {
    fail_weight(op, x, weight, "(x.shape[1], channels of the result / groups, *kernel)");
  }
  c.in_channels = weight[1];
  Window& w = c.window;
  reader.set_shape(w.out, x);
  read_kernel(reader, weight, w);
  int64_t after[Window::kDims] = {};
  read_window(reader, w, after);
  for (int64_t size : w.out) {
    if (size > 0) continue;
    fail(ErrorKind::kShape, said::op(op.name()), "the spatial dimensions of x must not be empty",
         said::got("x.shape=", to_string(x)));
  }
  set_transposed(reader, w, after);
  return c;
}

Convolution weight_convolution_of(const Op& op, const Dims& x, const Dims& gradient) {
  const Reader reader(op, x, "x");
  Convolution c;
  c.images = x[0];
  c.groups = read_groups(op);
  check_groups(op, "the channels of x", x[1], c.groups);
  c.in_channels = x[1] / c.groups;
  reader.set_shape(c.window.in, x);
  reader.read("kernel", 1, c.window.kernel);
  int64_t after[Window::kDims] = {};
  read_window(reader, c.window, after);
  set_outputs(reader, c.window, after);
  Dims wanted = x;
  if (gradient.size() == x.size()) wanted[1] = gradient[1];
  std::copy_n(reader.dims(c.window.out), reader.n, wanted.begin() + 2);
  if (!(gradient == wanted)) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("gradient"),
         "must have the shape of the convolution's result, whose images and spatial dimensions are "
         "those of ",
         to_string(wanted), said::got("gradient.shape=", to_string(gradient)));
  }
  check_groups(op, "the channels of gradient", gradient[1], c.groups);
  c.out_channels = gradient[1] / c.groups;
  return c;
}

namespace {

// Windows that cut each dimension into out parts.
void read_adaptive(const Reader& reader, const Ints& sizes, Pooling& p) {
  PoolWindow& w = p.window;
  reader.read("output_size", sizes, 1, w.out);
  for (int d = 0; d < Window::kDims; ++d) {
    if (w.in[d] % w.out[d] != 0) {
      w.is_irregular = true;
      continue;
    }
    w.kernel[d] = w.stride[d] = w.in[d] / w.out[d];
  }
}

void read_sliding(const Reader& reader, const Ints& sizes, Pooling& p) {
  PoolWindow& w = p.window;
  const Op& op = reader.op;
  reader.read("kernel_size", sizes, 1, w.kernel);
  const Ints* stride = reader.optional("stride");
  reader.read("stride", stride != nullptr ? *stride : sizes, 1, w.stride);
  reader.read("padding", 0, w.before);
  if (op.cls.attr_index("dilation") >= 0) reader.read("dilation", 1, w.dilation);
  const bool is_ceil = op.get<bool>("ceil_mode");
  for (int d = 0; d < Window::kDims; ++d) {
    if (w.before[d] > reach(w, d) / 2) reader.refuse("padding", "at most half of the window");
    const int64_t padded = sum(sum(w.in[d], w.before[d]), w.before[d]);
    const int64_t more = is_ceil ? w.stride[d] - 1 : 0;
    if (sum(padded, more) == kHuge) reader.refuse("stride", "smaller, so that sizes fit 64 bits");
    if (reach(w, d) > padded + more) {
      fail(ErrorKind::kShape, said::op(op.name()), "the window must fit into the padded x",
           said::got("a window that reaches over ", reach(w, d), " elements of ", padded,
                     " in spatial dimension ", d - Window::kDims + reader.n));
    }
    w.out[d] = (padded + more - reach(w, d)) / w.stride[d] + 1;
    // A last window must begin within x or the padding in front of it.
    if (w.out[d] > 1 && (w.out[d] - 1) * w.stride[d] >= w.in[d] + w.before[d]) --w.out[d];
  }
}

// The number that sums are divided by; 0 where none is given, and they are divided by the number of
// elements in the window.
int64_t divisor_of(const Op& op) {
  const Attr& given = op.attr("divisor_override");
  if (std::holds_alternative<Nothing>(given)) return 0;
  const int64_t* divisor = std::get_if<int64_t>(&given);
  if (divisor == nullptr || *divisor == 0) {
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("divisor_override"),
         "must be an integer other than 0", said::got(to_string(given)),
         said::fix("leave it out to divide by the elements that count"));
  }
  return *divisor;
}

}  // namespace

Pooling pooling_of(const Op& op, const Dims& x) {
  const Reader reader(op, x, "x");
  Pooling p;
  reader.set_shape(p.window.in, x);
  for (int64_t size : p.window.in) {
    if (size > 0) continue;
    fail(ErrorKind::kShape, said::op(op.name()), "the spatial dimensions of x must not be empty",
         said::got("x.shape=", to_string(x)));
  }
  const Ints* kernel = reader.optional("kernel_size");
  const Ints* output = reader.optional("output_size");
  if ((kernel == nullptr) == (output == nullptr)) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("kernel_size"),
         "must be given, or output_size, but not both",
         said::got("kernel_size=", to_string(op.attr("kernel_size")),
                   ", output_size=", to_string(op.attr("output_size"))));
  }
  if (output != nullptr) {
    read_adaptive(reader, *output, p);
  } else {
    read_sliding(reader, *kernel, p);
  }
  if (op.cls.attr_index("count_include_pad") >= 0) {
    p.window.counts_padding = op.get<bool>("count_include_pad");
    p.window.divisor = divisor_of(op);
  }
  p.shape = x;
  std::copy_n(reader.dims(p.window.out), reader.n, p.shape.begin() + 2);
  p.planes = x[0] * x[1];
  return p;
}

}  // namespace tensorlike
