// `xla --version`.
#ifndef XC_TOOLS_VERSION_H_
#define XC_TOOLS_VERSION_H_

namespace xc {

// Reports version, commit, LLVM and the processor that code is made for.
void ReportVersion();

}  // namespace xc

#endif  // XC_TOOLS_VERSION_H_
