// The table of functions by which programs such as JAX use a PJRT plugin.
#ifndef XC_SERVICE_PJRT_API_H_
#define XC_SERVICE_PJRT_API_H_

#include "service/pjrt/api_buffer_args.h"
#include "service/pjrt/api_client_args.h"
#include "service/pjrt/api_executable_args.h"
#include "service/pjrt/api_types.h"

namespace xc::pjrt {

// Every function returns null or an error that the caller frees, but for the first two of the table, whose callers
// ignore what they return.
#define XC_PJRT_CALL(name) Error* name(name##_Args* args);
#define XC_PJRT_NONE(name)
#include "service/pjrt/functions.def"
#undef XC_PJRT_CALL
#undef XC_PJRT_NONE

struct Api {
  size_t struct_size;
  ExtensionBase* extension_start;
  ApiVersion version;
#define XC_PJRT_CALL(name) Error* (*name)(name##_Args*);
#define XC_PJRT_NONE(name) Error* (*name)(void*);
#include "service/pjrt/functions.def"
#undef XC_PJRT_CALL
#undef XC_PJRT_NONE
};

// The table, for the process.
const Api* GetApi();

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_API_H_
