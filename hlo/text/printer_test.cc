// The exact text of what the printer writes, and that it reads back the same.
#include "hlo/text/printer.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

// The line of the ROOT in a module with some parameters and computations, after parsing and printing.
std::string Root(const std::string& root, const PrintOptions& options = {}) {
  const std::string text = absl::StrCat(R"(
HloModule m

add (x: f32[], y: f32[]) -> f32[] {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}

twice (x.1: f32[4]) -> f32[4] {
  x.1 = f32[4]{0} parameter(0)
  ROOT z.1 = f32[4]{0} add(x.1, x.1)
}

ENTRY e {
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} parameter(1)
  i = s32[] parameter(2)
  m = f32[4,4]{1,0} parameter(3)
  p = pred[] parameter(4)
  t = token[] after-all()
  z = f32[] constant(0)
  ROOT r = )",
                                        root, "\n}\n");
  auto module = ParseModule(text);
  if (!module.ok()) return std::string(module.status().message());
  return PrintInstruction(*(*module)->entry()->root(), options);
}

void ExpectSame(const std::string& root) { EXPECT_EQ(Root(root), absl::StrCat("%r = ", root)); }

TEST(Printer, AttributesAsXlaWritesThem) {
  ExpectSame("f32[4]{0} add(%a, %b)");
  ExpectSame(
      "f32[4]{0} all-reduce(%a), channel_id=3, replica_groups={{0,1},{2,3}}, constrain_layout=true, "
      "use_global_device_ids=true, to_apply=%add");
  ExpectSame("f32[4]{0} all-reduce(%a), replica_groups=[2,4]<=[4,2]T(1,0), to_apply=%add");
  ExpectSame("f32[4]{0} all-reduce(%a), replica_groups={}, to_apply=%add");
  ExpectSame(
      "f32[8]{0} all-gather(%a), channel_id=1, replica_groups={{0,1}}, constrain_layout=true, dimensions={0}, "
      "use_global_device_ids=true");
  ExpectSame("f32[4]{0} collective-permute(%a), channel_id=1, source_target_pairs={{0,1},{1,0}}");
  ExpectSame("f32[4]{0} collective-permute(%a, %b, %i, %i), source_target_pairs={{0,1}}, slice_sizes={{1},{2}}");
  ExpectSame("f32[4]{0} domain(%a), domain={kind=\"sharding\", entry={replicated}, exit={maximal device=1}}");
  ExpectSame("(f32[4]{0}, token[]) infeed(%t), infeed_config=\"abc\"");
  ExpectSame("token[] outfeed(%a, %t), outfeed_shape=f32[4]{0}, outfeed_config=\"abc\"");
  ExpectSame("(f32[4]{0}, u32[], token[]) send(%a, %t), channel_id=1, is_host_transfer=true");
  ExpectSame(
      "(f32[4,4]{1,0}, f32[4]{0}) scan(%m, %a), dimensions={0}, num_carries=1, is_reverse=true, "
      "is_associative=false, to_apply=%add");
  ExpectSame(
      "f32[4,4]{1,0} dot(%m, %m), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
      "operand_precision={high,highest}, algorithm=dot_bf16_bf16_f32_x3");
  ExpectSame(
      "f32[4,4]{1,0} dot(%m, %m), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, "
      "rhs_contracting_dims={1}");
  ExpectSame(
      "f32[] ragged-dot(%a, %a, %a), lhs_contracting_dims={0}, rhs_contracting_dims={0}, lhs_ragged_dims={0}, "
      "operand_precision={high,high}");
  ExpectSame("f32[4]{0} conditional(%i, %a, %a), branch_computations={%twice, %twice}");
  ExpectSame("f32[4]{0} conditional(%p, %a, %a), true_computation=%twice, false_computation=%twice");
  ExpectSame("f32[4]{0} rng(%b, %b), distribution=rng_uniform");
  ExpectSame("u32[4]{0} rng-bit-generator(%b), algorithm=rng_default");
  ExpectSame("u64[2]{0} rng-get-and-update-state(), delta=4096");
  ExpectSame("(f32[4]{0}, f32[4]{0}, u32[]) copy-start(%a), cross_program_prefetch_index=3");
  ExpectSame("f32[4]{0} call(%a), to_apply=%twice, is_composite=true, frontend_attributes={composite.name=\"foo\"}");
  ExpectSame(
      "f32[4]{0} fusion(%a), kind=kLoop, output_to_operand_aliasing={{0}: (0, {}), {1}: (0, {1})}, "
      "calls=%twice");
  ExpectSame("f32[4,1]{1,0} reshape(%a), inferred_dimension=0");
  ExpectSame("f32[4,4]{1,0} triangular-solve(%m, %m), left_side=true, transpose_a=ADJOINT");
  ExpectSame("pred[4]{0} compare(%a, %b), direction=LT, type=TOTALORDER");
  ExpectSame("f32[2]{0} slice(%a), slice={[1:4:2]}");
  ExpectSame("f32[6]{0} pad(%a, %z), padding=1_-2_1");
  ExpectSame(
      "f32[4]{0} reduce-window(%a, %z), window={size=2 stride=2 pad=0_-1 lhs_dilate=2 rhs_reversal=1}, "
      "to_apply=%add");
  ExpectSame("f32[4]{0} add(%a, %b), control-predecessors={%a, %b}");
  ExpectSame("(f32[2]{0}, s32[2]{0}) topk(%a), k=2, largest=true");
  ExpectSame("f32[4,4]{1,0} batch-norm-inference(%m, %a, %a, %a, %a), epsilon=0.001, feature_index=1");
  ExpectSame(
      "f32[4]{0} gather(%a, %b), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1}, indices_are_sorted=true");
  ExpectSame(
      "f32[4]{0} exponential(%a), result_accuracy={tolerance={atol=0.1,rtol=0.2,ulps=3}}, "
      "origin={({\"a\" {0}}, {\"b\"})}");
  ExpectSame("f32[4]{0} custom-call(%a, %b), custom_call_target=\"t\", literal=f32[] 1");
  ExpectSame("f32[4]{0} custom-call(%a, %b), custom_call_target=\"t\", literal=( f32[] 1, s32[2] {1, 2} )");
  ExpectSame(
      "f32[4]{0} custom-call(%a, %b), window={size=3 stride=2}, dim_labels=b0f_0io->b0f, "
      "feature_group_count=2, batch_group_count=3, operand_precision={high,default}, padding_type=PADDING_SAME, "
      "custom_call_target=\"t\", operand_layout_constraints={f32[4]{0}, f32[4]{0}}, "
      "custom_call_has_side_effect=true, output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST, "
      "api_version=API_VERSION_STATUS_RETURNING, called_computations={%twice, %add}, sharding={replicated}, "
      "frontend_attributes={a=\"b\"}, control-predecessors={%a}, statistics={visualizing_index=0,s=1}, "
      "origin={{\"x\"}}, metadata={op_name=\"x\" stack_frame_id=1}, backend_config=\"x y\"");
  ExpectSame(
      "f32[4]{0} add(%a, %b), metadata={op_type=\"x\" op_name=\"y\\\"q\\n\" source_file=\"f\" source_line=3 "
      "source_end_line=8 source_column=9 source_end_column=10 stack_frame_id=4 profile_type={1} "
      "deduplicated_name=\"dn\" scheduling_name=\"sn\" metadata_payload=\"p\"}");
  ExpectSame(
      "f32[4]{0} add(%a, %b), frontend_attributes={a=\"x\",b={1,2}}, statistics={visualizing_index=1,stat-1=33,"
      "stat-2=44.5}, backend_config={\"a\":{\"b\":[1,2]}}");
  ExpectSame("f32[4]{0} parameter(5), parameter_replication={true}");
}

TEST(Printer, Shardings) {
  for (const char* sharding :
       {"{replicated}", "{manual}", "{unknown}", "{unreduced}", "{maximal device=3}", "{devices=[4]<=[4]}",
        "{devices=[4]0,1,2,3}", "{devices=[2,2]<=[4] last_tile_dim_replicate}",
        "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}", "{devices=[4]0,1,2,3 metadata={op_name=\"x\"}}",
        "{replicated metadata={{op_name=\"x\"}, {op_name=\"y\"}}}", "{devices=[4]<=[4] shard_as 3}",
        "{replicated shard_like 3}", "{mesh['a'=2,'b'=4], [{'a'}]}", "{{replicated}, {devices=[4]<=[4]}}",
        "{{replicated}, {replicated}, {replicated}, {replicated}, {replicated}, /*index=5*/{manual}}"}) {
    ExpectSame(absl::StrCat("f32[4]{0} add(%a, %b), sharding=", sharding));
  }
}

TEST(Printer, Literals) {
  const auto same = [](const std::string& shape, const std::string& text) {
    EXPECT_EQ(Root(absl::StrCat(shape, " constant(", text, ")")),
              absl::StrCat("%r = ", shape, " constant(", text, ")"));
  };
  same("pred[]", "true");
  same("pred[3]{0}", "{1, 0, 1}");
  same("f32[3]{0}", "{nan, inf, -inf}");
  same("f32[4]{0}", "{-nan, nan(0x123), -nan(0x1), -0}");
  same("f64[3]{0}", "{0.1, 0.33333333333333331, -nan(0x8000000000001)}");
  same("f32[5]{0}", "{100000, 16777216, 1e+10, 0.333333343, 1.4013e-45}");
  same("f16[]", "nan(0x3)");
  same("f16[2]{0}", "{0.099976, 65504}");
  same("bf16[2]{0}", "{3.141, nan(0x7f)}");
  same("c64[2]{0}", "{(1, 2), (nan, -inf)}");
  same("s4[2]{0}", "{-8, 7}");
  same("u64[]", "18446744073709551615");
  same("s64[]", "-9223372036854775808");
  same("f8e4m3fn[3]{0}", "{1.12, nan, 448}");
  same("f8e5m2[2]{0}", "{5.7e+04, -inf}");
  same("f8e8m0fnu[3]{0}", "{1, 4, nan}");
  same("f4e2m1fn[2]{0}", "{1, -6}");
  same("f32[2,2,2]{2,1,0}", "{ { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } } }");
  same("((s32[], pred[2]{0}), f32[2]{0})", "( ( 1, {0, 1} ), {2, 3} )");
  same("()", "(  )");
  same("s32[2,1]{1,0}", "{ {1}, {2} }");
  same("s32[1,2,2,2]{3,2,1,0}", "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 }, { 3, 4 } }, { /*i1=1*/ { 5, 6 }, { 7, 8 } } } }");
  same("s32[1,1,1,1]{3,2,1,0}", "{ { /*i0=0*/ { /*i1=0*/ {1} } } }");
  same("f32[0,2]{1,0}", "{}");
  same("f32[100]{0}", "{...}");
  same("f32[2]{0:T(8,128)}", "{1, 2}");
  EXPECT_EQ(Root("pred[2,2] constant({ /*i0=0*/ {1,false}, // one\n {true,0}, })"),
            "%r = pred[2,2] constant({ { 1, 0 }, { 1, 0 } })");
  EXPECT_EQ(Root("f32[2,0]{1,0} constant({ {}, {} })"), "%r = f32[2,0]{1,0} constant({})");
}

TEST(Printer, EveryBfloat16AndHalfReadsBackTheSame) {
  for (const ElementType type : {ElementType::kBF16, ElementType::kF16, ElementType::kF8E5M2, ElementType::kF8E4M3FN,
                                 ElementType::kF8E4M3, ElementType::kF8E3M4, ElementType::kF8E4M3B11FNUZ,
                                 ElementType::kF8E4M3FNUZ, ElementType::kF8E5M2FNUZ, ElementType::kF8E8M0FNU}) {
    const int bytes = StorageBytes(type);
    const int64_t count = int64_t{1} << (8 * bytes);
    Literal literal(Shape(type, {count}));
    for (int64_t i = 0; i < count; ++i) std::memcpy(literal.mutable_bytes() + i * bytes, &i, bytes);
    const auto again = ParseLiteral(literal.shape(), PrintLiteral(literal));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(again->BitEqual(literal)) << ElementTypeName(type);
  }
}

TEST(Printer, Options) {
  PrintOptions options;
  options.percent = false;
  options.operand_shapes = true;
  options.metadata = false;
  EXPECT_EQ(Root("f32[4]{0} add(a, b), metadata={op_name=\"x\"}", options),
            "r = f32[4]{0} add(f32[4]{0} a, f32[4]{0} b)");
  EXPECT_EQ(Root("s32[20]{0} constant({1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0})", PrintOptions::Short()),
            "r = s32[20]{0} constant({...})");
}

TEST(Printer, ModuleText) {
  const std::string text =
      R"(HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {2}, may-alias) }, buffer_donor={ (0, {}), (1, {0}) }, alias_passthrough_params=true, entry_computation_layout={(f32[4]{0}, (f32[], s32[], f32[4]{0}))->(f32[4]{0}, f32[4]{0})}, allow_spmd_sharding_propagation_to_parameters={false,true}, allow_spmd_sharding_propagation_to_output={true}, replica_count=2, num_partitions=4, frontend_attributes={a.b={x = #y<[]>},c="d"}, origin_recovery_table={
  {"a"} : {"b"}
}

FileNames
1 "<embedded module \'_launcher\'>"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=153 end_line=153 column=2 end_column=31}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}


%host (p.1: f32[4]) -> f32[4] {
  ROOT %p.1 = f32[4]{0} parameter(0)
}, execution_thread="host"

ENTRY %e (p: f32[4], q: (f32[], s32[], f32[4])) -> (f32[4], f32[4]) {
  %p = f32[4]{0} parameter(0)
  %q = (f32[], s32[], f32[4]{0}) parameter(1)
  %c = ((f32[4]{0}), f32[4]{0}, s32[]) async-start(%p), async_execution_thread="host", calls=%host
  %d = f32[4]{0} async-done(%c)
  ROOT %t = (f32[4]{0}, f32[4]{0}) tuple(%p, %d)
}
)";
  const auto module = ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(PrintModule(**module), text);
  EXPECT_EQ((*module)->config().stack_frames.frames[1].parent_frame_id, 1);
}

// Passes leave instructions and computations in any order; text has operands and callees first.
TEST(Printer, OperandsAndCalleesComeFirst) {
  HloModule module("m");
  HloComputation* entry = module.AddComputation("e");
  module.set_entry(entry);
  HloInstruction* p = entry->Add(HloInstruction::CreateParameter(0, Shape(ElementType::kF32, {}), "p"));
  HloInstruction* first = entry->Add(HloOpcode::kNegate, p->shape(), {p});
  HloInstruction* second = entry->Add(HloOpcode::kAbs, p->shape(), {p});
  first->ReplaceOperand(0, second);
  HloComputation* callee = module.AddComputation("f");
  callee->set_root(callee->Add(HloInstruction::CreateParameter(0, p->shape(), "x")));
  HloInstruction* call = entry->Add(HloOpcode::kCall, p->shape(), {first});
  call->AddCalledComputation(callee);
  entry->set_root(call);
  EXPECT_EQ(PrintModule(module, PrintOptions::Short()), R"(HloModule m

f {
  ROOT x = f32[] parameter(0)
}

ENTRY e {
  p = f32[] parameter(0)
  abs = f32[] abs(p)
  negate = f32[] negate(abs)
  ROOT call = f32[] call(negate), to_apply=f
}
)");
}

}  // namespace
}  // namespace xc
