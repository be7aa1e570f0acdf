// Functions that are compiled for several instruction sets, of which the processor chooses one when the library is
// loaded.
#ifndef XC_BACKENDS_RUNTIME_CLONES_H_
#define XC_BACKENDS_RUNTIME_CLONES_H_

// Sanitizers' runtimes are not there yet when the choice is made.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XC_CLONES
#else
#define XC_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

#endif  // XC_BACKENDS_RUNTIME_CLONES_H_
