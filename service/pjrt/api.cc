#include "service/pjrt/api.h"

#include <cstring>

#include "service/pjrt/api_extensions.h"
#include "service/pjrt/client.h"
#include "service/pjrt/events.h"
#include "service/xc.h"

namespace xc::pjrt {
namespace {

Error* Unsupported(void*) {
  return ToError(absl::UnimplementedError("the xc plugin has no such function of the PJRT C API"));
}

// What JAX reads before it makes a client: the version of StableHLO that the reader knows.
constexpr int64_t kStableHloVersion[] = {1, 17, 0};

constexpr int64_t kOldestStableHlo[] = {0, 9, 0};

NamedValue VersionAttribute(const char* name, const int64_t* numbers, size_t count) {
  NamedValue value = {};
  value.struct_size = sizeof(NamedValue);
  value.name = name;
  value.name_size = std::strlen(name);
  value.type = kInt64ListValue;
  value.int64_array_value = numbers;
  value.value_size = count;
  return value;
}

}  // namespace

Error* Plugin_Attributes(Plugin_Attributes_Args* args) {
  static const NamedValue kAttributes[] = {VersionAttribute("stablehlo_current_version", kStableHloVersion, 3),
                                           VersionAttribute("stablehlo_minimum_version", kOldestStableHlo, 3)};
  args->attributes = kAttributes;
  args->num_attributes = 2;
  return nullptr;
}

const Api* GetApi() {
  static const Api kApi = {
      sizeof(Api),
      &GetFfiExtension()->base,
      {sizeof(ApiVersion), nullptr, kApiMajor, kApiMinor},
#define XC_PJRT_CALL(name) name,
#define XC_PJRT_NONE(name) Unsupported,
#include "service/pjrt/functions.def"
#undef XC_PJRT_CALL
#undef XC_PJRT_NONE
  };
  return &kApi;
}

}  // namespace xc::pjrt

extern "C" __attribute__((visibility("default"))) const void* xc_pjrt_api(void) { return xc::pjrt::GetApi(); }
