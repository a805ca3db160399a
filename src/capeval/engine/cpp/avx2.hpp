// Loops that are compiled twice: for every machine, and for x86 processors with AVX2.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define CAPEVAL_X86 1
#define CAPEVAL_AVX2 __attribute__((target("avx2")))
#define CAPEVAL_INLINE inline __attribute__((always_inline))
#else
#define CAPEVAL_X86 0
#define CAPEVAL_INLINE inline
#endif

namespace capeval {

inline bool has_avx2() {
#if CAPEVAL_X86
    static const bool found = __builtin_cpu_supports("avx2");
    return found;
#else
    return false;
#endif
}

}  // namespace capeval
