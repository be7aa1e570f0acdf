#include "service/pjrt/python_host.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/strings/str_replace.h"
#include "backends/ffi/ffi.h"
#include "hlo/base/per_thread.h"
#include "service/pjrt/python_code.h"

namespace xc::pjrt {
namespace {

// Called by the code below: the stages of a handler, null where it has none. Says what is wrong, or nothing.
const char* RegisterFromPython(const char* name, const char* platform, void* instantiate, void* prepare,
                               void* initialize, void* execute, uint32_t traits) {
  static PerThread<std::string> messages;
  const ffi::HandlerBundle bundle = {
      reinterpret_cast<ffi::Handler*>(instantiate), reinterpret_cast<ffi::Handler*>(prepare),
      reinterpret_cast<ffi::Handler*>(initialize), reinterpret_cast<ffi::Handler*>(execute)};
  const absl::Status status = ffi::RegisterHandler(name, platform, bundle, traits);
  if (status.ok()) return nullptr;
  std::string& message = messages.Get();
  message = std::string(status.message());
  return message.c_str();
}

// The same for a type that handlers keep states of.
const char* RegisterTypeFromPython(const char* name, int64_t* id, const ffi::TypeInfo* info) {
  static PerThread<std::string> messages;
  const absl::Status status = ffi::RegisterType(name, id, info == nullptr ? nullptr : info->deleter);
  if (status.ok()) return nullptr;
  std::string& message = messages.Get();
  message = std::string(status.message());
  return message.c_str();
}

// %s are the addresses of RegisterFromPython and RegisterTypeFromPython. Handlers are capsules, or dictionaries of
// capsules by stage. Only typed ones (API version 1) have the convention that is handed on.
constexpr char kCode[] = R"(
def _xc_share_handlers(address, type_address):
    import ctypes, sys
    client = sys.modules.get("jaxlib.xla_client")
    if not all(hasattr(client, name) for name in ("_xla", "_custom_callback_handler", "_custom_type_id_handler")):
        return
    names = [ctypes.c_char_p, ctypes.c_char_p] + [ctypes.c_void_p] * 4 + [ctypes.c_uint32]
    register = ctypes.CFUNCTYPE(ctypes.c_char_p, *names)(address)
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    pointer = lambda capsule: None if capsule is None else pointer_of(capsule, name_of(capsule))
    text = lambda name: name.decode() if isinstance(name, bytes) else name

    def give(name, function, platform, api_version, traits):
        stages = function if isinstance(function, dict) else {"execute": function}
        if api_version != 1:
            return
        pointers = [pointer(stages.get(stage)) for stage in ("instantiate", "prepare", "initialize", "execute")]
        number = getattr(traits, "value", traits)
        tell(name, register(text(name).encode(), text(platform).encode(), *pointers, number))

    def tell(name, problem):
        if problem:
            print("xc: custom call", text(name) + ":", getattr(problem, "decode", lambda: problem)(), file=sys.stderr)

    # Types first: handlers use them.
    register_type = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)(type_address)
    own_types = client._custom_type_id_handler.get("Host") or client._xla.register_custom_type

    def type_handler(name, registration):
        own_types(name, registration)
        parts = registration if isinstance(registration, dict) else {"type_id": registration}
        tell(name, register_type(text(name).encode(), pointer(parts.get("type_id")), pointer(parts.get("type_info"))))

    with client._custom_type_id_lock:
        client._custom_type_id_handler["Host"] = type_handler
        waiting_types = client._custom_type_id.pop("Host", [])
    for name, registration in waiting_types:
        try:
            type_handler(name, registration)
        except Exception as problem:
            tell(name, problem)

    # What jaxlib would put there itself, but only when its own client is made.
    own = client._custom_callback_handler.get("Host") or client._xla.register_custom_call_target

    def handler(name, function, platform, api_version=0, traits=0):
        own(name, function, platform, api_version, traits)  # first: it raises what JAX's users expect
        give(name, function, platform, api_version, traits)

    with client._custom_callback_lock:
        client._custom_callback_handler["Host"] = handler
        waiting = client._custom_callback.pop("Host", [])
    for name, function, api_version, traits in waiting:
        try:
            handler(name, function, "Host", api_version, traits)
        except Exception as problem:
            tell(name, problem)
    # Handlers of this process before now. Python's callbacks need a state of jaxlib's and have functions here.
    for name, function in client.custom_call_targets("Host").items():
        if "python_cpu_callback" not in text(name):
            give(name, function, "Host", 1, 0)

_xc_share_handlers(%s, %s)
)";

// Called by the code below.
void TakeNumber(int64_t* number, int64_t value) { *number = value; }

// %s are the addresses of a number and of TakeNumber; NAME is that of a setting in JAX's module of backends.
constexpr char kSettingCode[] = R"(
def _xc_setting(number, address):
    import ctypes, sys
    setting = getattr(sys.modules.get("jax._src.xla_bridge"), "NAME", None)
    value = getattr(setting, "value", None)
    if isinstance(value, int):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)(number, int(value))

_xc_setting(%s, %s)
)";

// What a setting of JAX's says; `number` where it says nothing.
int64_t JaxSetting(const char* name, int64_t number) {
  RunInPython(absl::StrReplaceAll(kSettingCode, {{"NAME", name}}),
              {&number, reinterpret_cast<const void*>(&TakeNumber)});
  return number;
}

}  // namespace

void ShareHandlersOfJaxlib() {
  static std::once_flag once;
  std::call_once(once, [] {
    RunInPython(kCode, {reinterpret_cast<const void*>(&RegisterFromPython),
                        reinterpret_cast<const void*>(&RegisterTypeFromPython)});
  });
}

int64_t DevicesOfJaxSetting() { return std::max<int64_t>(JaxSetting("num_cpu_devices", 0), 0); }

bool WaitsByJaxSetting() { return JaxSetting("_CPU_ENABLE_ASYNC_DISPATCH", 1) == 0; }

}  // namespace xc::pjrt
