// Loops that are compiled twice: for every machine, and for x86 processors with AVX2.
#pragma once

#include <cstdlib>
#include <string_view>

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

// The only place that decides which of the two runs. CAPEVAL_SIMD=off, which is read once, lets a machine with AVX2 test
// what the others run; the Python side refuses other words.
inline bool has_avx2() {
#if CAPEVAL_X86
    static const bool found = [] {
        const char* wish = std::getenv("CAPEVAL_SIMD");
        const bool is_off = wish != nullptr && std::string_view(wish) == "off";
        return !is_off && __builtin_cpu_supports("avx2");
    }();
    return found;
#else
    return false;
#endif
}

}  // namespace capeval
