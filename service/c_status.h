// xc_status, for the files that implement parts of the C API.
#ifndef XC_SERVICE_C_STATUS_H_
#define XC_SERVICE_C_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "service/xc.h"

struct xc_status {
  int code;
  std::string message;
};

namespace xc {
// Null for OK; otherwise an object that the caller frees with xc_status_free.
xc_status* ToCStatus(const absl::Status& status);
}  // namespace xc

#endif  // XC_SERVICE_C_STATUS_H_
