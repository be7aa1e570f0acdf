// Functions, control flow, custom calls, chlo, locations, and what a module says of its parameters.
#include "importers/stablehlo/test_support.h"

namespace xc {
namespace {

// Names that HLO text cannot have are made ones that it can (ExpectHlo reads back what is printed).
TEST(StableHlo, FunctionsBecomeCalls) {
  ExpectHlo(R"(module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf32> {mhlo.layout_mode = "default"}) -> (tensor<4xf32> {jax.result_info = ""}) {
    %0:2 = call @"<lambda>"(%arg0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %1 = func.call @twice(%0#1) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @"<lambda>"(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = call @twice(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    return %arg0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @nobody_calls_me(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
})",
            R"(HloModule jit_f
twice { a = f32[4] parameter(0) ROOT b = f32[4] add(a, a) }
lambda { a = f32[4] parameter(0) b = f32[4] call(a), to_apply=twice ROOT t = (f32[4], f32[4]) tuple(a, b) }
ENTRY main {
  a = f32[4] parameter(0)
  c = (f32[4], f32[4]) call(a), to_apply=lambda
  c0 = f32[4] get-tuple-element(c), index=0
  c1 = f32[4] get-tuple-element(c), index=1
  ROOT r = f32[4] call(c1), to_apply=twice
})");
}

TEST(StableHlo, GenericFormOfAll) {
  ExpectHlo(R"("builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
    %2 = "stablehlo.add"(%arg0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%2) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32} : () -> ())",
            R"(HloModule m
ENTRY main {
  a = f32[2] parameter(0)
  o = f32[] constant(1)
  b = f32[2] broadcast(o), dimensions={}
  ROOT r = f32[2] add(a, b)
})");
}

// Constants from outside are made again inside; other values join the loop's state.
TEST(StableHlo, WhileTakesWhatItUses) {
  ExpectHlo(R"(func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %n = stablehlo.constant dense<10> : tensor<i32>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %i0, %iterArg_0 = %x) : tensor<i32>, tensor<f32>
   cond {
    %1 = stablehlo.compare  LT, %iterArg, %n,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %iterArg, %one : tensor<i32>
    %2 = stablehlo.multiply %iterArg_0, %y : tensor<f32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
})",
            R"(HloModule m
cond {
  s = (s32[], f32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  y = f32[] get-tuple-element(s), index=2
  n = s32[] constant(10)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  y = f32[] get-tuple-element(s), index=2
  o = s32[] constant(1)
  j = s32[] add(i, o)
  z = f32[] multiply(x, y)
  ROOT t = (s32[], f32[], f32[]) tuple(j, z, y)
}
ENTRY main {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  n = s32[] constant(10)
  i = s32[] constant(0)
  s = (s32[], f32[], f32[]) tuple(i, x, y)
  w = (s32[], f32[], f32[]) while(s), condition=cond, body=body
  w0 = s32[] get-tuple-element(w), index=0
  ROOT w1 = f32[] get-tuple-element(w), index=1
})");
}

TEST(StableHlo, Branches) {
  ExpectHlo(R"(func.func @main(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "stablehlo.if"(%p) ({
    %2 = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }, {
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %1 = "stablehlo.case"(%i) ({
    %2 = stablehlo.constant dense<1.0> : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
})",
            R"(HloModule m
yes { x = f32[2] parameter(0) ROOT n = f32[2] negate(x) }
no { ROOT x = f32[2] parameter(0) }
one { s = () parameter(0) c = f32[] constant(1) ROOT b = f32[2] broadcast(c), dimensions={} }
ENTRY main {
  p = pred[] parameter(0)
  i = s32[] parameter(1)
  x = f32[2] parameter(2)
  c = f32[2] conditional(p, x, x), true_computation=yes, false_computation=no
  e = () tuple()
  d = f32[2] conditional(i, e), branch_computations={one}
  ROOT t = (f32[2], f32[2]) tuple(c, d)
})");
}

TEST(StableHlo, TuplesTokensAndBarriers) {
  ExpectOps("%x: tensor<2xf32>, %y: tensor<i32>", "(tensor<i32>, tensor<2xf32>, !stablehlo.token)",
            R"(%0 = stablehlo.tuple %x, %y : tuple<tensor<2xf32>, tensor<i32>>
               %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
               %2:2 = stablehlo.optimization_barrier %x, %1 : tensor<2xf32>, tensor<i32>
               %3 = stablehlo.create_token : !stablehlo.token
               %4 = stablehlo.after_all %3, %3 : !stablehlo.token
               return %2#1, %2#0, %4 : tensor<i32>, tensor<2xf32>, !stablehlo.token)",
            R"(x = f32[2] parameter(0)
               y = s32[] parameter(1)
               t = (f32[2], s32[]) tuple(x, y)
               g = s32[] get-tuple-element(t), index=1
               u = (f32[2], s32[]) tuple(x, g)
               b = (f32[2], s32[]) opt-barrier(u)
               b0 = f32[2] get-tuple-element(b), index=0
               b1 = s32[] get-tuple-element(b), index=1
               k = token[] after-all()
               l = token[] after-all(k, k)
               ROOT r = (s32[], f32[2], token[]) tuple(b1, b0, l))");
}

TEST(StableHlo, RandomBits) {
  ExpectOps(
      "%s: tensor<2xui64>, %a: tensor<f32>", "(tensor<2xui64>, tensor<4xui32>, tensor<3xf32>)",
      R"(%state, %bits = stablehlo.rng_bit_generator %s, algorithm =  THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
               %n = stablehlo.constant dense<3> : tensor<1xi64>
               %1 = stablehlo.rng %a, %a, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
               return %state, %bits, %1 : tensor<2xui64>, tensor<4xui32>, tensor<3xf32>)",
      R"(s = u64[2] parameter(0)
               a = f32[] parameter(1)
               g = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry
               g0 = u64[2] get-tuple-element(g), index=0
               g1 = u32[4] get-tuple-element(g), index=1
               n = s64[] constant(3)
               m = s64[1] broadcast(n), dimensions={}
               r = f32[3] rng(a, a), distribution=rng_normal
               ROOT t = (u64[2], u32[4], f32[3]) tuple(g0, g1, r))");
}

TEST(StableHlo, CustomCalls) {
  ExpectOps(
      "%a: tensor<5x5xf32>", "tensor<5x5xf32>",
      R"(%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {backend_config = "", mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<5x5xf32>) -> (tensor<5x5xf32>, tensor<i32>)
               %1 = stablehlo.custom_call @f(%0#0) {backend_config = "{\22a\22: 1}", has_side_effect = true} : (tensor<5x5xf32>) -> tensor<5x5xf32>
               return %1 : tensor<5x5xf32>)",
      R"(a = f32[5,5] parameter(0)
               c = (f32[5,5]{0,1}, s32[]) custom-call(a), custom_call_target="lapack_spotrf_ffi", operand_layout_constraints={f32[5,5]{0,1}}, output_to_operand_aliasing={{0}: (0, {})}, api_version=API_VERSION_TYPED_FFI, frontend_attributes={num_batch_dims="0"}, backend_config={uplo = 76 : ui8}
               c0 = f32[5,5]{0,1} get-tuple-element(c), index=0
               l = f32[5,5] copy(c0)
               c1 = s32[] get-tuple-element(c), index=1
               ROOT f = f32[5,5] custom-call(l), custom_call_target="f", custom_call_has_side_effect=true, backend_config="{\"a\": 1}")");
}

TEST(StableHlo, Tags) {
  ExpectOps("%a: tensor<2xf32>", "tensor<2xf32>",
            R"(%0 = stablehlo.sine %a {mhlo.frontend_attributes = {made_by = "me"}} : tensor<2xf32>
               return %0 : tensor<2xf32>)",
            R"(a = f32[2] parameter(0)
               ROOT r = f32[2] sine(a), frontend_attributes={made_by="me"})");
}

TEST(StableHlo, Composites) {
  ExpectHlo(R"(func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.composite "my.op" %x {composite_attributes = {n = 1 : i64}, decomposition = @impl, version = 2 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @impl(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
})",
            R"(HloModule m
impl { x = f32[2] parameter(0) ROOT e = f32[2] erf(x) }
ENTRY main {
  x = f32[2] parameter(0)
  ROOT c = f32[2] call(x), to_apply=impl, is_composite=true, frontend_attributes={composite.attributes={n = 1 : i64},composite.name="my.op",composite.version="2"}
})");
}

TEST(StableHlo, Chlo) {
  ExpectOps("%x: tensor<2x5xf32>, %y: tensor<5xf32>",
            "(tensor<2x5xf32>, tensor<2x3xi32>, tensor<2x5xi1>, tensor<2x5xf32>)",
            R"(%0 = chlo.atan %x : tensor<2x5xf32> -> tensor<2x5xf32>
               %v, %i = chlo.top_k(%x, k = 3) : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
               %1 = chlo.is_inf %x : tensor<2x5xf32> -> tensor<2x5xi1>
               %2 = chlo.broadcast_add %x, %y : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
               return %0, %i, %1, %2 : tensor<2x5xf32>, tensor<2x3xi32>, tensor<2x5xi1>, tensor<2x5xf32>)",
            R"(x = f32[2,5] parameter(0)
               y = f32[5] parameter(1)
               o = f32[] constant(1)
               p = f32[2,5] broadcast(o), dimensions={}
               a = f32[2,5] atan2(x, p)
               k = (f32[2,3], s32[2,3]) topk(x), k=3, largest=true
               k0 = f32[2,3] get-tuple-element(k), index=0
               k1 = s32[2,3] get-tuple-element(k), index=1
               z = f32[2,5] abs(x)
               i = f32[] constant(inf)
               j = f32[2,5] broadcast(i), dimensions={}
               e = pred[2,5] compare(z, j), direction=EQ
               b = f32[2,5] broadcast(y), dimensions={1}
               s = f32[2,5] add(x, b)
               ROOT t = (f32[2,5], s32[2,3], pred[2,5], f32[2,5]) tuple(a, k1, e, s))");
}

TEST(StableHlo, Collectives) {
  ExpectOps(
      "%x: tensor<4xf32>", "tensor<4xf32>",
      R"(%0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>, use_global_device_ids}> ({
               ^bb0(%a: tensor<f32>, %b: tensor<f32>):
                 %1 = stablehlo.add %a, %b : tensor<f32>
                 stablehlo.return %1 : tensor<f32>
               }) : (tensor<4xf32>) -> tensor<4xf32>
               return %0 : tensor<4xf32>)",
      R"(x = f32[4] parameter(0)
               ROOT r = f32[4] all-reduce(x), channel_id=1, replica_groups={{0,1},{2}}, use_global_device_ids=true, to_apply=add
             }
             add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b))");
}

TEST(StableHlo, CallsThatAreOperations) {
  ExpectOps(
      "%x: tensor<4xf32>", "(tensor<2xf32>, tensor<2xi32>)",
      R"(%0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
               %1:2 = stablehlo.custom_call @mhlo.topk(%0) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
               return %1#0, %1#1 : tensor<2xf32>, tensor<2xi32>)",
      R"(x = f32[4] parameter(0)
               e = f32[4] erf(x)
               k = (f32[2], s32[2]) topk(e), k=2, largest=true
               k0 = f32[2] get-tuple-element(k), index=0
               k1 = s32[2] get-tuple-element(k), index=1
               ROOT t = (f32[2], s32[2]) tuple(k0, k1))");
}

// The pairs of a program that checks itself are its root.
TEST(StableHlo, SelfChecks) {
  ExpectOps("%x: tensor<f32>, %y: tensor<f32>", "tensor<f32>",
            R"(%0 = stablehlo.negate %x : tensor<f32>
               stablehlo.custom_call @check.expect_eq(%0, %y) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
               return %0 : tensor<f32>)",
            R"(x = f32[] parameter(0)
               y = f32[] parameter(1)
               n = f32[] negate(x)
               ROOT t = (f32[], f32[]) tuple(n, y))");
}

TEST(StableHlo, BoundedSizes) {
  ExpectOps("%x: tensor<?x3xf32, #stablehlo.bounds<5, ?>>", "tensor<i32>",
            R"(%0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<i32>
               return %0 : tensor<i32>)",
            R"(x = f32[<=5,3] parameter(0)
               ROOT s = s32[] get-dimension-size(x), dimensions={0})");
}

TEST(StableHlo, AliasesAndDonors) {
  auto module = ParseStableHlo(R"(module @m attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%a: tensor<f32> {tf.aliasing_output = 1 : i32}, %b: tensor<f32> {jax.buffer_donor = true}) -> (tensor<f32>, tensor<f32>) {
    return %b, %a : tensor<f32>, tensor<f32>
  }
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const ModuleConfig& config = (*module)->config();
  ASSERT_EQ(config.input_output_alias.size(), 1u);
  EXPECT_EQ(config.input_output_alias[0], (InputOutputAlias{{1}, 0, {}, false}));
  ASSERT_EQ(config.buffer_donors.size(), 1u);
  EXPECT_EQ(config.buffer_donors[0], (BufferDonor{1, {}}));
  EXPECT_EQ(config.replica_count, 2);
}

// As jax.jit writes them for arrays with shardings on a mesh of one device.
TEST(StableHlo, Meshes) {
  ExpectHlo(R"(module @m {
  sdy.mesh @empty_mesh = <[]>
  sdy.mesh @mesh = <["i"=1, "j"=1]> {stablehlo.mesh = {axes = [{name = "i", size = 1 : i64}, {name = "j", size = 1 : i64}]}} loc("here")
  sdy.mesh @one = <["i"=1], device_ids=[0]>
  func.func public @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>}) -> tensor<4xf32> {
    %0 = stablehlo.negate %a : tensor<4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"i", ?}]> : tensor<4xf32>
    sdy.sharding_group %1 group_id=0 : tensor<4xf32>
    %2 = sdy.propagation_barrier %1 allowed_direction=NONE {note = "x"} : tensor<4xf32>
    %3 = "sdy.reshard"(%2) <{sharding = #sdy.sharding<@mesh, [{}]>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
})",
            R"(HloModule m
ENTRY main {
  a = f32[4] parameter(0)
  ROOT n = f32[4] negate(a)
})");
}

TEST(StableHlo, Locations) {
  auto module = ParseStableHlo(R"(#loc = loc(unknown)
module {
  func.func @main(%a: tensor<f32> loc("a")) -> tensor<f32> {
    %0 = stablehlo.abs %a : tensor<f32> loc(#loc4)
    %1 = stablehlo.sqrt %0 : tensor<f32> loc(fused<"why">[callsite("f" at unknown), "g"])
    %2 = stablehlo.cosine %1 : tensor<f32> loc(#loc9)
    return %2 : tensor<f32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("model.py":7:12 to :20)
#loc3 = loc(callsite(#loc2 at #loc))
#loc4 = loc("jit(f)/abs"(#loc3))
#loc9 = loc("in a circle"(#loc9))
)");
  ASSERT_TRUE(module.ok()) << module.status();
  const HloInstruction* cosine = (*module)->entry()->root();
  const auto metadata = [](const HloInstruction* instruction) { return instruction->attr<AttrKind::kMetadata>(); };
  EXPECT_EQ(metadata(cosine).op_name, "in a circle");
  EXPECT_EQ(metadata(cosine->operand(0)).op_name, "f");
  const Metadata abs = metadata(cosine->operand(0)->operand(0));
  EXPECT_EQ(abs.op_name, "jit(f)/abs");
  EXPECT_EQ(abs.source_file, "model.py");
  EXPECT_EQ(abs.source_line, 7);
  EXPECT_EQ(abs.source_end_column, 20);
}

// A long name that many operations share is not copied as a whole to each.
TEST(StableHlo, LongNamesOfPlaces) {
  std::string text =
      "#loc1 = loc(\"" + std::string(1 << 20, 'n') + "\")\nfunc.func @main(%0: tensor<f32>) -> tensor<f32> {\n";
  constexpr int kOperations = 1000;
  for (int i = 0; i < kOperations; ++i) {
    text += absl::StrCat("  %", i + 1, " = stablehlo.negate %", i, " : tensor<f32> loc(#loc1)\n");
  }
  text += absl::StrCat("  return %", kOperations, " : tensor<f32>\n}\n");
  auto module = ParseStableHlo(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const HloInstruction* root = (*module)->entry()->root();
  EXPECT_EQ(root->attr<AttrKind::kMetadata>().op_name, std::string(1000, 'n'));
  // Not within a character.
  std::string name = "n";
  for (int i = 0; i < 600; ++i) name += "\xc3\xa9";
  module = ParseStableHlo(absl::StrCat("func.func @main(%0: tensor<f32>) -> tensor<f32> {\n",
                                       "  %1 = stablehlo.negate %0 : tensor<f32> loc(\"", name,
                                       "\")\n  return %1 : tensor<f32>\n}\n"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->entry()->root()->attr<AttrKind::kMetadata>().op_name, name.substr(0, 999));
}

// Layouts that JAX asks for at the entry; "auto" leaves them to the compiler, which does
// not move what is only transposed.
TEST(StableHlo, LayoutModesAreLayoutsOfTheEntry) {
  auto module = ParseStableHlo(
      R"(func.func public @main(%x: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}, %y: tensor<2x3xf32> {mhlo.layout_mode = "auto"}) -> (tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) {
  %0 = stablehlo.add %x, %y : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const ModuleConfig& config = (*module)->config();
  ASSERT_EQ(config.entry_parameter_layouts.size(), 2);
  EXPECT_EQ(config.entry_parameter_layouts[0].ToString(), "f32[2,3]{0,1}");
  EXPECT_EQ(config.entry_parameter_layouts[1].ToString(), "f32[2,3]{1,0}");
  EXPECT_EQ(config.entry_result_layout.ToString(), "f32[2,3]{0,1}");
  module = ParseStableHlo(
      R"(func.func public @main(%x: tensor<2x3x5xf32> {mhlo.layout_mode = "auto"}) -> (tensor<5x2x3xf32> {mhlo.layout_mode = "auto"}) {
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
  %1 = stablehlo.add %0, %0 : tensor<5x2x3xf32>
  return %1 : tensor<5x2x3xf32>
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->config().entry_parameter_layouts[0].ToString(), "f32[2,3,5]{2,1,0}");
  EXPECT_EQ((*module)->config().entry_result_layout.ToString(), "f32[5,2,3]{0,2,1}");
  ExpectRefused(
      R"(func.func public @main(%x: tensor<2x3xf32> {mhlo.layout_mode = "{0,0}"}) -> tensor<2x3xf32> {
  return %x : tensor<2x3xf32>
})",
      "`mhlo.layout_mode` should be");
}

}  // namespace
}  // namespace xc
