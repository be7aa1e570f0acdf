// Meshes of several devices and the dialect sdy, as jax.jit and jax.shard_map write them.
#include <gtest/gtest.h>

#include "importers/stablehlo/test_support.h"

namespace xc {
namespace {

TEST(Sharding, ArgumentsResultsAndConstraints) {
  ExpectHlo(R"(module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<8x8xf32>) -> (tensor<8x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
    %0 = stablehlo.add %a, %b : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"y"}, {?}]> : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
})",
            R"(HloModule m
ENTRY main {
  a = f32[8,8] parameter(0), sharding={devices=[2,2]0,1,2,3}
  b = f32[8,8] parameter(1)
  c = f32[8,8] add(a, b)
  d = f32[8,8] custom-call(c), custom_call_target="Sharding", sharding={devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}, backend_config="unspecified_dims=[1]"
  ROOT e = f32[8,8] custom-call(d), custom_call_target="Sharding", sharding={devices=[1,4]0,1,2,3}
})");
}

TEST(Sharding, Summands) {
  ExpectHlo(R"(module @m attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>}) -> tensor<f32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %1 = sdy.sharding_constraint %0 <@mesh, [], replicated={"y"}, unreduced={"x"}> : tensor<f32>
    return %1 : tensor<f32>
  }
})",
            R"(HloModule m
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }
ENTRY main {
  a = f32[8] parameter(0), sharding={devices=[2,2]0,1,2,3 last_tile_dims={unreduced}}
  z = f32[] constant(0)
  r = f32[] reduce(a, z), dimensions={0}, to_apply=add
  ROOT s = f32[] custom-call(r), custom_call_target="Sharding", sharding={devices=[2,2]0,1,2,3 last_tile_dims={unreduced, replicated}}
})");
}

TEST(Sharding, Groups) {
  ExpectHlo(R"(module @m attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.negate %a : tensor<8xf32>
    sdy.sharding_group %a group_id=7 : tensor<8xf32>
    "sdy.sharding_group"(%0) <{group_id = 7 : i64}> : (tensor<8xf32>) -> ()
    return %0 : tensor<8xf32>
  }
})",
            R"(HloModule m
ENTRY main {
  a = f32[8] parameter(0), sharding={devices=[4]0,1,2,3}
  g = f32[8] custom-call(a), custom_call_target="xla.sdy.ShardingGroup", frontend_attributes={xla.sdy.sharding_group_id="7"}
  ROOT n = f32[8] negate(a)
  h = f32[8] custom-call(n), custom_call_target="xla.sdy.ShardingGroup", frontend_attributes={xla.sdy.sharding_group_id="7"}
})");
}

// JAX annotates the scalars of comparators as well, and moves constants out of them.
TEST(Sharding, AnnotatedConstantsOfRegions) {
  ExpectHlo(R"(module @m attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = sdy.sharding_constraint %c <@mesh, []> : tensor<f32>
    %2 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %3 = stablehlo.maximum %x, %1 : tensor<f32>
      %4 = sdy.sharding_constraint %3 <@mesh, []> : tensor<f32>
      %5 = stablehlo.compare LT, %4, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
})",
            R"(HloModule m
r {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  c = f32[] constant(0)
  m = f32[] maximum(x, c)
  ROOT l = pred[] compare(m, y), direction=LT
}
ENTRY main {
  a = f32[8] parameter(0)
  d = f32[] constant(0)
  ROOT s = f32[8] sort(a), dimensions={0}, to_apply=r
})");
}

TEST(Sharding, PartsOfAxesAndOrdersOfDevices) {
  ExpectHlo(R"(module @m attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @turned = <["i"=2, "j"=2], device_ids=[3, 2, 1, 0]>
  sdy.mesh @maximal = <[], device_ids=[1]>
  func.func public @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@turned, [{"i", "j"}]>}, %c: tensor<8xf32> {sdy.sharding = #sdy.sharding<@maximal, [{}]>}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
})",
            R"(HloModule m
ENTRY main {
  ROOT a = f32[8] parameter(0), sharding={devices=[2,2]0,2,1,3 last_tile_dim_replicate}
  b = f32[8] parameter(1), sharding={devices=[4]3,2,1,0}
  c = f32[8] parameter(2)
})");
}

TEST(Sharding, CallsOfOneDevice) {
  ExpectHlo(R"(module @m attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @maximal = <[], device_ids=[1]>
  sdy.mesh @empty = <[]>
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@maximal, []>]>} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.custom_call @f(%0) {sdy.sharding = #sdy.sharding_per_value<[<@empty, [{}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
})",
            R"(HloModule m
ENTRY main {
  a = f32[8] parameter(0)
  c = f32[8] custom-call(a), custom_call_target="f", sharding={maximal device=1}
  ROOT d = f32[8] custom-call(c), custom_call_target="f"
})");
}

TEST(Sharding, ManualComputation) {
  ExpectHlo(R"(module @m attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
      %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
      sdy.return %1 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
})",
            R"(HloModule m
ENTRY main {
  a = f32[8,4] parameter(0), sharding={devices=[2,1]0,1}
  b = f32[8,4] custom-call(a), custom_call_target="Sharding", sharding={devices=[2,1]0,1}
  c = f32[4,4] custom-call(b), custom_call_target="SPMDFullToShardShape", sharding={manual}
  d = f32[4,4] collective-permute(c), channel_id=1, source_target_pairs={{0,1},{1,0}}
  e = f32[4,4] custom-call(d), custom_call_target="Sharding", sharding={manual}
  ROOT f = f32[4,4] custom-call(e), custom_call_target="SPMDShardToFullShape", sharding={replicated}
})");
}

TEST(Sharding, AllToAllAlongTwoDimensions) {
  ExpectOps(
      "%a: tensor<4x6xf32>", "tensor<8x3xf32>",
      R"(%0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x6xf32>) -> tensor<8x3xf32>
return %0 : tensor<8x3xf32>)",
      R"(a = f32[4,6] parameter(0)
b = f32[4,2,3] reshape(a)
c = f32[4,2,3] all-to-all(b), replica_groups={{0,1}}, dimensions={1}
d = f32[2,4,3] transpose(c), dimensions={1,0,2}
ROOT e = f32[8,3] reshape(d))");
}

TEST(Sharding, Refusals) {
  const auto with = [](const std::string& sharding) {
    return "sdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<" + sharding +
           ">}) -> tensor<4xf32> { return %a : tensor<4xf32> }";
  };
  ExpectRefused(with("@mesh, [{\"z\"}]"), "the mesh has no axis \"z\"");
  ExpectRefused(with("@other, [{\"x\"}]"), "there is no mesh @other");
  ExpectRefused(with("@mesh, [{\"x\"}, {}]"), "the sharding has another number of dimensions");
  ExpectRefused(with("@mesh, [{\"x\":(1)3}]"), "has no part (1)3");
  const auto manual = [](const std::string& part, const std::string& ins) {
    return "sdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
           "%0 = sdy.manual_computation(%a) in_shardings=" +
           ins +
           " out_shardings=[<@mesh, [{\"x\"}]>] "
           "manual_axes={\"x\"} (%b: " +
           part + ") {\n sdy.return %b : " + part +
           "\n} : (tensor<4xf32>) -> tensor<4xf32>\n"
           "return %0 : tensor<4xf32> }";
  };
  ExpectRefused(manual("tensor<3xf32>", "[<@mesh, [{\"x\"}]>]"), "a device's part of f32[4] is f32[2], not f32[3]");
  ExpectRefused(manual("tensor<2xf32>", "[]"), "should have a sharding for each operand and result");
}

}  // namespace
}  // namespace xc
