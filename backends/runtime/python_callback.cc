// Callbacks into the Python that the process runs, by the functions of its C API that are found at run time.
#include "backends/runtime/python_callback.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using Object = void;  // PyObject
using Size = std::ptrdiff_t;

// The stable part of Python's C API that is used here.
struct PythonApi {
  int (*IsInitialized)();
  int (*IsFinalizing)();  // may be missing
  int (*GilEnsure)();
  void (*GilRelease)(int);
  void (*IncRef)(Object*);
  void (*DecRef)(Object*);
  Object* (*Import)(const char*);
  Object* (*GetAttr)(Object*, const char*);
  Object* (*Call)(Object*, Object* args, Object* kwargs);
  Object* (*TupleNew)(Size);
  int (*TupleSet)(Object*, Size, Object*);  // takes the reference
  Object* (*SequenceGet)(Object*, Size);
  Size (*SequenceSize)(Object*);
  Object* (*FromLong)(long long);
  Object* (*FromBytes)(const char*, Size);
  int (*AsBytes)(Object*, char**, Size*);
  int (*Equal)(Object*, Object*, int);
  Object* (*ToText)(Object*);
  const char* (*AsUtf8)(Object*, Size*);
  Object* (*FromText)(const char*);
  void (*FetchError)(Object**, Object**, Object**);
  void (*NormalizeError)(Object**, Object**, Object**);
  void (*ClearError)();
  Object* none;
  bool found = false;
};

const PythonApi& Python() {
  static const PythonApi api = [] {
    PythonApi p{};
    bool all = true;
    const auto find = [&](const char* name, auto* function, bool needed = true) {
      *reinterpret_cast<void**>(function) = dlsym(RTLD_DEFAULT, name);
      all &= !needed || *function != nullptr;
    };
    find("Py_IsInitialized", &p.IsInitialized);
    find("Py_IsFinalizing", &p.IsFinalizing, false);
    if (p.IsFinalizing == nullptr) find("_Py_IsFinalizing", &p.IsFinalizing, false);
    find("PyGILState_Ensure", &p.GilEnsure);
    find("PyGILState_Release", &p.GilRelease);
    find("Py_IncRef", &p.IncRef);
    find("Py_DecRef", &p.DecRef);
    find("PyImport_ImportModule", &p.Import);
    find("PyObject_GetAttrString", &p.GetAttr);
    find("PyObject_Call", &p.Call);
    find("PyTuple_New", &p.TupleNew);
    find("PyTuple_SetItem", &p.TupleSet);
    find("PySequence_GetItem", &p.SequenceGet);
    find("PySequence_Size", &p.SequenceSize);
    find("PyLong_FromLongLong", &p.FromLong);
    find("PyBytes_FromStringAndSize", &p.FromBytes);
    find("PyBytes_AsStringAndSize", &p.AsBytes);
    find("PyObject_RichCompareBool", &p.Equal);
    find("PyObject_Str", &p.ToText);
    find("PyUnicode_AsUTF8AndSize", &p.AsUtf8);
    find("PyUnicode_FromString", &p.FromText);
    find("PyErr_Fetch", &p.FetchError);
    find("PyErr_NormalizeException", &p.NormalizeError);
    find("PyErr_Clear", &p.ClearError);
    find("_Py_NoneStruct", &p.none);
    p.found = all;
    return p;
  }();
  return api;
}

struct Release {
  void operator()(Object* object) const { Python().DecRef(object); }
};
using Ref = std::unique_ptr<Object, Release>;

// Holds the interpreter's lock.
class Lock {
 public:
  Lock() : state_(Python().GilEnsure()) {}
  ~Lock() { Python().GilRelease(state_); }
  Lock(const Lock&) = delete;

 private:
  int state_;
};

Ref Tuple(std::vector<Ref> elements) {
  Ref tuple(Python().TupleNew(static_cast<Size>(elements.size())));
  for (size_t i = 0; tuple != nullptr && i < elements.size(); ++i) {
    if (elements[i] == nullptr) return nullptr;
    Python().TupleSet(tuple.get(), static_cast<Size>(i), elements[i].release());
  }
  return tuple;
}

template <typename... Args>
Ref CallObject(Object* callable, Args... args) {
  std::vector<Ref> list;
  (list.push_back(std::move(args)), ...);
  const Ref tuple = Tuple(std::move(list));
  return Ref(callable == nullptr || tuple == nullptr ? nullptr : Python().Call(callable, tuple.get(), nullptr));
}

Ref Attribute(const Ref& object, const char* name) {
  return Ref(object == nullptr ? nullptr : Python().GetAttr(object.get(), name));
}

Ref Copy(Object* object) {
  Python().IncRef(object);
  return Ref(object);
}

std::string Utf8(const Ref& text) {
  Size size = 0;
  const char* data = text == nullptr ? nullptr : Python().AsUtf8(text.get(), &size);
  return data == nullptr ? std::string() : std::string(data, size);
}

// The pending exception with its traceback, as Python prints it. It is not pending afterwards.
std::string TakeException() {
  const PythonApi& py = Python();
  Object *type = nullptr, *value = nullptr, *trace = nullptr;
  py.FetchError(&type, &value, &trace);
  if (type == nullptr) return "no exception is set";
  py.NormalizeError(&type, &value, &trace);
  const Ref types(type), values(value == nullptr ? Copy(py.none).release() : value),
      traces(trace == nullptr ? Copy(py.none).release() : trace);
  const Ref format = Attribute(Ref(py.Import("traceback")), "format_exception");
  const Ref lines = CallObject(format.get(), Copy(types.get()), Copy(values.get()), Copy(traces.get()));
  const Ref join = Attribute(Ref(py.FromText("")), "join");
  std::string text = lines == nullptr ? "" : Utf8(CallObject(join.get(), Copy(lines.get())));
  if (text.empty()) text = Utf8(Ref(py.ToText(values.get())));
  py.ClearError();
  return text;
}

absl::Status Raised(absl::string_view what) {
  return absl::InternalError(absl::StrCat("CpuCallback error ", what, ": ", TakeException()));
}

// The name of the type's NumPy dtype, and the module that has it.
std::pair<const char*, const char*> DtypeOf(RtType type) {
  switch (type) {
    case RtType::kPred:
      return {"numpy", "bool_"};
    case RtType::kS8:
      return {"numpy", "int8"};
    case RtType::kS16:
      return {"numpy", "int16"};
    case RtType::kS32:
      return {"numpy", "int32"};
    case RtType::kS64:
      return {"numpy", "int64"};
    case RtType::kU8:
      return {"numpy", "uint8"};
    case RtType::kU16:
      return {"numpy", "uint16"};
    case RtType::kU32:
      return {"numpy", "uint32"};
    case RtType::kU64:
      return {"numpy", "uint64"};
    case RtType::kF16:
      return {"numpy", "float16"};
    case RtType::kF32:
      return {"numpy", "float32"};
    case RtType::kF64:
      return {"numpy", "float64"};
    case RtType::kC64:
      return {"numpy", "complex64"};
    case RtType::kC128:
      return {"numpy", "complex128"};
    case RtType::kBF16:
      return {"ml_dtypes", "bfloat16"};
    case RtType::kF8E5M2:
      return {"ml_dtypes", "float8_e5m2"};
    case RtType::kF8E4M3FN:
      return {"ml_dtypes", "float8_e4m3fn"};
    case RtType::kF8E4M3B11FNUZ:
      return {"ml_dtypes", "float8_e4m3b11fnuz"};
    case RtType::kF8E5M2FNUZ:
      return {"ml_dtypes", "float8_e5m2fnuz"};
    case RtType::kF8E4M3FNUZ:
      return {"ml_dtypes", "float8_e4m3fnuz"};
    case RtType::kF8E4M3:
      return {"ml_dtypes", "float8_e4m3"};
    case RtType::kF8E3M4:
      return {"ml_dtypes", "float8_e3m4"};
    case RtType::kF8E8M0FNU:
      return {"ml_dtypes", "float8_e8m0fnu"};
    default:
      break;
  }
  // Types narrower than a byte, which take one here as they do in NumPy: the numbers of HLO's PrimitiveType.
  switch (static_cast<int>(type)) {
    case 21:
      return {"ml_dtypes", "int4"};
    case 22:
      return {"ml_dtypes", "uint4"};
    case 26:
      return {"ml_dtypes", "int2"};
    case 27:
      return {"ml_dtypes", "uint2"};
    case 32:
      return {"ml_dtypes", "float4_e2m1fn"};
    default:
      return {nullptr, nullptr};
  }
}

absl::StatusOr<Ref> Dtype(const Ref& numpy, const CallBuffer& buffer) {
  const auto [module, name] = DtypeOf(buffer.type);
  if (module == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("NumPy has no arrays of element type ", static_cast<int>(buffer.type)));
  }
  const Ref scalar = Attribute(Ref(Python().Import(module)), name);
  Ref dtype = CallObject(Attribute(numpy, "dtype").get(), Copy(scalar == nullptr ? Python().none : scalar.get()));
  if (scalar == nullptr || dtype == nullptr) return Raised("making a dtype");
  return dtype;
}

// Bytes of an element; narrow types take a byte.
int64_t BytesOf(const CallBuffer& buffer) {
  const int64_t size = SizeOf(buffer.type);
  return buffer.elements() * (size == 0 ? 1 : size);
}

absl::StatusOr<Ref> ArrayOf(const Ref& numpy, const CallBuffer& buffer) {
  if (buffer.type == RtType::kToken) return Copy(Python().none);
  if (!buffer.is_row_major()) return absl::UnimplementedError("callbacks take arrays in row-major layout only");
  XC_ASSIGN_OR_RETURN(Ref dtype, Dtype(numpy, buffer));
  std::vector<Ref> dims;
  for (int64_t dim : buffer.dims) dims.emplace_back(Python().FromLong(dim));
  Ref array = CallObject(Attribute(numpy, "ndarray").get(), Tuple(std::move(dims)), std::move(dtype),
                         Ref(Python().FromBytes(static_cast<const char*>(buffer.data), BytesOf(buffer))));
  if (array == nullptr) return Raised("making an argument");
  return array;
}

absl::Status Store(const Ref& numpy, const Ref& result, size_t index, const CallBuffer& buffer) {
  if (buffer.type == RtType::kToken) return absl::OkStatus();
  if (!buffer.is_row_major()) return absl::UnimplementedError("callbacks give arrays in row-major layout only");
  XC_ASSIGN_OR_RETURN(const Ref wanted, Dtype(numpy, buffer));
  const Ref array = CallObject(Attribute(numpy, "asarray").get(), Copy(result.get()));
  const Ref dtype = Attribute(array, "dtype");
  const Ref bytes = CallObject(Attribute(array, "tobytes").get());
  if (dtype == nullptr || bytes == nullptr) return Raised("reading a result");
  char* data = nullptr;
  Size size = 0;
  if (Python().AsBytes(bytes.get(), &data, &size) != 0) return Raised("reading a result");
  constexpr int kEq = 2;  // Py_EQ
  if (Python().Equal(dtype.get(), wanted.get(), kEq) != 1 || size != BytesOf(buffer)) {
    Python().ClearError();
    return absl::InvalidArgumentError(absl::StrCat("result ", index, " of the callback has ", size, " bytes of ",
                                                   Utf8(Ref(Python().ToText(dtype.get()))), ", should have ",
                                                   BytesOf(buffer), " of ", Utf8(Ref(Python().ToText(wanted.get())))));
  }
  std::memcpy(buffer.data, data, size);
  return absl::OkStatus();
}

// The callable that a call names, in a process that can call it.
absl::StatusOr<Object*> CallableOf(RunContext* run, const CallArgs& args) {
  const CallUserData* data = run->device.user_data;
  if (data == nullptr || data->by_type.empty()) {
    return absl::FailedPreconditionError(
        "it calls back into the Python process that made the module, and this run was given no callbacks");
  }
  const auto* callbacks = static_cast<const PythonCallbacks*>(data->by_type.begin()->second);
  XC_ASSIGN_OR_RETURN(const int64_t index, args.attributes->Int("index"));
  if (callbacks == nullptr || index < 0 || index >= callbacks->number) {
    return absl::InvalidArgumentError(absl::StrCat("callback ", index, " of ", callbacks ? callbacks->number : 0));
  }
  const PythonApi& py = Python();
  if (!py.found || py.IsInitialized() == 0) return absl::FailedPreconditionError("this process runs no Python");
  if (py.IsFinalizing != nullptr && py.IsFinalizing() != 0) return absl::CancelledError("Python is ending");
  return callbacks->callables[index];
}

// What such a callable is given: the attributes of jaxlib's own classes, which cannot be made from outside of it.
constexpr char kBufferClasses[] = R"(
import ctypes, numpy

class Buffer:
    def __init__(self, address, size, dtype, shape, writeable):
        self._array = numpy.ndarray(shape, dtype, (ctypes.c_char * size).from_address(address))
        self._array.flags.writeable = bool(writeable)

    dtype = property(lambda self: self._array.dtype)
    shape = property(lambda self: self._array.shape)
    ndim = property(lambda self: self._array.ndim)
    writeable = property(lambda self: self._array.flags.writeable)

    def __array__(self, dtype=None, copy=None):
        return numpy.array(self._array, dtype=dtype, copy=copy)

    def __dlpack__(self, **keywords):
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

class ExecutionContext:
    @property
    def stage(self):
        from jax.experimental.buffer_callback import ExecutionStage
        return ExecutionStage.EXECUTE

    @property
    def stream(self):
        raise ValueError('there are no streams on the CPU')
)";

// A class of the above. They are made once: by the interpreter's lock, since a thread that makes them may let go of it.
Ref BufferClass(const char* name) {
  static std::atomic<Object*> made{nullptr};
  if (made == nullptr) {
    const Ref builtins(Python().Import("builtins"));
    Ref names = CallObject(Attribute(builtins, "dict").get());
    const Ref done = CallObject(Attribute(builtins, "exec").get(), Ref(Python().FromText(kBufferClasses)),
                                names == nullptr ? nullptr : Copy(names.get()));
    if (done == nullptr) return nullptr;
    made = names.release();
  }
  return CallObject(Attribute(Copy(made), "get").get(), Ref(Python().FromText(name)));
}

absl::StatusOr<Ref> ViewOf(const Ref& numpy, const CallBuffer& buffer, bool writeable) {
  if (!buffer.is_row_major()) return absl::UnimplementedError("callbacks take arrays in row-major layout only");
  XC_ASSIGN_OR_RETURN(Ref dtype, Dtype(numpy, buffer));
  std::vector<Ref> dims;
  for (int64_t dim : buffer.dims) dims.emplace_back(Python().FromLong(dim));
  const PythonApi& py = Python();
  Ref view = CallObject(BufferClass("Buffer").get(), Ref(py.FromLong(reinterpret_cast<intptr_t>(buffer.data))),
                        Ref(py.FromLong(BytesOf(buffer))), std::move(dtype), Tuple(std::move(dims)),
                        Ref(py.FromLong(writeable ? 1 : 0)));
  if (view == nullptr) return Raised("making an argument");
  return view;
}

}  // namespace

absl::Status CallPython(RunContext* run, const CallArgs& args) {
  XC_ASSIGN_OR_RETURN(Object* const callable, CallableOf(run, args));
  const PythonApi& py = Python();
  const Lock lock;
  const Ref numpy(py.Import("numpy"));
  if (numpy == nullptr) return Raised("importing numpy");
  std::vector<Ref> arguments;
  for (const CallBuffer& input : args.inputs) {
    XC_ASSIGN_OR_RETURN(arguments.emplace_back(), ArrayOf(numpy, input));
  }
  const Ref tuple = Tuple(std::move(arguments));
  const Ref results(tuple == nullptr ? nullptr : py.Call(callable, tuple.get(), nullptr));
  if (results == nullptr) return Raised("calling callback");
  const Size number = results.get() == py.none ? 0 : py.SequenceSize(results.get());
  if (number < 0) return Raised("reading the results");
  if (static_cast<size_t>(number) < args.outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the callback gave ", number, " results, should give ", args.outputs.size()));
  }
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    const Ref result(py.SequenceGet(results.get(), static_cast<Size>(i)));
    if (result == nullptr) return Raised("reading a result");
    XC_RETURN_IF_ERROR(Store(numpy, result, i, args.outputs[i]));
  }
  return absl::OkStatus();
}

absl::Status CallPythonOnBuffers(RunContext* run, const CallArgs& args) {
  XC_ASSIGN_OR_RETURN(Object* const callable, CallableOf(run, args));
  const Lock lock;
  const Ref numpy(Python().Import("numpy"));
  std::vector<Ref> arguments;
  arguments.push_back(CallObject(BufferClass("ExecutionContext").get()));
  if (numpy == nullptr || arguments[0] == nullptr) return Raised("preparing");
  for (const CallBuffer& input : args.inputs) {
    XC_ASSIGN_OR_RETURN(arguments.emplace_back(), ViewOf(numpy, input, /*writeable=*/false));
  }
  for (const CallBuffer& output : args.outputs) {
    XC_ASSIGN_OR_RETURN(arguments.emplace_back(), ViewOf(numpy, output, /*writeable=*/true));
  }
  const Ref tuple = Tuple(std::move(arguments));
  const Ref result(tuple == nullptr ? nullptr : Python().Call(callable, tuple.get(), nullptr));
  return result == nullptr ? Raised("calling callback") : absl::OkStatus();
}

}  // namespace xc
