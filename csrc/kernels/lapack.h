// LAPACK, loaded at run time: a table of its routines for each of the four element types that it
// knows. The library is a dependency of the embedder's (Python's package scipy-openblas32), and
// programs that solve nothing never load it.
//
// The routines are Fortran's: all arguments are pointers, integers have 32 bits, matrices lie
// column by column, and the lengths of the character arguments follow behind.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "base/complex.h"

namespace tensorlike {

// Finds the library's file for whoever embeds the core; an empty name where there is none. The
// environment variable TENSORLIKE_LAPACK comes before it; after it, libscipy_openblas beside
// libtensorlike, and in the package scipy-openblas32 that pip installs next to ours.
using FindLapack = std::string (*)();
inline FindLapack find_lapack = nullptr;

template <class T>
struct Lapack {
  using R = Real<T>;
  template <class OfReal, class OfComplex>
  using Choice = std::conditional_t<is_complex<T>, OfComplex, OfReal>;

  // Cholesky factors.
  void (*potrf)(const char* uplo, const int* n, T* a, const int* lda, int* info, size_t);
  // LU factors, and equations with triangles.
  void (*getrf)(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
  void (*getri)(const int* n, T* a, const int* lda, const int* pivots, T* work, const int* lwork,
                int* info);
  void (*trsm)(const char* side, const char* uplo, const char* trans, const char* diag,
               const int* m, const int* n, const T* alpha, const T* a, const int* lda, T* b,
               const int* ldb, size_t, size_t, size_t, size_t);
  void (*gemm)(const char* transa, const char* transb, const int* m, const int* n, const int* k,
               const T* alpha, const T* a, const int* lda, const T* b, const int* ldb,
               const T* beta, T* c, const int* ldc, size_t, size_t);
  // QR factors as reflections, and Q made of them.
  void (*geqrf)(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork,
                int* info);
  void (*orgqr)(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau,
                T* work, const int* lwork, int* info);
  // Singular values.
  Choice<void (*)(const char* job, const int* m, const int* n, T* a, const int* lda, R* s, T* u,
                  const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, int* iwork,
                  int* info, size_t),
         void (*)(const char* job, const int* m, const int* n, T* a, const int* lda, R* s, T* u,
                  const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, R* rwork,
                  int* iwork, int* info, size_t)>
      gesdd;
  // Eigenvalues of Hermitian matrices, and of any.
  Choice<void (*)(const char* job, const char* uplo, const int* n, T* a, const int* lda, R* w,
                  T* work, const int* lwork, int* iwork, const int* liwork, int* info, size_t,
                  size_t),
         void (*)(const char* job, const char* uplo, const int* n, T* a, const int* lda, R* w,
                  T* work, const int* lwork, R* rwork, const int* lrwork, int* iwork,
                  const int* liwork, int* info, size_t, size_t)>
      heevd;
  Choice<void (*)(const char* left, const char* right, const int* n, T* a, const int* lda, R* re,
                  R* im, T* vl, const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork,
                  int* info, size_t, size_t),
         void (*)(const char* left, const char* right, const int* n, T* a, const int* lda, T* w,
                  T* vl, const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork,
                  R* rwork, int* info, size_t, size_t)>
      geev;
  // Least squares by singular values.
  Choice<void (*)(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b,
                  const int* ldb, R* s, const R* rcond, int* rank, T* work, const int* lwork,
                  int* iwork, int* info),
         void (*)(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b,
                  const int* ldb, R* s, const R* rcond, int* rank, T* work, const int* lwork,
                  R* rwork, int* iwork, int* info)>
      gelsd;
};

// The routines for T, which is float, double or a complex number of one of them. Loads the library
// the first time; `op` asks, and is named where there is none: ErrorKind::kDispatch.
template <class T>
const Lapack<T>& lapack(const std::string& op);

}  // namespace tensorlike
