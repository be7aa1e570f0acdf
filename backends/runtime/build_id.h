// Tells builds of programs and libraries apart, by the identity that the linker wrote into them.
#ifndef XC_BACKENDS_RUNTIME_BUILD_ID_H_
#define XC_BACKENDS_RUNTIME_BUILD_ID_H_

#include <string>

namespace xc {

// The GNU build id, as hexadecimal digits, of the loaded program or library that `address` lies in; empty if it has
// none.
std::string BuildId(const void* address);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_BUILD_ID_H_
