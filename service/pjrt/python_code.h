// Runs code in the Python of this process, if it has one.
#ifndef XC_SERVICE_PJRT_PYTHON_CODE_H_
#define XC_SERVICE_PJRT_PYTHON_CODE_H_

#include <initializer_list>
#include <string>

namespace xc::pjrt {

// Runs `code`, in which the last "%s" stand for the addresses, in their order. Nothing happens in a process without
// Python; what the code raises is printed on stderr.
void RunInPython(std::string code, std::initializer_list<const void*> addresses);

// Whether the calling thread holds the lock of such a process's Python.
bool HoldsPythonLock();

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_PYTHON_CODE_H_
