// Typed foreign functions (XLA's FFI): handlers that users compiled become functions of the registry of custom calls.
#ifndef XC_BACKENDS_FFI_FFI_H_
#define XC_BACKENDS_FFI_FFI_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/ffi/abi.h"

namespace xc::ffi {

// What handlers call: lives as long as the process.
const Api* GetApi();

// Makes `bundle.execute` the function of custom calls to `target`. `platform` is "Host" or "cpu", in any case of
// letters; handlers for other platforms are accepted and never called, as are those for targets that the compiler has
// itself (LAPACK): its own stand first. Errors: InvalidArgument for an empty name or no handler, Unimplemented for a
// handler of another version of the interface, AlreadyExists if the target has another handler. Thread-safe.
absl::Status RegisterHandler(absl::string_view target, absl::string_view platform, const HandlerBundle& bundle,
                             uint32_t traits = 0);
// The same for a handler of the last stage alone.
absl::Status RegisterHandler(absl::string_view target, absl::string_view platform, Handler* execute,
                             uint32_t traits = 0);

// Gives the type of that name a number, if *id is 0 and the name is new; otherwise its number must be *id, or *id is
// 0 and becomes it. `deleter`, which may be null, ends states of this type. InvalidArgument where numbers differ or
// another type has the number. Thread-safe.
absl::Status RegisterType(absl::string_view name, int64_t* id, void (*deleter)(void*));

}  // namespace xc::ffi

#endif  // XC_BACKENDS_FFI_FFI_H_
