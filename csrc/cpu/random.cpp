// Random draws: the elements are split over the pool; each knows its number, so the split changes
// nothing.
#include <algorithm>
#include <limits>

#include "base/blocking.h"
#include "base/philox.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "kernels/kernel_table.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kRandomGrain = 16384;

RandomStream stream_of(const Op& op) {
  return {static_cast<uint64_t>(op.get<int64_t>("key")),
          static_cast<uint32_t>(op.get<int64_t>("counter"))};
}

// Fills `out`, drawing in `dtype`: `draw(part, n, first)` makes n elements from the first on.
template <class Draw>
void draw_into(const Array& out, DType dtype, Workspace& workspace, Draw&& draw) {
  write_as(out, dtype, workspace, [&](const Array& drawn) {
    const int64_t width = static_cast<int64_t>(size_of(dtype));
    BlockingRegion blocking(drawn.count > kRandomGrain);
    parallel_for(drawn.count, kRandomGrain, [&](int64_t begin, int64_t end) {
      draw(static_cast<void*>(drawn.data + begin * width), end - begin, begin);
    });
  });
}

// The bits of a float's fraction, its leading one included: as many as numbers below 1 can have
// without being rounded to 1.
int precision_of(DType dtype) {
  if (dtype == DType::kFloat64) return 53;
  if (dtype == DType::kFloat32) return 24;
  return dtype == DType::kFloat16 ? 11 : 8;
}

double bound_of(const Op& op, const char* name) {
  const Attr& attr = op.attr(name);
  const auto* whole = std::get_if<int64_t>(&attr);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(attr);
}

void draw_floats(const Op& op, const std::string& mode, const Array& out, Workspace& workspace) {
  const RandomStream stream = stream_of(op);
  const DType dtype = mode == "truncated_normal" ? DType::kFloat64 : compute_of(out.dtype);
  const RandomKernels& kernels = kernel_table().random[dtype];
  if (mode == "truncated_normal") {
    const double low = bound_of(op, "low");
    const double high = bound_of(op, "high");
    draw_into(out, dtype, workspace, [&](void* part, int64_t n, int64_t first) {
      kernels.truncated_normal(static_cast<double*>(part), n, stream, first, low, high);
    });
    return;
  }
  if (mode == "normal") {
    draw_into(out, dtype, workspace, [&](void* part, int64_t n, int64_t first) {
      kernels.normal(part, n, stream, first);
    });
    return;
  }
  const int bits = precision_of(out.dtype);
  draw_into(out, dtype, workspace, [&](void* part, int64_t n, int64_t first) {
    kernels.uniform(part, n, stream, first, bits);
  });
}

void draw_integers(const Op& op, const Array& out, Workspace& workspace) {
  const RandomStream stream = stream_of(op);
  const int64_t low = std::get<int64_t>(op.attr("low"));
  const int64_t high = std::get<int64_t>(op.attr("high"));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const RandomKernels& kernels = kernel_table().random[DType::kInt64];
  draw_into(out, DType::kInt64, workspace, [&](void* part, int64_t n, int64_t first) {
    kernels.integers(static_cast<int64_t*>(part), n, stream, first, low, range);
  });
}

void draw_bits(const Op& op, const Array& out, Workspace& workspace) {
  const RandomStream stream = stream_of(op);
  const DType dtype = size_of(out.dtype) == 8 ? DType::kUInt64 : DType::kUInt32;
  const RandomKernels& kernels = kernel_table().random[dtype];
  draw_into(out, dtype, workspace,
            [&](void* part, int64_t n, int64_t first) { kernels.bits(part, n, stream, first); });
}

// An integer in [0, range), range < 2^32, each as likely as the others (see `integers`): the high
// word of a product, whose word is drawn again, as attempt after attempt of this element, where the
// low one is among those refused.
uint64_t bounded(uint32_t word, uint64_t range, RandomStream stream, int64_t element) {
  uint64_t product = word * range;
  if (static_cast<uint32_t>(product) < range) {
    const uint32_t refused = static_cast<uint32_t>((uint64_t{1} << 32) % range);
    for (uint32_t attempt = 1; static_cast<uint32_t>(product) < refused; ++attempt) {
      const auto at = static_cast<uint64_t>(element);
      product = philox(stream.key, at, attempt, stream.counter).word[0] * range;
    }
  }
  return product >> 32;
}

// Durstenfeld 1964, "Algorithm 235: random permutation", from the other end: what is next takes the
// place of one of those before, which goes to the end.
void shuffled(int64_t* order, int64_t n, RandomStream stream, int64_t first) {
  constexpr int64_t kDrawn = 256;
  uint32_t words[kDrawn];
  const RandomKernels& kernels = kernel_table().random[DType::kUInt32];
  for (int64_t begin = 0; begin < n; begin += kDrawn) {
    const int64_t end = std::min(n, begin + kDrawn);
    kernels.bits(words, end - begin, stream, first + begin);
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t j = bounded(words[i - begin], static_cast<uint64_t>(i + 1), stream, first + i);
      order[i] = order[j];
      order[j] = i;
    }
  }
}

void draw_orders(const Op& op, const Array& out, Workspace& workspace) {
  const RandomStream stream = stream_of(op);
  const int64_t n = out.shape[out.shape.size() - 1];
  if (n > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("shape"),
         "must end with less than 2^32 for mode='orders'", said::got(n));
  }
  write_as(out, DType::kInt64, workspace, [&](const Array& drawn) {
    if (n == 0) return;
    parallel_for(drawn.count / n, std::max<int64_t>(1, kRandomGrain / n),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) {
                     shuffled(drawn.as<int64_t>() + row * n, n, stream, row * n);
                   }
                 });
  });
}

void random(const Op& op, Arrays, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const std::string& mode = op.get<std::string>("mode");
  if (mode == "integers") {
    draw_integers(op, out, workspace);
  } else if (mode == "bits") {
    draw_bits(op, out, workspace);
  } else if (mode == "orders") {
    draw_orders(op, out, workspace);
  } else {
    draw_floats(op, mode, out, workspace);
  }
}

// The first parameter that has no distribution, or whose numbers would not fit into integers.
void check_parameters(const Op& op, const Array& given, bool is_rate) {
  const double most = is_rate ? 0x1p62 : std::numeric_limits<double>::infinity();
  const double* parameter = given.as<double>();
  for (int64_t i = 0; i < given.size(); ++i) {
    if (parameter[i] >= 0 && parameter[i] <= most) continue;
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("parameter"),
         "must not be negative", is_rate ? ", NaN or above 2^62" : " or NaN",
         said::got(parameter[i], " at element ", i));
  }
}

void random_from(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const RandomStream stream = stream_of(op);
  const std::string& mode = op.get<std::string>("mode");
  const Array given = prepared(*inputs[0], DType::kFloat64, workspace);
  check_parameters(op, given, mode == "poisson");
  const double* parameter = given.as<double>();
  const RandomKernels& kernels = kernel_table().random[DType::kFloat64];
  draw_into(*outputs[0], DType::kFloat64, workspace, [&](void* part, int64_t n, int64_t first) {
    double* y = static_cast<double*>(part);
    if (mode == "poisson") {
      kernels.poisson(y, parameter + first, n, stream, first);
    } else {
      kernels.gamma(y, parameter + first, n, stream, first, mode == "log_gamma");
    }
  });
}

constexpr std::pair<std::string_view, KernelRule> kRandomKernels[] = {
    {"random", random},
    {"random_from", random_from},
};

}  // namespace

RuleTable<KernelRule> random_kernels() { return kRandomKernels; }

}  // namespace tensorlike
