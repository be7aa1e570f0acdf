// Every form of a module: read back equal, told apart by content, refused with a clear message when broken.
#include "importers/io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "hlo/text/printer.h"
#include "hlo/wire/module_proto.h"
#include "hlo/wire/shape_proto.h"

namespace xc {
namespace {

// Every attribute once, and everything that HloModuleProto has no field of its own for.
constexpr char kModule[] =
    R"(HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {}, may-alias) }, buffer_donor={ (0, {}), (1, {}) }, alias_passthrough_params=true, entry_computation_layout={(f32[4]{0}, f32[4,4]{0,1:T(8,128)S(1)})->(f32[4]{0}, f32[4,4]{1,0})}, allow_spmd_sharding_propagation_to_parameters={false,true}, allow_spmd_sharding_propagation_to_output={true}, replica_count=2, num_partitions=4, frontend_attributes={a.b={x = #y<[]>},c="d"}, origin_recovery_table={
  {"a"} : {"b"}
}

FileNames
1 "f.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=153 end_line=153 column=2 end_column=31}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}


%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

%ge (x.1: f32[], y.1: f32[]) -> pred[] {
  %x.1 = f32[] parameter(0)
  %y.1 = f32[] parameter(1)
  ROOT %ge.1 = pred[] compare(%x.1, %y.1), direction=GE, type=TOTALORDER
}

%twice (x.2: f32[4]) -> f32[4] {
  %x.2 = f32[4]{0} parameter(0)
  ROOT %z = f32[4]{0} add(%x.2, %x.2)
}

%fused (x.3: f32[4]) -> f32[4] {
  %x.3 = f32[4]{0} parameter(0)
  ROOT %n = f32[4]{0} negate(%x.3)
}

%cond (x.4: f32[4]) -> pred[] {
  %x.4 = f32[4]{0} parameter(0)
  ROOT %false = pred[] constant(false)
}

%thread (x.5: f32[4]) -> f32[4] {
  ROOT %x.5 = f32[4]{0} parameter(0)
}, execution_thread="host"

ENTRY %e (a: f32[4], m: f32[4,4]) -> (f32[4], f32[4,4]) {
  %a = f32[4]{0} parameter(0), parameter_replication={true}
  %m = f32[4,4]{0,1:T(8,128)S(1)} parameter(1), metadata={op_type="x" op_name="y\"q\n" source_file="f" source_line=3 source_end_line=8 source_column=9 source_end_column=10 stack_frame_id=2 profile_type={1} deduplicated_name="dn" preserve_layout=true scheduling_name="sn" size_of_generated_code_in_bytes=5 size_of_memory_working_set_in_bytes=6 metadata_payload="p"}
  %i = s32[] constant(3)
  %p = pred[] constant(true)
  %t = token[] after-all()
  %c0 = f32[] constant(0)
  %c1 = f32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, -nan(0x5), -0 } })
  %c2 = (s4[3]{0}, (c64[], bf16[2]{0}, pred[2]{0})) constant(( {1, -8, 7}, ( (1, -2), {3.141, inf}, {1, 0} ) ))
  %c3 = f32[100]{0} constant({...})
  %c4 = f8e4m3fn[2]{0} constant({1.12, 448})
  %ar = f32[4]{0} all-reduce(%a), channel_id=3, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=%add
  %ai = f32[4]{0} all-reduce(%ar), replica_groups=[2,4]<=[4,2]T(1,0), constrain_layout=true, to_apply=%add
  %an = f32[4]{0} all-reduce(%ai), replica_groups={}, to_apply=%add
  %ag = f32[8]{0} all-gather(%a), replica_groups=[2,2]<=[4], dimensions={0}
  %cp = f32[4]{0} collective-permute(%a), channel_id=1, source_target_pairs={{0,1},{1,0}}
  %d = f32[4]{0} domain(%a), domain={kind="sharding", entry={replicated}, exit={maximal device=1}}
  %in = (f32[4]{0}, token[]) infeed(%t), infeed_config="abc"
  %out = token[] outfeed(%a, %t), outfeed_shape=f32[4]{0}, outfeed_config="abc"
  %send = (f32[4]{0}, u32[], token[]) send(%a, %t), channel_id=1, is_host_transfer=true
  %scan = (f32[4,4]{1,0}, f32[4]{0}) scan(%m, %a), dimensions={0}, num_carries=1, is_reverse=true, is_associative=false, to_apply=%add
  %dot = f32[4,4]{1,0} dot(%m, %m), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={high,highest}, sparsity=L.1@2:4, algorithm=dot_bf16_bf16_f32_x3
  %rd = f32[] ragged-dot(%a, %a, %a), lhs_contracting_dims={0}, rhs_contracting_dims={0}, lhs_ragged_dims={0}, rhs_group_dims={1}
  %conv = f32[4,4,4]{2,1,0} convolution(%m, %m), window={size=3 stride=2 pad=0_-1 lhs_dilate=2 rhs_dilate=3 rhs_reversal=1}, dim_labels=b0f_0io->bf0, feature_group_count=2, batch_group_count=3
  %br = f32[4]{0} conditional(%i, %a, %a), branch_computations={%twice, %twice}
  %tf = f32[4]{0} conditional(%p, %a, %a), true_computation=%twice, false_computation=%twice
  %w = f32[4]{0} while(%a), condition=%cond, body=%twice, backend_config={"known_trip_count":{"n":"5"}}
  %rng = f32[4]{0} rng(%c0, %c0), distribution=rng_uniform
  %rbg = (u64[2]{0}, u32[4]{0}) rng-bit-generator(%a), algorithm=rng_philox
  %state = u64[2]{0} rng-get-and-update-state(), delta=4096
  %cs = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(%a), cross_program_prefetch_index=0
  %cl = f32[4]{0} call(%a), to_apply=%twice, is_composite=true, frontend_attributes={composite.name="foo",x={1}}
  %f = f32[4]{0} fusion(%a), kind=kCustom, output_to_operand_aliasing={{}: (0, {}), {1}: (0, {1})}, calls=%fused
  %rs = f32[4,1]{1,0} reshape(%a), inferred_dimension=0
  %ch = f32[4,4]{1,0} cholesky(%m), lower=true
  %ts = f32[4,4]{1,0} triangular-solve(%m, %m), left_side=true, lower=true, unit_diagonal=true, transpose_a=ADJOINT
  %sl = f32[2]{0} slice(%a), slice={[1:4:2]}
  %ds = f32[2]{0} dynamic-slice(%a, %i), dynamic_slice_sizes={2}
  %pad = f32[6]{0} pad(%a, %c0), padding=1_-2_1
  %io = f32[4,4]{1,0} iota(), iota_dimension=1
  %rw = f32[4]{0} reduce-window(%a, %c0), window={size=1}, to_apply=%add
  %ss = f32[4]{0} select-and-scatter(%a, %a, %c0), window={size=1}, select=%ge, scatter=%add
  %so = (f32[4]{0}, f32[4]{0}) sort(%a, %a), dimensions={0}, is_stable=true, to_apply=%ge
  %tk = (f32[2]{0}, s32[2]{0}) topk(%a), k=2, largest=false
  %bn = f32[4,4]{1,0} batch-norm-inference(%m, %a, %a, %a, %a), epsilon=0.001, feature_index=1
  %ga = f32[4]{0} gather(%a, %i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, operand_batching_dims={1}, start_indices_batching_dims={2}, index_vector_dim=1, slice_sizes={1}, indices_are_sorted=true
  %sc = f32[4]{0} scatter(%a, %i, %a), update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={2}, input_batching_dims={3}, scatter_indices_batching_dims={4}, index_vector_dim=5, unique_indices=true, to_apply=%add
  %fft = c64[3]{0} fft(%a), fft_type=RFFT, fft_length={4}
  %rp = f32[4]{0} reduce-precision(%a), exponent_bits=5, mantissa_bits=10
  %gte = f32[4]{0} get-tuple-element(%so), index=1
  %sd = f32[<=4]{0} set-dimension-size(%a, %i), dimensions={0}
  %gd = s32[] get-dimension-size(%a), dimensions={0}
  %as = ((f32[4]{0}), f32[4]{0}, s32[]) async-start(%a), async_execution_thread="host", calls=%thread
  %ad = f32[4]{0} async-done(%as)
  %ex = f32[4]{0} exponential(%a), result_accuracy={tolerance={atol=0.1,rtol=0.2,ulps=3}}, origin={{"a" {0}}}
  %ex2 = f32[4]{0} exponential(%a), result_accuracy={mode=highest}
  %cc = (f32[4]{0}, f32[4]{0}) custom-call(%a, %m), window={size=3 stride=2}, dim_labels=b0f_0io->b0f, feature_group_count=2, batch_group_count=3, operand_precision={high,default}, padding_type=PADDING_SAME, custom_call_target="t", operand_layout_constraints={f32[4]{0}, f32[4,4]{0,1}}, custom_call_has_side_effect=true, literal=s32[2]{0} {1, 2}, output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST, api_version=API_VERSION_STATUS_RETURNING, called_computations={%twice, %add}, sharding={{devices=[2,1,4]<=[8] last_tile_dim_replicate}, {devices=[2,2]2,1,0,3 last_tile_dims={manual} shard_like 3 metadata={op_name="x"}}}, frontend_attributes={a="b"}, control-predecessors={%a, %m}, statistics={visualizing_index=0,s=1.5}, origin={({"u"}, {"v" {1,0}})}, metadata={op_name="x" stack_frame_id=1}, backend_config="x y"
  %nm = f32[4]{0} add(%a, %a), sharding={mesh['a'=2,'b'=4], [{'a'}]}
  %un = f32[?]{0} add(%a, %a)
  ROOT %r = (f32[4]{0}, f32[4,4]{1,0}) tuple(%a, %m)
}
)";

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

TEST(Wire, EverythingSurvives) {
  const auto module = Parse(kModule);
  ASSERT_NE(module, nullptr);
  ASSERT_EQ(PrintModule(*module), kModule);
  for (const ModuleFormat format : {ModuleFormat::kBinaryProto, ModuleFormat::kTextProto}) {
    const auto bytes = WriteModule(*module, format);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    // Protobuf text cannot be read back with the private fields in it.
    if (format == ModuleFormat::kTextProto) break;
    const auto again = ReadModule(*bytes);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PrintModule(**again), kModule);
    EXPECT_EQ(*WriteModule(**again, format), *bytes);
    EXPECT_TRUE((*again)->config().extra_proto.empty());
  }
}

// As another writer's message: fields that say what holds anyway, ids with gaps, and fields without a place.
constexpr char kForeign[] = R"(
hlo_module {
  name: "m"
  id: 7
  is_dynamic: true
  entry_computation_name: "e"
  entry_computation_id: 3
  computations {
    name: "cond" id: 1 root_id: 4294967296
    instructions { name: "p" opcode: "parameter" id: 4294967297 shape { element_type: F32 layout { tail_padding_alignment_in_elements: 1 } } }
    instructions { name: "c" opcode: "constant" id: 4294967296 shape { element_type: PRED } literal { shape { element_type: PRED } preds: true } }
  }
  computations {
    name: "body" id: 2 root_id: 8589934592
    instructions { name: "q" opcode: "parameter" id: 8589934592 shape { element_type: F32 } }
  }
  computations {
    name: "e" id: 3 root_id: 12884901891
    instructions { name: "z 1" opcode: "constant" id: 0 shape { element_type: F32 } metadata {} frontend_attributes {} statistics_viz {}
                   literal { shape { element_type: F32 } f32s: 1.5 } all_reduce_id: 9 }
    instructions { name: "w" opcode: "while" id: 12884901890 operand_ids: 0 called_computation_ids: 2 called_computation_ids: 1 shape { element_type: F32 } }
    instructions { name: "d" opcode: "dot" id: 12884901891 operand_ids: 0 operand_ids: 12884901890 shape { element_type: F32 } dot_dimension_numbers {}
                   precision_config { operand_precision: DEFAULT operand_precision: DEFAULT } control_predecessor_ids: 0 }
  }
}
)";

TEST(Wire, ReadsOtherWritersMessages) {
  const auto module = ReadModule(kForeign);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(PrintModule(**module), R"(HloModule m, entry_computation_layout={()->f32[]}

%cond (p: f32[]) -> pred[] {
  %p = f32[] parameter(0)
  ROOT %c = pred[] constant(true)
}

%body (q: f32[]) -> f32[] {
  ROOT %q = f32[] parameter(0)
}

ENTRY %e () -> f32[] {
  %z_1 = f32[] constant(1.5)
  %w = f32[] while(%z_1), condition=%cond, body=%body
  ROOT %d = f32[] dot(%z_1, %w), lhs_contracting_dims={}, rhs_contracting_dims={}, control-predecessors={%z_1}
}
)");
  const auto proto = ModuleToProto(**module);
  ASSERT_TRUE(proto.ok());
  EXPECT_EQ(proto->id(), 7);
  EXPECT_TRUE(proto->is_dynamic());
  EXPECT_EQ(proto->computations(2).instructions(0).all_reduce_id(), 9);
  EXPECT_EQ(proto->computations(2).instructions(1).id(), 12884901890);
  EXPECT_EQ(proto->computations(2).instructions(1).called_computation_ids(0), 2);
}

// The arrays that the parameters had, in all forms of the two kinds of snapshots.
// Groups by the axes of a mesh, which the writer gives as lists or in iota form.
TEST(Wire, ReplicaGroupsOfAMesh) {
  const auto module = ParseModule(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT sum = f32[] add(x, y) }
ENTRY e { a = f32[4] parameter(0) ROOT r = f32[4] all-reduce(a), replica_groups={}, to_apply=add })");
  ASSERT_TRUE(module.ok()) << module.status();
  auto proto = *ModuleToProto(**module);
  pb::HloInstructionProto* reduce = proto.mutable_computations(1)->mutable_instructions(1);
  ASSERT_EQ(reduce->opcode(), "all-reduce");
  const auto read = [&](const std::string& list) {
    reduce->clear_replica_group_list();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(list, reduce->mutable_mesh_axes_replica_group_list()));
    const auto again = ReadModule(proto.SerializeAsString());
    if (!again.ok()) return std::string(again.status().message());
    EXPECT_EQ(PrintModule(**ReadModule(*WriteModule(**again, ModuleFormat::kBinaryProto))), PrintModule(**again));
    return (*again)->entry()->root()->ToString();
  };
  const std::string mesh = "axes { name: 'a' size: 2 } axes { name: 'b' size: 4 }";
  EXPECT_THAT(read("mesh { " + mesh + " } axes { mesh_axis_index: 1 }"), testing::HasSubstr("[2,4]<=[8]"));
  EXPECT_THAT(read("mesh { " + mesh + " } axes { mesh_axis_index: 1 sub_axis_info { pre_size: 1 size: 2 } }"),
              testing::HasSubstr("[4,2]<=[2,2,2]T(0,2,1)"));
  EXPECT_THAT(read("mesh { " + mesh + " device_ids: [7, 6, 5, 4, 3, 2, 1, 0] } axes { mesh_axis_index: 0 }"),
              testing::HasSubstr("{{7,3},{6,2},{5,1},{4,0}}"));
  EXPECT_THAT(read("mesh { " + mesh +
                   " iota_transform { reshape_dims: [4, 2] transpose_perm: [1, 0] } }"
                   " axes { mesh_axis_index: 1 }"),
              testing::HasSubstr("{{0,2,4,6},{1,3,5,7}}"));
  EXPECT_THAT(read("mesh { " + mesh + " } axes { mesh_axis_index: 2 }"), testing::HasSubstr("it has no axis number 2"));
}

TEST(Wire, ArgumentsOfSnapshots) {
  const auto module = Parse(R"(HloModule m
ENTRY e { a = s32[2,2]{0,1} parameter(0)
  b = (f32[], pred[2]) parameter(1)
  ROOT r = s32[2,2] copy(a) })");
  ASSERT_NE(module, nullptr);
  Literal first(Shape(ElementType::kS32, {2, 2}));
  for (int i = 0; i < 4; ++i) first.SetInt(i, i + 1);
  Literal flags(Shape(ElementType::kPred, {2}));
  flags.SetInt(1, 1);
  std::vector<Literal> parts;
  parts.push_back(Literal::Scalar<float>(ElementType::kF32, 1.5f));
  parts.push_back(flags.Clone());
  const Literal second = Literal::Tuple(std::move(parts));
  const auto proto = ModuleToProto(*module);
  ASSERT_TRUE(proto.ok());

  pb::HloSnapshot snapshot;
  *snapshot.mutable_hlo()->mutable_hlo_module() = *proto;
  pb::HloUnoptimizedSnapshot unoptimized;
  *unoptimized.mutable_hlo_module() = *proto;
  pb::HloUnoptimizedSnapshot sizes = unoptimized;
  pb::HloInputs* partition = unoptimized.add_partitions();
  unoptimized.add_partitions();
  for (const Literal* argument : {&std::as_const(first), &second}) {
    LiteralToProto(*argument, snapshot.add_arguments());
    LiteralToProto(*argument, partition->add_arguments());
  }
  // The delimited form: columns of the first argument stand one after the other, as its layout says.
  std::string raw;
  const auto add = [&](const char* shape, const std::vector<char>& bytes) {
    pb::ShapeProto message;
    ShapeToProto(*ParseShape(shape), &message);
    std::string argument(8, '\0');
    argument[0] = static_cast<char>(message.ByteSizeLong());
    argument += message.SerializeAsString();
    argument.append(bytes.begin(), bytes.end());
    raw += argument;
    auto* descriptor =
        (sizes.partitions_size() ? sizes.mutable_partitions(0) : sizes.add_partitions())->add_arguments_descriptors();
    descriptor->set_argument_size_bytes(argument.size());
  };
  add("s32[2,2]{0,1}", {1, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0});
  add("(f32[], pred[2])", {0, 0, '\xc0', 0x3f, 0, 1});
  const std::string message = sizes.SerializeAsString();
  std::string delimited;
  for (size_t rest = message.size(); rest > 0 || delimited.empty(); rest >>= 7) {
    delimited.push_back(static_cast<char>((rest & 0x7f) | (rest >> 7 ? 0x80 : 0)));
  }
  delimited += message + raw;

  for (const std::string& bytes : {snapshot.SerializeAsString(), snapshot.DebugString(),
                                   unoptimized.SerializeAsString(), unoptimized.DebugString(), delimited}) {
    std::vector<Literal> arguments;
    const auto read = ReadModule(bytes, {}, &arguments);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(arguments.size(), 3u);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(arguments[0].GetInt(i), i + 1);
    EXPECT_EQ(arguments[1].GetDouble(0), 1.5);
    EXPECT_EQ(arguments[2].GetInt(1), 1);
  }
  std::vector<Literal> arguments;
  EXPECT_EQ(ReadModule(delimited.substr(0, delimited.size() - 1), {}, &arguments).status().message(),
            "argument 1 of the snapshot: the file ends before it");
  EXPECT_TRUE(ReadModule(delimited.substr(0, delimited.size() - 1)).ok());  // the module is all there
  delimited[delimited.size() - raw.size() + 8] = 0x7f;
  arguments.clear();
  EXPECT_EQ(ReadModule(delimited, {}, &arguments).status().message(),
            "argument 0 of the snapshot: its shape cannot be read");
}

TEST(Wire, FormIsToldByContent) {
  const auto module = Parse("HloModule m\nENTRY e { ROOT c = s32[] constant(7) }");
  ASSERT_NE(module, nullptr);
  const std::string text = PrintModule(*module);
  const auto proto = ModuleToProto(*module);
  ASSERT_TRUE(proto.ok());
  pb::HloProto hlo;
  *hlo.mutable_hlo_module() = *proto;
  pb::HloSnapshot snapshot;
  *snapshot.mutable_hlo() = hlo;
  std::string module_text, hlo_text;
  google::protobuf::TextFormat::PrintToString(*proto, &module_text);
  google::protobuf::TextFormat::PrintToString(hlo, &hlo_text);
  for (const std::string& bytes : {text, "// comment\n\n" + text, proto->SerializeAsString(), hlo.SerializeAsString(),
                                   snapshot.SerializeAsString(), module_text, "# comment\n" + hlo_text}) {
    const auto read = ReadModule(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(PrintModule(**read), text);
  }
  pb::HloUnoptimizedSnapshot unoptimized;
  *unoptimized.mutable_hlo_module() = *proto;
  for (const std::string& bytes : {unoptimized.SerializeAsString(), unoptimized.DebugString()}) {
    const auto read = ReadModule(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(PrintModule(**read), text);
  }
  const std::string path = testing::TempDir() + "/m.pb";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  const std::string bytes = hlo.SerializeAsString();
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  ASSERT_TRUE(ReadModuleFile(path).ok());
  EXPECT_EQ(ReadModuleFile(path + ".not").status().message(),
            absl::StrCat("cannot read ", path, ".not: No such file or directory"));
  EXPECT_EQ(
      ReadModule(absl::string_view("\x00\x01\x02", 3)).status().message(),
      "this is no module: neither HLO or StableHLO text, nor MLIR bytecode (plain, or as jax.export packs it), nor a "
      "message HloModuleProto, HloProto or HloSnapshot. `xla graph` runs GraphDefs; xc_load_program and Python's "
      "xla.load "
      "run what `xla compile` wrote");
  EXPECT_EQ(ReadModule("ML\xefR\rStableHLO_v1.13.0").status().message(),
            "MLIR bytecode, byte 5: file: expected a string that ends with a zero");
  EXPECT_EQ(
      std::string(ReadModule("hlo_module { nome: 3 }").status().message()),
      "cannot read this protobuf text: line 1, column 18: Message type \"xc.pb.HloModuleProto\" has no field named "
      "\"nome\".");
}

// Reads kForeign after one replacement.
std::string ErrorAfter(const std::string& from, const std::string& to) {
  std::string text = kForeign;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto module = ReadModule(text);
  return module.ok() ? "ok" : std::string(module.status().message());
}

TEST(Wire, BrokenMessagesAreRefused) {
  EXPECT_EQ(ErrorAfter("opcode: \"dot\"", "opcode: \"dat\""),
            "computation 'e': instruction 'd': opcode 'dat' is not known");
  EXPECT_EQ(ErrorAfter("operand_ids: 0 called", "operand_ids: 5 called"),
            "computation 'e': instruction 'w': its operand, id 5, does not come before it");
  EXPECT_EQ(ErrorAfter("operand_ids: 0 operand_ids: 12884901890", "operand_ids: 12884901891 operand_ids: 0"),
            "computation 'e': instruction 'd': its operand, id 12884901891, does not come before it");
  EXPECT_EQ(ErrorAfter("operand_ids: 0 called", "operand_ids: 0 operand_ids: 0 called"),
            "computation 'e': instruction 'w': while takes 1 operand, found 2");
  EXPECT_EQ(ErrorAfter("id: 12884901890", "id: 0"), "computation 'e': instruction 'w': id 0 is used twice");
  EXPECT_EQ(ErrorAfter("id: 12884901890", "id: -1"), "instruction id -1 is out of range");
  EXPECT_EQ(ErrorAfter("called_computation_ids: 2 ", ""),
            "computation 'e': instruction 'w': while calls 1 computation, but should call 2");
  EXPECT_EQ(ErrorAfter("called_computation_ids: 2 ", "called_computation_ids: 9 "),
            "computation 'e': instruction 'w': it calls computation 9, which is not there");
  EXPECT_EQ(ErrorAfter("called_computation_ids: 2 ", "called_computation_ids: 3 "),
            "computation 'e' calls itself, directly or through others");
  EXPECT_EQ(ErrorAfter("root_id: 12884901891", "root_id: 8"), "computation 'e': its root, id 8, is not in it");
  EXPECT_EQ(ErrorAfter("entry_computation_id: 3", "entry_computation_id: 4"),
            "the entry computation, id 4, is not there");
  EXPECT_EQ(ErrorAfter("name: \"body\" id: 2", "name: \"body\" id: 1"), "computation id 1 is used twice");
  EXPECT_EQ(ErrorAfter("f32s: 1.5", ""),
            "computation 'e': instruction 'z 1': the literal f32[] needs 1 elements, found 0");
  EXPECT_EQ(ErrorAfter("shape { element_type: PRED } preds: true", "shape { element_type: U8 } u8s: \"a\""),
            "computation 'cond': instruction 'c': its literal has the shape u8[], the instruction pred[]");
  EXPECT_EQ(ErrorAfter("literal { shape { element_type: PRED } preds: true }", ""),
            "computation 'cond': instruction 'c': a constant needs a literal");
  EXPECT_EQ(ErrorAfter("f32s: 1.5 }", "f32s: 1.5 } parameter_number: 3"), "ok");
  EXPECT_EQ(
      ErrorAfter("opcode: \"parameter\" id: 8589934592", "opcode: \"parameter\" id: 8589934592 parameter_number: 99"),
      "computation 'body': instruction 'q': parameter number 99 is out of range");
  EXPECT_EQ(
      ErrorAfter("opcode: \"parameter\" id: 8589934592", "opcode: \"parameter\" id: 8589934592 parameter_number: 2"),
      "computation 'body': it has no parameter 0, but one with a higher number");
  EXPECT_EQ(ErrorAfter("control_predecessor_ids: 0", "control_predecessor_ids: 77"),
            "computation 'e': instruction 'd': its control predecessor, id 77, is not there");
  EXPECT_EQ(ErrorAfter("operand_ids: 0 called", "operand_ids: 0 control_predecessor_ids: 12884901891 called"),
            "computation 'e': control predecessors and operands make a cycle");
  EXPECT_EQ(ErrorAfter("shape { element_type: F32 } dot_",
                       "shape { element_type: F32 dimensions: 9000000000000000000 dimensions: 9 } dot_"),
            "computation 'e': instruction 'd': the byte size of f32[9000000000000000000,9] does not fit into 63 bits");
  EXPECT_EQ(ErrorAfter("shape { element_type: F32 } dot_", "shape { } dot_"),
            "computation 'e': instruction 'd': a shape has no element type");
  EXPECT_EQ(ErrorAfter("shape { element_type: F32 } dot_",
                       "shape { element_type: F32 dimensions: 2 layout { minor_to_major: 3 } } dot_"),
            "computation 'e': instruction 'd': layout {3} of f32[2] is not a permutation of its 1 dimensions");
  EXPECT_EQ(ErrorAfter("precision_config {", "precision_config { algorithm: ALG_DOT_F16_F16_F16 "), "ok");
}

TEST(Wire, LiteralsOfEveryType) {
  for (int t = 1; t < kElementTypeCount; ++t) {
    const ElementType type = static_cast<ElementType>(t);
    if (!IsArrayType(type)) continue;
    Shape shape(type, {2, 3});
    shape.set_layout({{0, 1}});
    Literal literal(shape);
    for (int i = 0; i < 6; ++i) literal.SetInt(i, IsSubByte(type) ? i % 2 : i + 1);
    pb::LiteralProto proto;
    LiteralToProto(literal, &proto);
    const auto again = LiteralFromProto(proto);
    ASSERT_TRUE(again.ok()) << ElementTypeName(type) << again.status();
    EXPECT_TRUE(again->BitEqual(literal)) << ElementTypeName(type);
    EXPECT_EQ(again->shape(), shape);
    proto.mutable_shape()->set_dimensions(0, 3);
    EXPECT_FALSE(LiteralFromProto(proto).ok()) << ElementTypeName(type);
  }
  // Elements are written in the order of the layout.
  Shape shape(ElementType::kF32, {2, 2});
  shape.set_layout({{0, 1}});
  const auto literal = ParseLiteral(shape, "{{1,2},{3,4}}");
  ASSERT_TRUE(literal.ok());
  pb::LiteralProto proto;
  LiteralToProto(*literal, &proto);
  EXPECT_EQ(proto.f32s(1), 3);
}

// Damaged messages give an error or a module that can be printed, never a crash.
TEST(Wire, DamagedBytesNeverCrash) {
  const auto module = Parse(kModule);
  ASSERT_NE(module, nullptr);
  const std::string bytes = *WriteModule(*module, ModuleFormat::kBinaryProto);
  std::mt19937 random(1);  // seeded: the same damage in every run
  int read = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = bytes;
    const int changes = 1 + random() % 4;
    for (int i = 0; i < changes; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (round % 8 == 0) damaged.resize(random() % damaged.size());
    const auto result = ReadModule(damaged);
    if (!result.ok()) continue;
    ++read;
    EXPECT_FALSE(PrintModule(**result).empty());
    (void)ModuleToProto(**result);
  }
  EXPECT_GT(read, 10);
  for (int round = 0; round < 2000; ++round) {
    std::string noise(random() % 200, 0);
    for (char& c : noise) c = static_cast<char>(random());
    (void)ReadModule(noise);
  }
}

}  // namespace
}  // namespace xc
