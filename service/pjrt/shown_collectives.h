// Collectives in optimized modules as people and programs look for them.
#ifndef XC_SERVICE_PJRT_SHOWN_COLLECTIVES_H_
#define XC_SERVICE_PJRT_SHOWN_COLLECTIVES_H_

#include "hlo/module.h"

namespace xc::pjrt {

// Makes the calls of the runtime's collectives (backends/runtime/collectives.h) the HLO instructions again that they
// were expanded from. Their groups name devices. What has no such form stays a call.
void ShowCollectives(HloModule* module);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_SHOWN_COLLECTIVES_H_
