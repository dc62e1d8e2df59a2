// Finds a library's kernels. How they are called is in library_call.cpp.
#include "tensor/library.h"

#include <dlfcn.h>

#include <exception>
#include <vector>

#include "native/tensorlike_native.h"
#include "tensor/library_call.h"

namespace tensorlike {
namespace {

constexpr const char* kEntry = "tensorlike_library";

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  fail(ErrorKind::kArgument, said::op("declare"), said::argument("library"), parts...);
}

void* open(const std::string& file) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  const char* const why = dlerror();
  refuse("must be a shared library that loads", said::got(why == nullptr ? file : why));
}

// What the library says of itself; its version is checked before anything else is read.
const tl_library& ask(const std::string& file) {
  void* const entry = dlsym(open(file), kEntry);
  if (entry == nullptr) {
    refuse("must export ", kEntry, said::got(file, ", which does not"),
           said::fix("list its kernels with TL_LIBRARY, of tensorlike_native.h"));
  }
  const tl_library* const library = reinterpret_cast<decltype(&tensorlike_library)>(entry)();
  if (library == nullptr) refuse("must list its kernels", said::got(file, ", which gives none"));
  if (library->abi_version != TENSORLIKE_ABI_VERSION) {
    refuse("must be built for version ", TENSORLIKE_ABI_VERSION, " of tensorlike_native.h",
           said::got(file, " of version ", library->abi_version),
           said::fix("build it again, with the header in tensorlike.native_include()"));
  }
  if (library->kernels == nullptr)
    refuse("must list its kernels", said::got(file, ", which has no list"));
  return *library;
}

const tl_kernel& find(const tl_library& library, const OpSpec& spec, const std::string& file) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < library.kernel_count; ++i) {
    const tl_kernel& kernel = library.kernels[i];
    if (kernel.name == nullptr || kernel.run == nullptr) continue;
    if (kernel.name == spec.kernel) return kernel;
    names.emplace_back(kernel.name);
  }
  std::string all;
  for (const std::string_view name : names) all += text(all.empty() ? "" : ", ", name);
  fail(ErrorKind::kArgument, said::op("declare"), said::argument("library"),
       "must have the kernel '", spec.kernel, "' of ", spec.name,
       said::got(file, " with ", all.empty() ? "none" : all),
       said::fix("name one of them: kernel: {cpu: name}"));
}

}  // namespace

OwnRules library_rules(const OpSpec& spec, const std::string& file) {
  const tl_kernel& kernel = find(ask(file), spec, file);
  if (kernel.infer == nullptr && spec.define->results.empty()) {
    refuse("must infer what ", spec.name, " gives, since no body says it",
           said::got(file, " whose kernel '", spec.kernel, "' has no inference"),
           said::fix("list one beside the kernel, or write `define`"));
  }
  // Of static storage in a library that is never closed.
  return {KernelRule(run_of_library), infer_of_library,
          std::shared_ptr<const void>(std::shared_ptr<const void>(), &kernel)};
}

}  // namespace tensorlike
