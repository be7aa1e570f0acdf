// Which builds of TensorFlow are known by what is in them, whatever they call themselves.
#ifndef XC_JIT_TENSORFLOW_KNOWN_BUILD_H_
#define XC_JIT_TENSORFLOW_KNOWN_BUILD_H_

#include <cstdint>

namespace xc_tensorflow {

// A number for the build of the loaded library in which `address` lies, from its segments and its table of symbols with
// their addresses and sizes: TensorFlow's libraries carry no build id. 0 if the address is in none. It is what
// build_fingerprint.py prints for the file.
uint64_t BuildFingerprint(const void* address);

// Whether what is done here beyond TensorFlow's interfaces was tested with the build of this fingerprint.
bool IsKnownBuild(uint64_t fingerprint);

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_KNOWN_BUILD_H_
