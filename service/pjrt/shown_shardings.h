// Orders of devices in the messages of optimized modules, in the form in which XLA writes them.
#ifndef XC_SERVICE_PJRT_SHOWN_SHARDINGS_H_
#define XC_SERVICE_PJRT_SHOWN_SHARDINGS_H_

#include "proto/hlo.pb.h"

namespace xc::pjrt {

// Lists of devices that are numbers counted in another order of digits become that order: devices=[2,2]0,2,1,3 is
// devices=[2,2]<=[2,2]T(1,0). Other lists stay.
void ListDevicesAsIotas(pb::HloModuleProto* module);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_SHOWN_SHARDINGS_H_
