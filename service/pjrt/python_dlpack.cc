// Copies of foreign memory (jnp.from_dlpack), which jaxlib cannot ask a plugin for: it is asked for views, and what has
// to be copied is copied after that.
#include <mutex>

#include "service/pjrt/python_code.h"
#include "service/pjrt/python_host.h"

namespace xc::pjrt {
namespace {

// A capsule's DLManagedTensor begins with the address, the device (8 bytes), the rank and the type (4 each), the shape,
// the strides, and the offset in bytes. As jaxlib's own client, views are of memory aligned to 64 bytes alone; what it
// says where a view is not possible is what JAX looks for.
constexpr char kDlpackCode[] = R"(
def _xc_copy_dlpack():
    import ctypes, sys
    jaxlib = sys.modules.get("jaxlib._jax")
    names = ("dlpack_managed_tensor_to_buffer", "batched_copy_array_to_devices_with_sharding", "ArrayCopySemantics",
             "JaxRuntimeError")
    if not all(hasattr(jaxlib, name) for name in names):
        return
    view = jaxlib.dlpack_managed_tensor_to_buffer
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))

    def is_aligned(capsule):
        tensor = (ctypes.c_uint64 * 6).from_address(pointer_of(capsule, b"dltensor"))
        return ((tensor[0] or 0) + tensor[5]) % 64 == 0

    def dlpack_managed_tensor_to_buffer(dlpack, device, stream=None, copy=None, *others):
        if "\nxc " not in device.client.platform_version:
            return view(dlpack, device, stream, copy, *others)
        if not copy and not is_aligned(dlpack):
            if copy is not None:
                raise jaxlib.JaxRuntimeError("INVALID_ARGUMENT: Can't create a view of buffer with unaligned data, "
                                             "which is not aligned to 64 bytes. ")
            copy = True
        array = view(dlpack, device, stream, None, *others)
        if not copy:
            return array
        always = jaxlib.ArrayCopySemantics.ALWAYS_COPY
        devices = array.sharding._internal_device_list
        copied = jaxlib.batched_copy_array_to_devices_with_sharding([array], [devices], [array.sharding], [always])[0]
        copied.block_until_ready()
        return copied

    jaxlib.dlpack_managed_tensor_to_buffer = dlpack_managed_tensor_to_buffer

_xc_copy_dlpack()
)";

}  // namespace

void CopyDlpackForJaxlib() {
  static std::once_flag once;
  std::call_once(once, [] { RunInPython(kDlpackCode, {}); });
}

}  // namespace xc::pjrt
