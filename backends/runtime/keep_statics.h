// Static objects of a library that was opened, at the end of the process.
#ifndef XC_BACKENDS_RUNTIME_KEEP_STATICS_H_
#define XC_BACKENDS_RUNTIME_KEEP_STATICS_H_

namespace xc {

// From now on, static objects that functions of the library (a handle of dlopen, which stays open) make when they first
// run are not destroyed at the end of the process, when a thread may still use them; the system takes the memory back
// anyway. False: its relocations are not as they are known, and nothing has changed.
bool KeepStatics(void* library);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_KEEP_STATICS_H_
