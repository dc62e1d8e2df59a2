// Finds the LAPACK library and fills the tables of its routines.
#include "kernels/lapack.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "base/error.h"

namespace tensorlike {
namespace {

// The library, or why there is none. It is opened once and never closed.
struct Library {
  void* handle = nullptr;
  std::string file;
  std::string problem;
};

// OpenBLAS's builds for SciPy put a prefix before all names, so that they meet no other build's.
void* find_symbol(void* handle, const std::string& name) {
  if (void* found = dlsym(handle, ("scipy_" + name).c_str())) return found;
  return dlsym(handle, name.c_str());
}

// The package scipy-openblas32 as pip installs it next to ours, or its library beside this one.
std::string installed_library() {
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&find_symbol), &here) == 0) return {};
  const std::filesystem::path folder =
      std::filesystem::absolute(std::filesystem::path(here.dli_fname)).parent_path();
  for (const char* name : {"libscipy_openblas.so", "libscipy_openblas.dylib"}) {
    for (const char* place : {"", "../../scipy_openblas32/lib"}) {
      std::error_code error;
      const std::filesystem::path file = folder / place / name;
      if (std::filesystem::exists(file, error)) return file.string();
    }
  }
  return {};
}

Library open_library() {
  Library library;
  if (const char* named = std::getenv("TENSORLIKE_LAPACK")) {
    library.file = named;
  } else if (find_lapack != nullptr) {
    library.file = find_lapack();
  }
  if (library.file.empty()) library.file = installed_library();
  if (library.file.empty()) {
    library.problem = "none was found";
    return library;
  }
  library.handle = dlopen(library.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    const char* why = dlerror();
    library.problem = text("it could not be loaded (", why == nullptr ? "?" : why, ")");
  }
  return library;
}

void* library_handle(const std::string& op) {
  static std::mutex mutex;
  static Library library;
  const std::lock_guard lock(mutex);
  if (library.handle == nullptr) {  // tried again each time, since it may have been installed
    library = open_library();
    if (library.handle == nullptr) {
      fail(ErrorKind::kDispatch, said::op(op), "needs a LAPACK library; ", library.problem,
           "; install one: pip install scipy-openblas32, or name its file by TENSORLIKE_LAPACK.");
    }
    // Batches are shared out over our own threads, which the library's would get in the way of.
    if (void* set = find_symbol(library.handle, "openblas_set_num_threads")) {
      reinterpret_cast<void (*)(int)>(set)(1);
    }
  }
  return library.handle;
}

template <class T>
constexpr char kLetter = 'd';
template <>
constexpr char kLetter<float> = 's';
template <>
constexpr char kLetter<Complex<float>> = 'c';
template <>
constexpr char kLetter<Complex<double>> = 'z';

template <class T>
Lapack<T> load(const std::string& op) {
  void* const handle = library_handle(op);
  auto set = [&](auto& routine, const char* of_real, const char* of_complex) {
    const std::string name = text(kLetter<T>, is_complex<T> ? of_complex : of_real, "_");
    void* const found = find_symbol(handle, name);
    if (found == nullptr) {
      fail(ErrorKind::kDispatch, said::op(op), "needs the LAPACK routine ", name,
           "; the library that was loaded has none; install one: pip install scipy-openblas32.");
    }
    routine = reinterpret_cast<std::remove_reference_t<decltype(routine)>>(found);
  };
  Lapack<T> table;
  set(table.potrf, "potrf", "potrf");
  set(table.getrf, "getrf", "getrf");
  set(table.getri, "getri", "getri");
  set(table.trsm, "trsm", "trsm");
  set(table.gemm, "gemm", "gemm");
  set(table.geqrf, "geqrf", "geqrf");
  set(table.orgqr, "orgqr", "ungqr");
  set(table.gesdd, "gesdd", "gesdd");
  set(table.heevd, "syevd", "heevd");
  set(table.geev, "geev", "geev");
  set(table.gelsd, "gelsd", "gelsd");
  return table;
}

}  // namespace

template <class T>
const Lapack<T>& lapack(const std::string& op) {
  static const Lapack<T> table = load<T>(op);  // a failed load is tried again
  return table;
}

template const Lapack<float>& lapack(const std::string& op);
template const Lapack<double>& lapack(const std::string& op);
template const Lapack<Complex<float>>& lapack(const std::string& op);
template const Lapack<Complex<double>>& lapack(const std::string& op);

}  // namespace tensorlike
