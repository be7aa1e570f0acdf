// For tests: libraries that pass for cuBLASLt, of versions that are not known and one that lacks most functions.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) size_t cublasLtGetVersion() { return XC_CUBLASLT_VERSION; }
