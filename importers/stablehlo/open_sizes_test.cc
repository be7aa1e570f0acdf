// Modules that leave sizes open (`?`) become HLO of known sizes, for the shapes of arguments that are given.
#include "importers/stablehlo/test_support.h"

namespace xc {
namespace {

// A function `main` of %x: tensor<?x4xf32> and %y: tensor<?xi32> that returns %r.
std::string Main(const std::string& result, const std::string& lines) {
  return "func.func public @main(%x: tensor<?x4xf32>, %y: tensor<?xi32>) -> " + result + " {\n" + lines +
         "\n  return %r : " + result + "\n}\n";
}

constexpr char kParameters[] = "HloModule main\nENTRY main {\n  x = f32[3,4] parameter(0)\n  y = s32[5] parameter(1)\n";

// The lines become these lines of HLO for x: f32[3,4], y: s32[5].
void Becomes(const std::string& result, const std::string& lines, const std::string& hlo) {
  ExpectHlo(Main(result, lines), kParameters + hlo + "\n}\n", WithShapes({"f32[3,4]", "s32[5]"}));
}

void Refused(const std::string& result, const std::string& lines, absl::string_view message) {
  ExpectRefused(Main(result, lines), message, WithShapes({"f32[3,4]", "s32[5]"}));
}

// %n is the first size of x, %m of y; %s is [n, 4].
constexpr char kSizes[] = R"(
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %m = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %s = stablehlo.concatenate %n1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
)";

TEST(OpenSizes, Inferred) {
  Becomes("tensor<?x?xf32>", R"(
    %a = stablehlo.tanh %x : tensor<?x4xf32>
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
    %r = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>)",
          R"(a = f32[3,4] tanh(x)
             t = f32[4,3] transpose(a), dimensions={1,0}
             ROOT r = f32[3,3] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0})");
  // Where no argument leaves a size open, none needs to be given.
  ExpectHlo(
      "func.func @main(%x: tensor<2xf32>) -> tensor<?xf32> {\n %r = stablehlo.abs %x : (tensor<2xf32>) -> "
      "tensor<?xf32>\n return %r : tensor<?xf32>\n}",
      "HloModule main\nENTRY main { x = f32[2] parameter(0)\n ROOT r = f32[2] abs(x) }");
}

TEST(OpenSizes, Integers) {
  Becomes("tensor<i32>", std::string(kSizes) + "%r = stablehlo.add %n, %m : tensor<i32>", "ROOT r = s32[] constant(8)");
  const auto folds = [](const std::string& type, const std::string& lines, const std::string& hlo) {
    SCOPED_TRACE(lines);
    Becomes("tensor<" + type + ">", kSizes + lines, "ROOT r = " + hlo);
  };
  const std::string negative = "%k = stablehlo.constant dense<-7> : tensor<i32>\n";
  folds("i32", "%r = stablehlo.subtract %n, %m : tensor<i32>", "s32[] constant(-2)");
  folds("i32", negative + "%r = stablehlo.divide %k, %n : tensor<i32>", "s32[] constant(-2)");
  folds("i32", negative + "%r = stablehlo.remainder %k, %n : tensor<i32>", "s32[] constant(-1)");
  folds("i32", "%r = stablehlo.maximum %n, %m : tensor<i32>", "s32[] constant(5)");
  folds("i32", "%r = stablehlo.minimum %n, %m : tensor<i32>", "s32[] constant(3)");
  folds("i32", negative + "%r = stablehlo.sign %k : tensor<i32>", "s32[] constant(-1)");
  folds("i32", negative + "%r = stablehlo.abs %k : tensor<i32>", "s32[] constant(7)");
  folds("i32", negative + "%r = stablehlo.negate %k : tensor<i32>", "s32[] constant(7)");
  folds("i32", negative + "%r = stablehlo.clamp %n, %k, %m : tensor<i32>", "s32[] constant(3)");
  folds("i8", "%k = stablehlo.constant dense<100> : tensor<i8>\n%r = stablehlo.add %k, %k : tensor<i8>",
        "s8[] constant(-56)");
  folds("ui8", negative + "%r = stablehlo.convert %k : (tensor<i32>) -> tensor<ui8>", "u8[] constant(249)");
  folds("i32", "%z = stablehlo.subtract %n, %n : tensor<i32>\n%r = stablehlo.divide %n, %z : tensor<i32>",
        "s32[] constant(-1)");
  folds("i32", "%z = stablehlo.subtract %n, %n : tensor<i32>\n%r = stablehlo.remainder %n, %z : tensor<i32>",
        "s32[] constant(3)");
  folds("i64",
        "%k = stablehlo.constant dense<-9223372036854775808> : tensor<i64>\n%o = stablehlo.constant dense<-1> : "
        "tensor<i64>\n%r = stablehlo.divide %k, %o : tensor<i64>",
        "s64[] constant(-9223372036854775808)");
  folds("ui64",
        "%k = stablehlo.constant dense<18446744073709551615> : tensor<ui64>\n%o = stablehlo.constant dense<10> : "
        "tensor<ui64>\n%r = stablehlo.divide %k, %o : tensor<ui64>",
        "u64[] constant(1844674407370955161)");
  folds("i1", "%r = stablehlo.compare LT, %n, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "pred[] constant(true)");
  folds("i1",
        "%a = stablehlo.compare GE, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n%b = stablehlo.not %a : "
        "tensor<i1>\n%r = stablehlo.xor %a, %b : tensor<i1>",
        "pred[] constant(true)");
  folds("i32",
        "%a = stablehlo.compare NE, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n%r = stablehlo.select %a, %m, "
        "%n : tensor<i1>, tensor<i32>",
        "s32[] constant(5)");
  folds("2xi32", "%r = stablehlo.multiply %s, %s : tensor<2xi32>", "s32[2] constant({9, 16})");
  folds("1xi32", "%r = stablehlo.slice %s [1:2] : (tensor<2xi32>) -> tensor<1xi32>", "s32[1] constant({4})");
  folds("2x2xi32", "%r = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<2xi32>) -> tensor<2x2xi32>",
        "s32[2,2] constant({{3, 4}, {3, 4}})");
  folds("?xi32", "%r = stablehlo.dynamic_iota %n1, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>",
        "s32[3] constant({0, 1, 2})");
}

TEST(OpenSizes, Operations) {
  Becomes("tensor<?x?xf32>",
          std::string(kSizes) +
              R"(%d = stablehlo.concatenate %four, %n1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
               %r = stablehlo.dynamic_reshape %x, %d : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>)",
          "ROOT r = f32[4,3] reshape(x)");
  Becomes("tensor<?x?xi32>",
          std::string(kSizes) +
              R"(%d = stablehlo.concatenate %n1, %m1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
               %r = stablehlo.dynamic_broadcast_in_dim %y, %d, dims = [1] : (tensor<?xi32>, tensor<2xi32>) -> tensor<?x?xi32>)",
          "ROOT r = s32[3,5] broadcast(y), dimensions={1}");
  Becomes("tensor<?xf32>",
          std::string(kSizes) + "%r = stablehlo.dynamic_iota %m1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>",
          "ROOT r = f32[5] iota(), iota_dimension=0");
  Becomes("tensor<?x?xf32>", std::string(kSizes) + R"(%c = stablehlo.constant dense<0.0> : tensor<f32>
               %z = stablehlo.constant dense<0> : tensor<2xi32>
               %r = stablehlo.dynamic_pad %x, %c, %s, %z, %s : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>)",
          "c = f32[] constant(0)\n  ROOT r = f32[12,20] pad(x, c), padding=3_0_3x4_0_4");
  Becomes("tensor<?x?xf32>", std::string(kSizes) + R"(%z = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
               %o = stablehlo.constant dense<1> : tensor<2xi32>
               %r = stablehlo.real_dynamic_slice %x, %z, %s, %o : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>)",
          "ROOT r = f32[2,4] slice(x), slice={[1:3], [0:4]}");
  // Start indices that only the run knows, of slices whose size is known.
  Becomes("tensor<?xi32>", std::string(kSizes) + R"(%i = stablehlo.constant dense<2> : tensor<1xi32>
               %a = stablehlo.slice %y [0:1] : (tensor<?xi32>) -> tensor<1xi32>
               %b = stablehlo.add %a, %n1 : tensor<1xi32>
               %r = stablehlo.real_dynamic_slice %y, %a, %b, %i : (tensor<?xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>)",
          R"(a = s32[1] slice(y), slice={[0:1]}
             k = s32[1] constant({3})
             b = s32[1] add(a, k)
             t = s32[1] slice(a), slice={[0:1]}
             i = s32[] reshape(t)
             d = s32[3] dynamic-slice(y, i), dynamic_slice_sizes={3}
             ROOT r = s32[2] slice(d), slice={[0:3:2]})");
  Becomes("tensor<?x?xf32>", std::string(kSizes) + R"(%o = stablehlo.constant dense<1> : tensor<1xi32>
               %w = stablehlo.concatenate %o, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
               %r = "stablehlo.dynamic_gather"(%x, %y, %w) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<?x4xf32>, tensor<?xi32>, tensor<2xi32>) -> tensor<?x?xf32>)",
          "ROOT r = f32[5,4] gather(x, y), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
          "index_vector_dim=1, slice_sizes={1,4}");
  ExpectHlo(R"(func.func @main(%x: tensor<1x?x1xf32>, %k: tensor<3x1x1xf32>) -> tensor<1x?x1xf32> {
                 %n = stablehlo.get_dimension_size %x, dim = 1 : (tensor<1x?x1xf32>) -> tensor<i32>
                 %p = stablehlo.reshape %n : (tensor<i32>) -> tensor<1x1xi32>
                 %q = stablehlo.concatenate %p, %p, dim = 1 : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>
                 %r = "stablehlo.dynamic_conv"(%x, %k, %q) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x?x1xf32>, tensor<3x1x1xf32>, tensor<1x2xi32>) -> tensor<1x?x1xf32>
                 return %r : tensor<1x?x1xf32>
               })",
            R"(HloModule main
               ENTRY main {
                 x = f32[1,2,1] parameter(0)
                 k = f32[3,1,1] parameter(1)
                 ROOT r = f32[1,4,1] convolution(x, k), window={size=3 pad=2_2}, dim_labels=b0f_0io->b0f
               })",
            WithShapes({"f32[1,2,1]", ""}));
}

TEST(OpenSizes, CustomCalls) {
  const std::string sizes = kSizes;
  Becomes(
      "tensor<?x4xf32>",
      sizes +
          R"(%w = stablehlo.custom_call @stablehlo.shape_refinement_operand_wrapper(%x, %s) {indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
                     %c = stablehlo.compare LT, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
                     stablehlo.custom_call @shape_assertion(%c, %n) {api_version = 2 : i32, error_message = "n is {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
                     %r = stablehlo.abs %w : tensor<?x4xf32>)",
      "ROOT r = f32[3,4] abs(x)");
  Becomes("tensor<?x?xi32>", sizes + R"(%k = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
                     %b:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%k, %s) {api_version = 2 : i32, rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>, tensor<2xi32>) -> (tensor<2xui64>, tensor<?x?xui32>)
                     %r = stablehlo.bitcast_convert %b#1 : (tensor<?x?xui32>) -> tensor<?x?xi32>)",
          R"(k = u64[2] constant({1, 2})
             g = (u64[2], u32[3,4]) rng-bit-generator(k), algorithm=rng_three_fry
             s = u64[2] get-tuple-element(g), index=0
             b = u32[3,4] get-tuple-element(g), index=1
             ROOT r = s32[3,4] bitcast-convert(b))");
  Becomes(
      "tensor<?x?xf32>",
      sizes +
          R"(%t:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %n) : (tensor<?x4xf32>, tensor<i32>) -> (tensor<?x?xf32>, tensor<?x?xi32>)
                     %r = stablehlo.abs %t#0 : tensor<?x?xf32>)",
      R"(t = (f32[3,3], s32[3,3]) topk(x), k=3, largest=true
             v = f32[3,3] get-tuple-element(t), index=0
             i = s32[3,3] get-tuple-element(t), index=1
             ROOT r = f32[3,3] abs(v))");
  // The shapes of results as operands, which are no operands of the call.
  Becomes(
      "tensor<?x?xf32>",
      sizes +
          R"(%c:2 = stablehlo.custom_call @both(%x, %s, %m1) {indices_of_shape_operands = dense<[1, 2]> : tensor<2xi64>} : (tensor<?x4xf32>, tensor<2xi32>, tensor<1xi32>) -> (tensor<?x?xf32>, tensor<?xf32>)
                     %r = stablehlo.abs %c#0 : tensor<?x?xf32>)",
      R"(c = (f32[3,4], f32[5]) custom-call(x), custom_call_target="both"
             v = f32[3,4] get-tuple-element(c), index=0
             w = f32[5] get-tuple-element(c), index=1
             ROOT r = f32[3,4] abs(v))");
  ExpectHlo(R"(func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
                 %0 = stablehlo.add %a, %b : tensor<f32>
                 return %0 : tensor<f32>
               }
               func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> {
                 %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
                 %w = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
                 %o = stablehlo.constant dense<1> : tensor<1xi32>
                 %p = stablehlo.constant dense<[[2, 0]]> : tensor<1x2xi32>
                 %c = stablehlo.constant dense<0.0> : tensor<f32>
                 %r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %c, %w, %o, %o, %o, %p) {called_computations = [@add]} : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>
                 return %r : tensor<?xf32>
               })",
            R"(HloModule main
               add { a = f32[] parameter(0)
                     b = f32[] parameter(1)
                     ROOT s = f32[] add(a, b) }
               ENTRY main {
                 x = f32[3] parameter(0)
                 c = f32[] constant(0)
                 ROOT r = f32[3] reduce-window(x, c), window={size=3 pad=2_0}, to_apply=add
               })",
            WithShapes({"f32[3]"}));
}

// Functions are made for the shapes, and the integers, that they are called with.
TEST(OpenSizes, Functions) {
  ExpectHlo(
      R"(func.func public @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
                 %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
                 %m = call @next(%n) : (tensor<i32>) -> tensor<i32>
                 %a = call @f(%m, %x) : (tensor<i32>, tensor<?xf32>) -> tensor<?xf32>
                 %b = call @f(%m, %y) : (tensor<i32>, tensor<?xf32>) -> tensor<?xf32>
                 %c = call @f(%m, %x) : (tensor<i32>, tensor<?xf32>) -> tensor<?xf32>
                 return %a, %b, %c : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
               }
               func.func private @next(%n: tensor<i32>) -> tensor<i32> {
                 %c = stablehlo.constant dense<1> : tensor<i32>
                 %0 = stablehlo.add %n, %c : tensor<i32>
                 return %0 : tensor<i32>
               }
               func.func private @f(%n: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {
                 %m = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
                 %s = stablehlo.add %n, %m : tensor<i32>
                 %t = stablehlo.reshape %s : (tensor<i32>) -> tensor<1xi32>
                 %0 = stablehlo.dynamic_iota %t, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
                 return %0 : tensor<?xf32>
               })",
      R"(HloModule main
               f { n = s32[] parameter(0)
                   x = f32[3] parameter(1)
                   ROOT i = f32[7] iota(), iota_dimension=0 }
               f.1 { n = s32[] parameter(0)
                     x = f32[5] parameter(1)
                     ROOT i = f32[9] iota(), iota_dimension=0 }
               ENTRY main {
                 x = f32[3] parameter(0)
                 y = f32[5] parameter(1)
                 m = s32[] constant(4)
                 a = f32[7] call(m, x), to_apply=f
                 b = f32[9] call(m, y), to_apply=f.1
                 c = f32[7] call(m, x), to_apply=f
                 ROOT r = (f32[7], f32[9], f32[7]) tuple(a, b, c)
               })",
      WithShapes({"f32[3]", "f32[5]"}));
}

TEST(OpenSizes, Loops) {
  // What the loop hands on unchanged is known inside, and so are sizes from outside.
  Becomes("tensor<?xf32>", std::string(kSizes) + R"(
      %z = stablehlo.constant dense<0> : tensor<i32>
      %v = stablehlo.dynamic_iota %n1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
      %l:3 = stablehlo.while(%i = %z, %w = %v, %k = %n) : tensor<i32>, tensor<?xf32>, tensor<i32> cond {
        %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %k1 = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
        %u = stablehlo.dynamic_iota %k1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
        %w2 = stablehlo.add %w, %u : tensor<?xf32>
        %i2 = stablehlo.add %i, %k : tensor<i32>
        stablehlo.return %i2, %w2, %k : tensor<i32>, tensor<?xf32>, tensor<i32>
      }
      %q = stablehlo.reshape %l#2 : (tensor<i32>) -> tensor<1xi32>
      %t = stablehlo.dynamic_reshape %l#1, %q : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
      %r = stablehlo.abs %t : tensor<?xf32>)",
          R"(v = f32[3] iota(), iota_dimension=0
             z = s32[] constant(0)
             k = s32[] constant(3)
             s = (s32[], f32[3], s32[]) tuple(z, v, k)
             l = (s32[], f32[3], s32[]) while(s), condition=cond, body=body
             a = s32[] get-tuple-element(l), index=0
             b = f32[3] get-tuple-element(l), index=1
             c = s32[] get-tuple-element(l), index=2
             ROOT r = f32[3] abs(b)
           }
           cond {
             s = (s32[], f32[3], s32[]) parameter(0)
             i = s32[] get-tuple-element(s), index=0
             w = f32[3] get-tuple-element(s), index=1
             k = s32[] get-tuple-element(s), index=2
             m = s32[] constant(5)
             ROOT p = pred[] compare(i, m), direction=LT
           }
           body {
             s = (s32[], f32[3], s32[]) parameter(0)
             i = s32[] get-tuple-element(s), index=0
             w = f32[3] get-tuple-element(s), index=1
             k = s32[] get-tuple-element(s), index=2
             u = f32[3] iota(), iota_dimension=0
             w2 = f32[3] add(w, u)
             i2 = s32[] add(i, k)
             ROOT t = (s32[], f32[3], s32[]) tuple(i2, w2, k))");
}

TEST(OpenSizes, Branches) {
  // Where the selector is known, its branch is all: the other need not even be valid for these shapes.
  Becomes("tensor<?x4xf32>", std::string(kSizes) + R"(
      %p = stablehlo.compare GT, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %r = "stablehlo.if"(%p) ({
        %a = stablehlo.custom_call @only_elsewhere(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
        stablehlo.return %a : tensor<?x4xf32>
      }, {
        %b = stablehlo.abs %x : tensor<?x4xf32>
        stablehlo.return %b : tensor<?x4xf32>
      }) : (tensor<i1>) -> tensor<?x4xf32>)",
          "ROOT r = f32[3,4] abs(x)");
  Becomes("tensor<?x4xf32>", std::string(kSizes) + R"(
      %z = stablehlo.slice %y [0:1] : (tensor<?xi32>) -> tensor<1xi32>
      %i = stablehlo.reshape %z : (tensor<1xi32>) -> tensor<i32>
      %r = "stablehlo.case"(%i) ({
        %a = stablehlo.abs %x : tensor<?x4xf32>
        stablehlo.return %a : tensor<?x4xf32>
      }, {
        %c = stablehlo.constant dense<1.0> : tensor<f32>
        %b = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
        stablehlo.return %b : tensor<?x4xf32>
      }) : (tensor<i32>) -> tensor<?x4xf32>)",
          R"(z = s32[1] slice(y), slice={[0:1]}
             i = s32[] reshape(z)
             ROOT r = f32[3,4] conditional(i, x, x), branch_computations={one, two}
           }
           one { p = f32[3,4] parameter(0)
                 ROOT a = f32[3,4] abs(p) }
           two { p = f32[3,4] parameter(0)
                 c = f32[] constant(1)
                 ROOT b = f32[3,4] broadcast(c), dimensions={})");
}

TEST(OpenSizes, Broadcasting) {
  Becomes("tensor<?x?xf32>", R"(
      %o = "chlo.constant_like"(%x) <{value = 2.0 : f32}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
      %v = stablehlo.iota dim = 0 : tensor<4xf32>
      %r = chlo.broadcast_add %o, %v {broadcast_dimensions = array<i64: 1>} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x?xf32>)",
          R"(c = f32[] constant(2)
             o = f32[3,4] broadcast(c), dimensions={}
             v = f32[4] iota(), iota_dimension=0
             w = f32[3,4] broadcast(v), dimensions={1}
             ROOT r = f32[3,4] add(o, w))");
}

TEST(OpenSizes, ShapesThatAreRefused) {
  const std::string module = Main("tensor<?x4xf32>", "%r = stablehlo.abs %x : tensor<?x4xf32>");
  ExpectRefused(module,
                "line 1, column 18: argument 0 of @main is f32[?,4], which leaves sizes open: the shape of the "
                "argument should be given");
  ExpectRefused(module, "is f32[?,4], but its shape is given as f32[3,5]", WithShapes({"f32[3,5]", "s32[5]"}));
  ExpectRefused(module, "is f32[?,4], but its shape is given as s32[3,4]", WithShapes({"s32[3,4]", "s32[5]"}));
  ExpectRefused(module, "is f32[?,4], but its shape is given as f32[4]", WithShapes({"f32[4]", "s32[5]"}));
  ExpectRefused(module, "is f32[?,4], but its shape is given as f32[<=3,4]", WithShapes({"f32[<=3,4]", "s32[5]"}));
  ExpectRefused(module, "is f32[?,4], but its shape is given as f32[?,4]", WithShapes({"f32[?,4]", "s32[5]"}));
  ParseOptions options;
  options.argument_shape = [](int64_t, const Shape&) { return absl::NotFoundError("there is no such file"); };
  ExpectRefused(module, "argument 0 of @main is f32[?,4]: there is no such file", options);
  options.argument_shape = [](int64_t argument, const Shape& type) {
    return Shape(type.type(), argument == 0 ? std::vector<int64_t>{-1, 4} : std::vector<int64_t>{5});
  };
  ExpectRefused(module, "is f32[?,4], but its shape is given as f32[-1,4]", options);
  options.argument_shape = [](int64_t argument, const Shape& type) {
    return Shape(type.type(), argument == 0 ? std::vector<int64_t>{INT64_MAX / 2, 4} : std::vector<int64_t>{5});
  };
  ExpectRefused(module, "but its shape is given as f32[4611686018427387903,4]", options);
  ExpectRefused(Main("tensor<i32>", std::string(kSizes) + "%r = stablehlo.add %n, %m : tensor<i32>"),
                "stablehlo.get_dimension_size: size 2147483648 is too large for its result, which has 32 bits",
                WithShapes({"f32[2147483648,4]", "s32[5]"}));
}

TEST(OpenSizes, OperationsThatAreRefused) {
  const std::string sizes = kSizes;
  Refused("tensor<?x4xf32>", sizes + R"(%c = stablehlo.compare GT, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%c, %n, %m, %y) {error_message = "{0} is not {1} {2}"} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<?xi32>) -> ()
      %r = stablehlo.abs %x : tensor<?x4xf32>)",
          "stablehlo.custom_call: shape assertion: 3 is not 5 ?");
  Refused("tensor<?x4xf32>", R"(%a = stablehlo.slice %y [0:1] : (tensor<?xi32>) -> tensor<1xi32>
      %b = stablehlo.compare GT, %a, %a : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
      %c = stablehlo.reshape %b : (tensor<1xi1>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%c) {error_message = "no"} : (tensor<i1>) -> ()
      %r = stablehlo.abs %x : tensor<?x4xf32>)",
          "whether this assertion about shapes holds does not follow from the shapes of the arguments");
  Refused("tensor<?xf32>", sizes + R"(%d = stablehlo.subtract %n1, %m1 : tensor<1xi32>
      %r = stablehlo.dynamic_iota %d, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>)",
          "line 10, column 12: stablehlo.dynamic_iota: size 0 of its result is -2, should be at least 0");
  Refused("tensor<?xf32>", R"(%r = stablehlo.dynamic_iota %y, dim = 0 : (tensor<?xi32>) -> tensor<?xf32>)",
          "stablehlo.dynamic_iota: operand 0, its result's shape, does not follow from the shapes of the arguments");
  Refused("tensor<?xf32>", R"(%c = stablehlo.constant dense<9223372036854775807> : tensor<1xi64>
      %r = stablehlo.dynamic_iota %c, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>)",
          "does not fit into 63 bits");
  Refused("tensor<3x5xf32>",
          sizes + R"(%r = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<3x5xf32>)",
          "stablehlo.dynamic_reshape: result 0 is f32[3,4], but its type is given as f32[3,5]");
  Refused("tensor<?xf32>",
          sizes + R"(%r = stablehlo.dynamic_reshape %x, %m1 : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>)",
          "both should have the same number of elements");
  Refused("tensor<?xi32>", R"(%z = stablehlo.constant dense<0> : tensor<1xi32>
      %r = stablehlo.real_dynamic_slice %y, %z, %y, %y : (tensor<?xi32>, tensor<1xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>)",
          "operand 3, its strides, does not follow");
  Refused("tensor<?xf32>", "%r = stablehlo.custom_call @unknown(%x) : (tensor<?x4xf32>) -> tensor<?xf32>",
          "stablehlo.custom_call: the sizes of result 0, f32[?], do not follow from its operands");
  Refused("tensor<?xf32>",
          "%r = stablehlo.custom_call @unknown(%x) {indices_of_shape_operands = dense<7> : tensor<1xi64>} : "
          "(tensor<?x4xf32>) -> tensor<?xf32>",
          "`indices_of_shape_operands` has 7, but there are 1 operands");
  Refused("tensor<?x4xf32>",
          R"(%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
             %c = stablehlo.reverse %t, dims = [0] : (tensor<4x?xf32>) -> tensor<?x?xf32>
             %r = "stablehlo.add"(%x, %c) : (tensor<?x4xf32>, tensor<?x?xf32>) -> tensor<?x4xf32>)",
          "line 4, column 19: stablehlo.add: ");
}

// A function of each size of its argument calls the next twice, with an array of another size each.
TEST(OpenSizes, FunctionsThatBecomeTooMany) {
  std::string module =
      "func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n %r = call @f0(%x) : (tensor<?xf32>) -> "
      "tensor<?xf32>\n return %r : tensor<?xf32>\n}\n";
  constexpr int kDepth = 40;
  for (int i = 0; i < kDepth; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1), c = std::to_string(int64_t{1} << i);
    module += "func.func private @f" + n + "(%x: tensor<?xf32>) -> tensor<?xf32> {\n" +
              " %z = stablehlo.constant dense<0.0> : tensor<f32>\n %p = stablehlo.constant dense<" + c +
              "> : tensor<1xi64>\n %o = stablehlo.constant dense<0> : tensor<1xi64>\n" +
              " %y = stablehlo.dynamic_pad %x, %z, %p, %o, %o : (tensor<?xf32>, tensor<f32>, tensor<1xi64>, "
              "tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n %a = call @f" +
              next + "(%x) : (tensor<?xf32>) -> tensor<?xf32>\n %b = call @f" + next +
              "(%y) : (tensor<?xf32>) -> tensor<?xf32>\n return %a : tensor<?xf32>\n}\n";
  }
  module += "func.func private @f" + std::to_string(kDepth) +
            "(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }\n";
  ExpectRefused(module, "the module becomes too large: its functions are called with too many different shapes",
                WithShapes({"f32[1]"}));
}

}  // namespace
}  // namespace xc
