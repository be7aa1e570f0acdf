// The C API as a host program sees it.
#include <cmath>
#include <cstring>
#include <string>

#include "backends/ffi/ffi.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "service/xc.h"

namespace {

// The error's message, freed; "" for success.
std::string Message(xc_status* status) {
  std::string message = xc_status_message(status);
  xc_status_free(status);
  return message;
}

xc_executable* Compile(const std::string& hlo, const char* options = nullptr) {
  xc_executable* executable = nullptr;
  EXPECT_EQ(Message(xc_compile_hlo(hlo.data(), hlo.size(), options, &executable)), "");
  return executable;
}

constexpr char kAdd[] = "HloModule m\nENTRY e { p = f32[3] parameter(0) ROOT a = f32[3] add(p, p) }\n";

TEST(CApi, CompilesDescribesAndRuns) {
  for (const char* options : {"platform=cpu", "platform=interpreter"}) {
    xc_executable* executable = Compile(kAdd, options);
    ASSERT_NE(executable, nullptr);
    ASSERT_EQ(xc_executable_num_inputs(executable), 1u);
    const xc_shape shape = xc_executable_input(executable, 0);
    EXPECT_EQ(shape.element_type, 11);
    EXPECT_EQ(shape.rank, 1);
    EXPECT_EQ(shape.dims[0], 3);
    EXPECT_EQ(shape.bytes, 12u);
    const float in[3] = {1, 2, 3};
    float out[3] = {};
    const void* inputs[] = {in};
    void* outputs[] = {out};
    EXPECT_EQ(Message(xc_executable_run(executable, inputs, 1, outputs, 1, 1)), "");
    EXPECT_EQ(out[2], 6);
    EXPECT_NE(Message(xc_executable_run(executable, inputs, 0, outputs, 1, 1)).find("1 inputs and 1 outputs"),
              std::string::npos);
    xc_executable_free(executable);
  }
}

TEST(CApi, TheSecondCompilationIsAHit) {
  xc_cache_clear();
  xc_executable* first = Compile(kAdd);
  const xc_cache_stats before = xc_cache_get_stats();
  xc_executable* second = Compile(kAdd);
  const xc_cache_stats after = xc_cache_get_stats();
  EXPECT_EQ(after.hits, before.hits + 1);
  EXPECT_EQ(after.misses, before.misses);
  xc_executable_free(first);
  xc_executable_free(second);
}

TEST(CApi, CostHasALinePerInstruction) {
  xc_executable* executable = Compile(kAdd, "keep_texts=1");
  char* text = xc_executable_text(executable, "cost");
  EXPECT_STREQ(text, "a add 3 0 24 12\n");
  xc_string_free(text);
  xc_executable_free(executable);
}

TEST(CApi, AnAliasedOutputIsWrittenIntoItsInput) {
  xc_executable* executable = Compile(
      "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\n"
      "ENTRY e { p = f32[3] parameter(0) a = f32[3] add(p, p) ROOT t = (f32[3]) tuple(a) }\n");
  float data[3] = {1, 2, 3};
  const void* inputs[] = {data};
  void* outputs[] = {data};
  EXPECT_EQ(Message(xc_executable_run(executable, inputs, 1, outputs, 1, 1)), "");
  EXPECT_EQ(data[2], 6);
  xc_executable_free(executable);
}

// The results are computed where the caller wants them; what the module donates is the caller's all the same.
TEST(CApi, DonatedInputsAreLeftAlone) {
  xc_executable* executable = Compile(
      "HloModule m, input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, may-alias), {2}: (2, {}, may-alias) }\n"
      "ENTRY e { p = f32[3] parameter(0) q = f32[3] parameter(1) unchanged = f32[3] parameter(2) "
      "a = f32[3] add(p, q) s = f32[3] subtract(p, q) "
      "ROOT t = (f32[3], f32[3], f32[3], f32[3]) tuple(a, s, unchanged, unchanged) }\n");
  const float p[3] = {1, 2, 3}, q[3] = {10, 20, 30}, unchanged[3] = {7, 8, 9};
  float results[4][3];
  const void* inputs[] = {p, q, unchanged};
  void* outputs[] = {results[0], results[1], results[2], results[3]};
  EXPECT_EQ(Message(xc_executable_run(executable, inputs, 3, outputs, 4, 1)), "");
  EXPECT_THAT(results[0], ::testing::ElementsAre(11, 22, 33));
  EXPECT_THAT(results[1], ::testing::ElementsAre(-9, -18, -27));
  EXPECT_THAT(results[2], ::testing::ElementsAre(7, 8, 9));
  EXPECT_THAT(results[3], ::testing::ElementsAre(7, 8, 9));
  EXPECT_THAT(p, ::testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(q, ::testing::ElementsAre(10, 20, 30));
  xc_executable_free(executable);
}

// Of another shape or element type: what the output overwrites must have been read before.
TEST(CApi, AnAliasedOutputOfEquallyManyBytes) {
  const auto run = [](const std::string& body, std::vector<float> data) {
    xc_executable* executable = Compile("HloModule m, input_output_alias={ {}: (0, {}, must-alias) }\n" + body, "");
    const void* inputs[] = {data.data()};
    void* outputs[] = {data.data()};
    EXPECT_EQ(Message(xc_executable_run(executable, inputs, 1, outputs, 1, 1)), "");
    xc_executable_free(executable);
    return data;
  };
  EXPECT_EQ(
      run("ENTRY e { p = f32[2,3] parameter(0) ROOT t = f32[3,2] transpose(p), dimensions={1,0} }", {1, 2, 3, 4, 5, 6}),
      (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run("ENTRY e { p = f32[6] parameter(0) a = f32[6] add(p, p) r = f32[6] reverse(a), dimensions={0} "
                "ROOT t = f32[3,2] reshape(r) }",
                {1, 2, 3, 4, 5, 6}),
            (std::vector<float>{12, 10, 8, 6, 4, 2}));
  const std::vector<float> bits =
      run("ENTRY e { p = f32[4] parameter(0) ROOT c = s32[2,2] convert(f32[2,2] reshape(p)) }", {7, 8, 9, -1});
  int32_t numbers[4];
  std::memcpy(numbers, bits.data(), sizeof(numbers));
  EXPECT_THAT(numbers, ::testing::ElementsAre(7, 8, 9, -1));
}

TEST(CApi, ErrorsAreObjects) {
  xc_executable* executable = nullptr;
  const std::string broken = "HloModule m\nENTRY e { ROOT a = f32[3] add(p, p) }\n";
  xc_status* status = xc_compile_hlo(broken.data(), broken.size(), nullptr, &executable);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(executable, nullptr);
  EXPECT_EQ(xc_status_code(status), 3);
  EXPECT_NE(std::string(xc_status_message(status)).find("line 2"), std::string::npos);
  xc_status_free(status);
  EXPECT_NE(Message(xc_compile_hlo(kAdd, std::strlen(kAdd), "bogus=1", &executable)).find("unknown option"),
            std::string::npos);
}

TEST(CApi, CompilationsCanBeCancelled) {
  const std::string text = "HloModule m\nENTRY e { p = f32[5] parameter(0) ROOT a = f32[5] multiply(p, p) }\n";
  xc_executable* executable = nullptr;
  int cancel = 1;
  xc_status* status = xc_compile_hlo_cancellable(text.data(), text.size(), nullptr, &cancel, &executable);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(xc_status_code(status), 1);
  EXPECT_EQ(Message(status), "the compilation was cancelled");
  EXPECT_EQ(executable, nullptr);
  // It left nothing behind: the next request compiles.
  cancel = 0;
  EXPECT_EQ(Message(xc_compile_hlo_cancellable(text.data(), text.size(), nullptr, &cancel, &executable)), "");
  EXPECT_NE(executable, nullptr);
  xc_executable_free(executable);
}

TEST(CApi, OneCodeServesSizes) {
  const auto text = [](int b, int n) {
    std::string shape = "f32[" + std::to_string(b) + "," + std::to_string(n) + "]";
    return "HloModule m\nENTRY e { p = " + shape + " parameter(0)\n t = " + shape + " tanh(p)\n ROOT a = " + shape +
           " add(t, p) }\n";
  };
  const std::string a = text(31, 37), b = text(131, 139);
  const char* samples[] = {a.data(), b.data()};
  const size_t sizes[] = {a.size(), b.size()};
  xc_general_code* general = nullptr;
  EXPECT_NE(Message(xc_general_code_new(samples, sizes, 1, nullptr, &general)).find("two samples"), std::string::npos);
  const char* const none[] = {samples[0], nullptr};
  EXPECT_NE(Message(xc_general_code_new(none, sizes, 2, nullptr, &general)).find("must not be null"),
            std::string::npos);
  EXPECT_EQ(xc_general_code_refusal(nullptr), nullptr);
  EXPECT_EQ(Message(xc_general_code_new(samples, sizes, 2, nullptr, &general)), "");
  ASSERT_NE(general, nullptr);
  std::vector<xc_executable*> executables;
  for (int n : {3, 50, 64}) {
    const std::string hlo = text(n, 2 * n);
    int serves = -1;
    executables.push_back(nullptr);
    ASSERT_EQ(Message(xc_general_code_compile(general, hlo.data(), hlo.size(), nullptr, &serves, &executables.back())),
              "");
    EXPECT_EQ(serves, 1) << n;
  }
  // Another program has code of its own, and the reason is told.
  const std::string other = "HloModule m\nENTRY e { p = f32[3,4] parameter(0)\n ROOT t = f32[3,4] negate(p) }\n";
  int serves = -1;
  executables.push_back(nullptr);
  ASSERT_EQ(
      Message(xc_general_code_compile(general, other.data(), other.size(), nullptr, &serves, &executables.back())), "");
  EXPECT_EQ(serves, 0);
  char* refusal = xc_general_code_refusal(general);
  EXPECT_NE(std::string(refusal), "");
  xc_string_free(refusal);
  xc_general_code_free(general);
  std::vector<float> x(18), y(18);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 10;
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  ASSERT_EQ(Message(xc_executable_run(executables[0], inputs, 1, outputs, 1, 1)), "");
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], std::tanh(x[i]) + x[i], 1e-6);
  for (xc_executable* executable : executables) xc_executable_free(executable);
}

TEST(CApi, LimitsAreOptions) {
  const std::string text = R"(HloModule m
inner { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }
outer { x = f32[2] parameter(0) ROOT y = f32[2] call(x), to_apply=inner }
ENTRY e {
  p = ((f32[2])) parameter(0)
  q = (f32[2]) get-tuple-element(p), index=0
  r = f32[2] get-tuple-element(q), index=0
  ROOT s = f32[2] call(r), to_apply=outer
})";
  const std::string elided = "HloModule m\nENTRY e { ROOT c = f32[300] constant({...}) }\n";
  const auto message = [](const std::string& hlo, const char* options) {
    xc_executable* executable = nullptr;
    std::string text = Message(xc_compile_hlo(hlo.data(), hlo.size(), options, &executable));
    xc_executable_free(executable);
    return text;
  };
  EXPECT_EQ(message(text, "max_nesting=2\nmax_call_depth=3\nmax_instructions=8"), "");
  EXPECT_THAT(message(text, "max_nesting=1"), testing::HasSubstr("nested more than 1 deep"));
  EXPECT_THAT(message(text, "max_call_depth=1"), testing::HasSubstr("calls nest more than 1 deep"));
  EXPECT_THAT(message(text, "max_instructions=7"), testing::HasSubstr("has 8 instructions; the limit is 7"));
  EXPECT_THAT(message(elided, "max_elided_bytes=1199"), testing::HasSubstr("1199"));
  EXPECT_THAT(message(text, "max_nesting=0"), testing::HasSubstr("max_nesting is 0; it may be 1 to 500"));
  EXPECT_THAT(message(text, "max_call_depth=501"), testing::HasSubstr("it may be 1 to 500"));
  EXPECT_THAT(message(text, "max_nesting=many"), testing::HasSubstr("unknown option or value"));
}

TEST(CApi, FeedsAndDrainsARunningProgram) {
  const std::string text =
      "HloModule m\nENTRY e { t = token[] after-all() i = (f32[2], token[]) infeed(t)\n"
      "x = f32[2] get-tuple-element(i), index=0 u = token[] get-tuple-element(i), index=1 y = f32[2] negate(x)\n"
      "o = token[] outfeed(y, u), outfeed_shape=f32[2] ROOT r = f32[2] add(x, x) }\n";
  for (const char* options : {"platform=cpu", "platform=interpreter"}) {
    xc_executable* executable = Compile(text, options);
    ASSERT_NE(executable, nullptr);
    xc_queue *infeed = xc_queue_new(), *outfeed = xc_queue_new();
    const float fed[2] = {1, 2};
    xc_queue_push(infeed, fed, sizeof(fed));
    float out[2] = {}, drained[2] = {};
    void* outputs[] = {out};
    EXPECT_EQ(Message(xc_executable_run_with_queues(executable, nullptr, 0, outputs, 1, 1, infeed, outfeed)), "");
    EXPECT_EQ(out[1], 4);
    EXPECT_EQ(xc_queue_next_bytes(infeed), -1);
    EXPECT_EQ(xc_queue_next_bytes(outfeed), 8);
    EXPECT_NE(Message(xc_queue_pop(outfeed, drained, 4)).find("has 8 bytes, not 4"), std::string::npos);
    EXPECT_EQ(Message(xc_queue_pop(outfeed, drained, 8)), "");
    EXPECT_EQ(drained[1], -2);
    EXPECT_NE(Message(xc_queue_pop(outfeed, drained, 8)).find("empty"), std::string::npos);
    EXPECT_NE(Message(xc_executable_run(executable, nullptr, 0, outputs, 1, 1)).find("this run has no infeed"),
              std::string::npos);
    xc_queue_free(infeed);
    xc_queue_free(outfeed);
    xc_executable_free(executable);
  }
}

const char* Scale(void* user_data, const void* const* inputs, const xc_shape* input_shapes, size_t num_inputs,
                  void* const* outputs, const xc_shape* output_shapes, size_t num_outputs, const char* config) {
  if (num_inputs != 1 || num_outputs != 1 || input_shapes[0].bytes != output_shapes[0].bytes) return "wrong shapes";
  if (std::string(config) == "fail") return "asked to fail";
  const float factor = *static_cast<float*>(user_data);
  for (size_t i = 0; i < input_shapes[0].bytes / sizeof(float); ++i) {
    static_cast<float*>(outputs[0])[i] = factor * static_cast<const float*>(inputs[0])[i];
  }
  return nullptr;
}

TEST(CApi, RunsTheCallersCustomCalls) {
  static float factor = 10;
  ASSERT_EQ(Message(xc_register_custom_call("test_scale", Scale, &factor)), "");
  EXPECT_NE(Message(xc_register_custom_call("test_scale", Scale, &factor)), "");
  EXPECT_NE(Message(xc_register_custom_call("", Scale, &factor)), "");
  const std::string head = "HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT c = f32[2] custom-call(p), ";
  const float in[2] = {1, 2};
  float out[2] = {};
  const void* inputs[] = {in};
  void* outputs[] = {out};
  for (const char* options : {"platform=cpu", "platform=interpreter"}) {
    out[1] = 0;
    xc_executable* executable = Compile(head + "custom_call_target=\"test_scale\" }\n", options);
    ASSERT_NE(executable, nullptr);
    EXPECT_EQ(Message(xc_executable_run(executable, inputs, 1, outputs, 1, 1)), "");
    EXPECT_EQ(out[1], 20);
    xc_executable_free(executable);
    executable = Compile(head + "custom_call_target=\"test_scale\", backend_config=\"fail\" }\n", options);
    ASSERT_NE(executable, nullptr);
    EXPECT_NE(Message(xc_executable_run(executable, inputs, 1, outputs, 1, 1)).find("asked to fail"),
              std::string::npos);
    xc_executable_free(executable);
  }
}

// As XLA's own conventions are: a pointer per leaf of the operands, one for the result or an array of them for a tuple.
TEST(CApi, RunsFunctionsOfUntypedConventions) {
  const auto add = [](void* out, const void** in) {
    *static_cast<float*>(out) = *static_cast<const float*>(in[0]) + *static_cast<const float*>(in[2]);
  };
  const auto checked = [](void* out, const void** in, xc_call_status* status) {
    *static_cast<float**>(out)[0] = 3;
    if (*static_cast<const float*>(in[1]) < 0) xc_call_status_fail(status, "a negative number", 17);
  };
  const auto configured = [](void* out, const void** in, const char* config, size_t size, xc_call_status* status) {
    if (std::string(config, size) == "fail") return xc_call_status_fail(status, "asked to", 8);
    *static_cast<float**>(out)[1] = *static_cast<const float*>(in[0]) + size;
  };
  const auto cast = [](auto function) { return reinterpret_cast<void (*)(void)>(function); };
  ASSERT_EQ(Message(xc_register_untyped_call("untyped_1", cast(+add), 1)), "");
  ASSERT_EQ(Message(xc_register_untyped_call("untyped_2", cast(+checked), 2)), "");
  ASSERT_EQ(Message(xc_register_untyped_call("untyped_3", cast(+configured), 3)), "");
  EXPECT_NE(Message(xc_register_untyped_call("untyped_1", cast(+add), 1)).find("registered already"),
            std::string::npos);
  EXPECT_NE(Message(xc_register_untyped_call("untyped_4", cast(+add), 4)).find("its API version, 1 to 3"),
            std::string::npos);
  struct Case {
    const char* call;
    float b;
    float result;
    const char* error;
  };
  for (const Case& c : {
           Case{"f = f32[] custom-call(t), custom_call_target=\"untyped_1\"", 5, 7, ""},
           Case{"c = (f32[]) custom-call(a, b), custom_call_target=\"untyped_2\", "
                "api_version=API_VERSION_STATUS_RETURNING f = f32[] get-tuple-element(c), index=0",
                5, 3, ""},
           Case{"c = (f32[]) custom-call(a, b), custom_call_target=\"untyped_2\", "
                "api_version=API_VERSION_STATUS_RETURNING f = f32[] get-tuple-element(c), index=0",
                -1, 0, "custom call untyped_2: a negative number"},
           Case{"c = (token[], f32[]) custom-call(b), custom_call_target=\"untyped_3\", backend_config=\"four\", "
                "api_version=API_VERSION_STATUS_RETURNING_UNIFIED f = f32[] get-tuple-element(c), index=1",
                5, 9, ""},
           Case{"c = (token[], f32[]) custom-call(b), custom_call_target=\"untyped_3\", backend_config=\"fail\", "
                "api_version=API_VERSION_STATUS_RETURNING_UNIFIED f = f32[] get-tuple-element(c), index=1",
                5, 0, "custom call untyped_3: asked to"},
       }) {
    const std::string text = std::string(
                                 "HloModule m\nENTRY e { a = f32[] parameter(0) b = f32[] parameter(1)\n"
                                 "k = token[] after-all() u = (token[], f32[]) tuple(k, b)\n"
                                 "t = (f32[], (token[], f32[])) tuple(a, u)\n") +
                             c.call + "\nROOT r = f32[] copy(f) }\n";
    for (const char* options : {"platform=cpu", "platform=interpreter"}) {
      xc_executable* executable = Compile(text, options);
      ASSERT_NE(executable, nullptr);
      const float a = 2;
      float out = 0;
      const void* inputs[] = {&a, &c.b};
      void* outputs[] = {&out};
      const std::string error = Message(xc_executable_run(executable, inputs, 2, outputs, 1, 1));
      EXPECT_THAT(error, testing::HasSubstr(c.error));
      EXPECT_EQ(error.empty(), *c.error == 0) << error;
      if (error.empty()) {
        EXPECT_EQ(out, c.result) << c.call;
      }
      xc_executable_free(executable);
    }
  }
}

// A handler of the typed FFI: out = in + attribute `by`.
xc::ffi::Error* AddBy(xc::ffi::CallFrame* frame) {
  if (frame->extensions != nullptr) {
    xc::ffi::Metadata* metadata = reinterpret_cast<xc::ffi::MetadataExtension*>(frame->extensions)->metadata;
    metadata->api_version.major = 0;
    metadata->api_version.minor = 3;
    return nullptr;
  }
  const auto* in = static_cast<xc::ffi::Buffer*>(frame->arguments.values[0]);
  const auto* out = static_cast<xc::ffi::Buffer*>(frame->results.values[0]);
  const float by = *static_cast<float*>(static_cast<xc::ffi::Scalar*>(frame->attributes.values[0])->value);
  if (by < 0) {
    xc::ffi::ErrorCreateArgs error{sizeof(error), nullptr, "negative", 3};
    return frame->api->error_create(&error);
  }
  for (int i = 0; i < 2; ++i) static_cast<float*>(out->data)[i] = static_cast<float*>(in->data)[i] + by;
  return nullptr;
}

TEST(CApi, FfiHandlers) {
  ASSERT_EQ(Message(xc_register_ffi_handler("ffi_add_by", "Host", nullptr, nullptr, nullptr,
                                            reinterpret_cast<void*>(&AddBy))),
            "");
  EXPECT_NE(Message(xc_register_ffi_handler(nullptr, "Host", nullptr, nullptr, nullptr, nullptr)), "");
  EXPECT_EQ(xc_ffi_api(), xc::ffi::GetApi());
  int64_t type = 0;
  EXPECT_EQ(Message(xc_register_ffi_type("c_api_test.type", &type, nullptr)), "");
  EXPECT_NE(type, 0);
  for (const char* platform : {"platform=cpu", "platform=interpreter"}) {
    for (const char* by : {"1.5", "-1.0"}) {
      xc_executable* executable = Compile(
          std::string("HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT c = f32[2] custom-call(p), "
                      "custom_call_target=\"ffi_add_by\", api_version=API_VERSION_TYPED_FFI, backend_config={by = ") +
              by + " : f32} }\n",
          platform);
      ASSERT_NE(executable, nullptr);
      const float in[] = {1, 2};
      float out[2] = {};
      const void* inputs[] = {in};
      void* outputs[] = {out};
      const std::string error = Message(xc_executable_run(executable, inputs, 1, outputs, 1, 1));
      if (by[0] == '-') {
        EXPECT_NE(error.find("custom call ffi_add_by: negative"), std::string::npos) << error;
      } else {
        EXPECT_EQ(error, "");
        EXPECT_EQ(out[0], 2.5f);
        EXPECT_EQ(out[1], 3.5f);
      }
      xc_executable_free(executable);
    }
  }
}

TEST(CApi, SizesOfPrograms) {
  xc_executable* executable = Compile(kAdd);
  xc_executable* other = executable;
  EXPECT_EQ(xc_executable_num_sizes(executable), 1u);
  const int64_t sizes[] = {3};
  EXPECT_NE(Message(xc_executable_for_sizes(executable, sizes, 1, &other)).find("only compiled files"),
            std::string::npos);
  EXPECT_EQ(other, nullptr);
  EXPECT_NE(Message(xc_executable_at_sizes(executable, 0, &other)), "");
  EXPECT_NE(Message(xc_executable_for_sizes(nullptr, sizes, 1, &other)), "");
  xc_executable_free(executable);
}

// In the signatures the second size is half of the first: so it is in samples of some way.
TEST(CApi, SizesOfSamples) {
  const int64_t signatures[] = {8, 4, 7, 30, 15, 7, 50, 25, 7};
  int64_t out[3] = {};
  bool halves = false;
  int ways = 0;
  for (;; ++ways) {
    xc_status* status = xc_sample_sizes(signatures, 3, 3, 0, ways, out);
    const int code = xc_status_code(status);
    const std::string message = Message(status);
    if (code == 11) break;
    if (code == 12) continue;
    ASSERT_EQ(message, "");
    EXPECT_EQ(out[2], 7);
    halves = halves || out[1] == (out[0] + 1) / 2;
  }
  EXPECT_GT(ways, 2);
  EXPECT_TRUE(halves);
  EXPECT_NE(Message(xc_sample_sizes(nullptr, 3, 3, 0, 0, out)), "");
  EXPECT_NE(Message(xc_sample_sizes(signatures, 1, 3, 0, 0, out)), "");
}

}  // namespace
