// The build id that the linker writes into a library: the same in each copy of one build.
#ifndef XC_JIT_TENSORFLOW_BUILD_ID_H_
#define XC_JIT_TENSORFLOW_BUILD_ID_H_

#include <string>

namespace xc_tensorflow {

// The id's bytes; "" for a file that is not there, is no library of this machine, or has none.
std::string BuildId(const std::string& path);

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_BUILD_ID_H_
