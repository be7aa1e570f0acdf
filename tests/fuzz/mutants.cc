#include "tests/fuzz/mutants.h"

#include <cctype>
#include <utility>

#include "tests/fuzz/open_size_seeds.h"

namespace xc {

uint64_t Random::Next() {
  state_ += 0x9E3779B97F4A7C15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

const std::vector<std::string>& SeedModules() {
  static const std::vector<std::string>* const seeds = new std::vector<std::string>{
      R"(HloModule elementwise, entry_computation_layout={(f32[3,4]{1,0}, s32[4]{0})->(f32[3,4]{0,1}, pred[4]{0})}
ENTRY main {
  a = f32[3,4]{1,0} parameter(0)
  b = s32[4]{0} parameter(1)
  c = f32[4]{0} convert(b)
  d = f32[3,4]{1,0} broadcast(c), dimensions={1}
  e = f32[3,4]{1,0} add(a, d), metadata={op_name="layer/add" source_file="m.py" source_line=3}
  two = s32[] constant(2)
  twos = s32[4]{0} broadcast(two), dimensions={}
  g = pred[4]{0} compare(b, twos), direction=GE
  h = f32[3,4]{1,0} maximum(e, a)
  i = f32[3,4]{0,1} copy(h)
  ROOT r = (f32[3,4]{0,1}, pred[4]{0}) tuple(i, g)
}
)",
      R"(HloModule reduce, is_scheduled=false
add.f32 {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
ENTRY %main (p0: f32[4,6]) -> (f32[4], f32[2,3], f32[6,4]) {
  %p0 = f32[4,6]{1,0} parameter(0)
  %zero = f32[] constant(0)
  %rows = f32[4]{0} reduce(f32[4,6]{1,0} %p0, f32[] %zero), dimensions={1}, to_apply=add.f32
  %pool = f32[2,3]{1,0} reduce-window(%p0, %zero), window={size=2x2 stride=2x2}, to_apply=add.f32
  %t = f32[6,4]{1,0} transpose(%p0), dimensions={1,0}
  ROOT %out = (f32[4]{0}, f32[2,3]{1,0}, f32[6,4]{1,0}) tuple(%rows, %pool, %t)
}
)",
      R"(HloModule shapes
ENTRY main {
  p = f32[2,6] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  r = f32[3,4] reshape(p)
  s = f32[2,2] slice(r), slice={[0:2], [1:4:2]}
  v = f32[] constant(-1.5e-3)
  pad = f32[4,5] pad(s, v), padding=1_1x0_2_1
  cat = f32[4,10] concatenate(pad, pad), dimensions={1}
  rev = f32[4,10] reverse(cat), dimensions={0}
  ds = f32[1,10] dynamic-slice(rev, i, zero), dynamic_slice_sizes={1,10}
  dus = f32[4,10] dynamic-update-slice(rev, ds, zero, i)
  io = u8[4,10] iota(), iota_dimension=1
  bc = s32[4,10] bitcast-convert(dus)
  k = f32[2,2] constant({ { 1, 2 }, { nan, -inf } })
  ROOT out = (f32[4,10], u8[4,10], s32[4,10], f32[2,2]) tuple(dus, io, bc, k)
}
)",
      R"(HloModule products
ENTRY main {
  a = f32[2,3,4] parameter(0)
  b = f32[2,4,5] parameter(1)
  d = f32[2,3,5] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  image = bf16[1,6,6,2] parameter(2)
  kernel = bf16[3,3,2,4] parameter(3)
  c = bf16[1,6,6,4] convolution(image, kernel), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT out = (f32[2,3,5], bf16[1,6,6,4]) tuple(d, c)
}
)",
      R"(HloModule control, input_output_alias={ {1}: (0, {}, may-alias) }
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[4] get-tuple-element(s), index=1
  y = f32[4] multiply(x, x)
  ROOT t = (s32[], f32[4]) tuple(j, y)
}
cond {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
yes { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }
no { p = f32[4] parameter(0) ROOT a = f32[4] abs(p) }
ENTRY main {
  p = f32[4] parameter(0)
  q = pred[] parameter(1)
  z = s32[] constant(0)
  init = (s32[], f32[4]) tuple(z, p)
  w = (s32[], f32[4]) while(init), condition=cond, body=body
  f = f32[4] get-tuple-element(w), index=1
  c = f32[4] conditional(q, f, f), true_computation=yes, false_computation=no
  k = f32[4] call(c), to_apply=yes
  ROOT out = (f32[4], f32[4]) tuple(c, k), control-predecessors={k}
}
)",
      R"(HloModule indexed
assign { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }
less { a = s32[] parameter(0) b = s32[] parameter(1) x = f32[] parameter(2) y = f32[] parameter(3) ROOT l = pred[] compare(a, b), direction=LT }
ENTRY main {
  t = f32[5,3] parameter(0)
  i = s32[4,1] parameter(1)
  g = f32[4,3] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
  s = f32[5,3] scatter(t, i, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=assign
  k = s32[6] constant({5, 3, 1, 4, 1, 2})
  v = f32[6] iota(), iota_dimension=0
  o = (s32[6], f32[6]) sort(k, v), dimensions={0}, is_stable=true, to_apply=less
  state = u64[2] constant({1, 2})
  bits = (u64[2], u32[8]) rng-bit-generator(state), algorithm=rng_philox
  b = u32[8] get-tuple-element(bits), index=1
  ROOT out = (f32[5,3], (s32[6], f32[6]), u32[8]) tuple(s, o, b)
}
)",
      R"(HloModule fused
fused {
  a = f16[8,2] parameter(0)
  b = c64[] constant((1, -2))
  re = f32[] real(b)
  h = f16[] convert(re)
  hs = f16[8,2] broadcast(h), dimensions={}
  e = f16[8,2] exponential(a)
  ROOT m = f16[8,2] multiply(e, hs)
}
ENTRY main {
  a = f16[8,2] parameter(0), sharding={replicated}
  f = f16[8,2] fusion(a), kind=kLoop, calls=fused, backend_config={"n":"1"}
  b = f16[8,2] opt-barrier(f)
  c = (f16[8,2], s4[3]) custom-call(b), custom_call_target="nobody", api_version=API_VERSION_ORIGINAL
  ROOT g = f16[8,2] get-tuple-element(c), index=0
}
)"};
  return *seeds;
}

const std::vector<std::string>& StableHloSeeds() {
  static const auto* const kSeeds = new std::vector<std::string>{
      R"(#loc = loc(unknown)
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2x3xbf16>) -> (tensor<2x3xf32> {jax.result_info = "[0]"}, tensor<3xi1>) {
    %cst = stablehlo.constant dense<[[1.0, 2.5e-1, 0x7F800000], [-3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %c = stablehlo.constant dense<"0x0100FF"> : tensor<3xi8>
    %0 = stablehlo.convert %arg1 : (tensor<2x3xbf16>) -> tensor<2x3xf32> loc(#loc2)
    %1 = stablehlo.add %arg0, %cst {mhlo.note = "x"} : tensor<2x3xf32>
    %2:2 = call @pair(%0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i32>)
    %3 = stablehlo.broadcast_in_dim %2#1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %4 = stablehlo.convert %c : (tensor<3xi8>) -> tensor<3xi32>
    %5 = stablehlo.compare  GE, %3, %4,  SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    return %2#0, %5 : tensor<2x3xf32>, tensor<3xi1>
  }
  func.func private @pair(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i32>) {
    %0 = stablehlo.slice %arg0 [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
    %v = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.pad %0, %v, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %2 = chlo.lgamma %1 : tensor<2x3xf32> -> tensor<2x3xf32>
    %3 = stablehlo.reduce(%2 init: %v) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %4 = stablehlo.convert %3 : (tensor<f32>) -> tensor<i32>
    return %arg1, %4 : tensor<2x3xf32>, tensor<i32>
  }
}
#loc1 = loc("f.py":3:4 to :9)
#loc2 = loc("convert"(#loc1))
)",
      R"(func.func @main(%x: tensor<4xf32>, %i: tensor<2x1xi32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %z, %iterArg_0 = %x) : tensor<i32>, tensor<4xf32>
   cond {
    %4 = stablehlo.compare LT, %iterArg, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  } do {
    %4 = stablehlo.constant dense<1> : tensor<i32>
    %5 = stablehlo.add %iterArg, %4 : tensor<i32>
    %6 = stablehlo.multiply %iterArg_0, %x : tensor<4xf32>
    stablehlo.return %5, %6 : tensor<i32>, tensor<4xf32>
  }
  %1 = "stablehlo.if"(%p) ({
    stablehlo.return %0#1 : tensor<4xf32>
  }, {
    %4 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %4 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %2 = "stablehlo.gather"(%1, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  %3 = "stablehlo.scatter"(%x, %i, %2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
)",
      R"(module {
  func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %i: tensor<1x6x6x2xf32>, %k: tensor<3x3x2x4xf32>) -> (tensor<2x3x5xf32>, tensor<1x6x6x4xf32>, tensor<1x2xui32>) {
    %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGH] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %1 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x6x6x4xf32>
    %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %2, %3 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1x2xui32>)
    %4:2 = stablehlo.optimization_barrier %0, %1 : tensor<2x3x5xf32>, tensor<1x6x6x4xf32>
    %5 = stablehlo.custom_call @f(%3) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], mhlo.backend_config = {n = 1 : i64}} : (tensor<1x2xui32>) -> tensor<1x2xui32>
    %6 = "stablehlo.sort"(%5) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<ui32>, %y: tensor<ui32>):
      %7 = stablehlo.compare LT, %x, %y, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    }) : (tensor<1x2xui32>) -> tensor<1x2xui32>
    return %4#0, %4#1, %6 : tensor<2x3x5xf32>, tensor<1x6x6x4xf32>, tensor<1x2xui32>
  }
}
)",
      OpenSizeSeed(),
  };
  return *kSeeds;
}

namespace {

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-'; }

// Words, numbers, single signs and runs of blanks; together they are the text again.
std::vector<std::string> Tokens(const std::string& text) {
  std::vector<std::string> tokens;
  for (char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c));
    if (!tokens.empty()) {
      const char last = tokens.back().back();
      if ((IsWordPart(c) && IsWordPart(last)) || (blank && std::isspace(static_cast<unsigned char>(last)))) {
        tokens.back() += c;
        continue;
      }
    }
    tokens.emplace_back(1, c);
  }
  return tokens;
}

// clang-format off
const char* const kStrange[] = {
    "0", "-1", "1", "7", "65536", "2147483648", "9223372036854775807", "99999999999999999999", "1e400", "nan", "{}",
    "{", "}", "(", ")", "[", "]", ",", "=", "<=3", "?", "...", "\"", "/*", "//", "->", "ROOT", "ENTRY", "main", "add",
    "while", "tuple", "reduce", "convert", "reshape", "all-reduce", "fusion", "parameter", "f32", "bf16", "pred",
    "s4", "f8e4m3fn", "c128", "u64", "token", "f32[0]", "f32[]", "f32[1000000,1000000,1000000]", "s32[2]{0}",
    "(f32[2], pred[])", "dimensions", "metadata={}", "index=9",
};
// clang-format on

}  // namespace

std::string MutateTokens(const std::string& text, Random& random) {
  std::vector<std::string> tokens = Tokens(text);
  const int64_t edits = 1 + random.Below(4);
  for (int64_t n = 0; n < edits && tokens.size() > 2; ++n) {
    const int64_t size = static_cast<int64_t>(tokens.size());
    const int64_t at = random.Below(size);
    switch (random.Below(6)) {
      case 0:
        tokens[at] = kStrange[random.Below(std::size(kStrange))];
        break;
      case 1:
      case 2:
        tokens[at] = tokens[random.Below(size)];
        break;
      case 3:
        tokens.erase(tokens.begin() + at);
        break;
      case 4:
        tokens.insert(tokens.begin() + at, std::string(tokens[random.Below(size)]));
        break;
      case 5:
        std::swap(tokens[at], tokens[random.Below(size)]);
        break;
    }
  }
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

}  // namespace xc
