// Callbacks into Python, in a process that opens Python's library. Skipped, visibly, where that or NumPy is missing.
#include "backends/runtime/python_callback.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/custom_call_testing.h"

namespace xc {
namespace {

template <typename F>
F Find(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

// The callables of __main__, after Python has run `source`; empty where there is none.
bool StartPython() {
  static const bool started = [] {
    const char* python = std::getenv("XC_PYTHON");
    if (python == nullptr || *python == 0) return false;
    if (dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_GLOBAL) == nullptr) return false;
    Find<void (*)(int)>("Py_InitializeEx")(0);
    const std::string bin(python);
    const std::string packages = absl::StrCat(bin.substr(0, bin.rfind("/bin/")), "/lib/python3.11/site-packages");
    const auto run = Find<int (*)(const char*)>("PyRun_SimpleString");
    const std::string source = absl::StrCat("import sys\nsys.path.insert(0, '", packages, R"(')
import numpy as np
def double(x):
  assert x.flags.owndata == False and not x.flags.writeable
  return (x * np.float32(2),)
def token_and_sum(token, a, b):
  assert token is None
  return (token, np.asarray(a.sum() + b.sum(), np.int64), a.astype(bool))
def fail(x):
  raise ValueError('this is the error')
def wrong(x):
  return (x.astype(np.float64),)
def nothing(x):
  seen.append(x.copy())
seen = []
def fill(context, a, out):
  assert not a.writeable and out.writeable and a.shape == out.shape == (2, 2) and out.ndim == 2
  np.asarray(out)[...] = np.asarray(a) + a.dtype.type(1)
)");
    const bool ok = run(source.c_str()) == 0;
    // Other threads may take the lock from here on.
    Find<void* (*)()>("PyEval_SaveThread")();
    return ok;
  }();
  return started;
}

void* Callable(const char* name) {
  const int state = Find<int (*)()>("PyGILState_Ensure")();
  void* main = Find<void* (*)(const char*)>("PyImport_AddModule")("__main__");
  void* callable = Find<void* (*)(void*, const char*)>("PyObject_GetAttrString")(main, name);
  Find<void (*)(int)>("PyGILState_Release")(state);
  return callable;
}

absl::Status CallBack(const char* name, std::vector<Array*> inputs, std::vector<Array*> outputs, int index = 0,
                      const char* target = "xla_ffi_python_cpu_callback") {
  void* callables[] = {Callable(name)};
  PythonCallbacks callbacks{callables, 1};
  const CallUserData data{{{5, &callbacks}}};
  RunContext run;
  run.device.user_data = &data;
  return Call(&run, target, absl::StrCat("{index = ", index, " : ui64}"), std::move(inputs), std::move(outputs));
}

class PythonCallback : public testing::Test {
  void SetUp() override {
    if (!StartPython()) GTEST_SKIP() << "SKIPPED: no libpython3.11 or no NumPy (XC_PYTHON)";
  }
};

TEST_F(PythonCallback, ArraysInAndOut) {
  Array in(RtType::kF32, {2, 2}), out = in;
  for (int i = 0; i < 4; ++i) in.as<float>()[i] = i;
  const absl::Status status = CallBack("double", {&in}, {&out});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out.as<float>()[3], 6);
  // From a thread that Python does not know.
  std::thread other([&] { EXPECT_TRUE(CallBack("double", {&out}, {&in}).ok()); });
  other.join();
  EXPECT_EQ(in.as<float>()[3], 12);
  Array empty(RtType::kF32, {0, 3}), none = empty;
  EXPECT_TRUE(CallBack("double", {&empty}, {&none}).ok());
}

TEST_F(PythonCallback, TokensAndTypes) {
  Array token(RtType::kToken, {}), a(RtType::kS32, {2}), b(RtType::kU8, {3}), sum(RtType::kS64, {}),
      truth(RtType::kPred, {2});
  a.as<int32_t>()[0] = -5;
  b.as<uint8_t>()[2] = 250;
  const absl::Status status = CallBack("token_and_sum", {&token, &a, &b}, {&token, &sum, &truth});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(*sum.as<int64_t>(), 245);
  EXPECT_EQ(truth.bytes[0], 1);
  EXPECT_EQ(truth.bytes[1], 0);
  EXPECT_TRUE(CallBack("nothing", {&a}, {}).ok());
}

TEST_F(PythonCallback, ViewsOfBuffers) {
  Array in(RtType::kF32, {2, 2}), out = in;
  for (int i = 0; i < 4; ++i) in.as<float>()[i] = i;
  const absl::Status status = CallBack("fill", {&in}, {&out}, 0, "xla_buffer_python_cpu_callback");
  ASSERT_TRUE(status.ok()) << status;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out.as<float>()[i], i + 1);
  const std::string raised(CallBack("fill", {&in}, {}, 0, "xla_buffer_python_cpu_callback").message());
  EXPECT_NE(raised.find("TypeError: fill() missing 1 required positional argument"), std::string::npos) << raised;
}

TEST_F(PythonCallback, Errors) {
  Array in(RtType::kF32, {1}), out = in;
  const std::string raised(CallBack("fail", {&in}, {&out}).message());
  EXPECT_NE(raised.find("CpuCallback error calling callback: Traceback"), std::string::npos) << raised;
  EXPECT_NE(raised.find("ValueError: this is the error"), std::string::npos) << raised;
  EXPECT_EQ(CallBack("wrong", {&in}, {&out}).message(),
            "custom call xla_ffi_python_cpu_callback: result 0 of the callback has 8 bytes of float64, should have 4 "
            "of float32");
  EXPECT_EQ(CallBack("nothing", {&in}, {&out}).message(),
            "custom call xla_ffi_python_cpu_callback: the callback gave 0 results, should give 1");
  EXPECT_EQ(CallBack("double", {&in}, {&out}, 3).message(), "custom call xla_ffi_python_cpu_callback: callback 3 of 1");
}

TEST(PythonCallbackAlone, ARunWithoutCallbacks) {
  Array in(RtType::kF32, {1}), out = in;
  RunContext run;
  EXPECT_EQ(Call(&run, "xla_ffi_python_cpu_callback", "{index = 0 : ui64}", {&in}, {&out}).message(),
            "custom call xla_ffi_python_cpu_callback: it calls back into the Python process that made the module, and "
            "this run was given no callbacks");
}

}  // namespace
}  // namespace xc
