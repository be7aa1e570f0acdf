// A program of StableHLO that leaves sizes open, as text and, by jaxlib, as MLIR bytecode.
#include "tests/fuzz/open_size_seeds.h"

#include "absl/strings/escaping.h"
#include "hlo/shape.h"

namespace xc {
namespace {

constexpr char kProgram[] = R"(module attributes {jax.uses_shape_polymorphism = true} {
  func.func public @main(%x: tensor<?x4xf32>, %y: tensor<?xi32>) -> (tensor<?x?xf32>, tensor<?xf32>, tensor<?xi32>) {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %m = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xi32>) -> tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %ok = stablehlo.compare GE, %n, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ok, %n) {api_version = 2 : i32, error_message = "size {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %half = func.call @halved(%m, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %0:2 = func.call @f(%half, %x, %y) : (tensor<i32>, tensor<?x4xf32>, tensor<?xi32>) -> (tensor<?x?xf32>, tensor<?xf32>)
    %1:2 = stablehlo.while(%i = %one, %v = %y) : tensor<i32>, tensor<?xi32> cond {
      %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
      %u = stablehlo.dynamic_iota %m1, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
      %s = stablehlo.add %v, %u : tensor<?xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s : tensor<i32>, tensor<?xi32>
    }
    return %0#0, %0#1, %1#1 : tensor<?x?xf32>, tensor<?xf32>, tensor<?xi32>
  }
  func.func private @halved(%m: tensor<i32>, %k: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.add %m, %k : tensor<i32>
    %1 = stablehlo.add %k, %k : tensor<i32>
    %2 = stablehlo.divide %0, %1 : tensor<i32>
    %3 = stablehlo.maximum %2, %k : tensor<i32>
    return %3 : tensor<i32>
  }
  func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %a, %b : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @f(%h: tensor<i32>, %x: tensor<?x4xf32>, %y: tensor<?xi32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
    %c = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %h1 = stablehlo.reshape %h : (tensor<i32>) -> tensor<1xi32>
    %o = stablehlo.constant dense<1> : tensor<1xi32>
    %k = stablehlo.constant dense<4> : tensor<1xi32>
    %ok = stablehlo.concatenate %o, %k, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %hk = stablehlo.concatenate %h1, %k, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %z = stablehlo.subtract %hk, %hk : tensor<2xi32>
    %b = stablehlo.dynamic_broadcast_in_dim %c, %hk, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %0 = stablehlo.concatenate %x, %b, dim = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = stablehlo.dynamic_pad %0, %c, %z, %hk, %z : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    %2 = "stablehlo.dynamic_gather"(%x, %y, %ok) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x4xf32>, tensor<?xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    %n = stablehlo.multiply %h, %h : tensor<i32>
    %t:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%2, %h) : (tensor<?x?xf32>, tensor<i32>) -> (tensor<?x?xf32>, tensor<?x?xi32>)
    %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<?x?xf32>, tensor<f32>) -> tensor<?xf32>
    %p = stablehlo.concatenate %h1, %o, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %q = stablehlo.reshape %p : (tensor<2xi32>) -> tensor<1x2xi32>
    %4 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%3, %c, %h1, %o, %o, %o, %q) {called_computations = [@add]} : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>
    %s0 = stablehlo.subtract %h1, %h1 : tensor<1xi32>
    %5 = stablehlo.real_dynamic_slice %4, %s0, %h1, %o : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    %6 = stablehlo.dynamic_reshape %5, %h1 : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
    return %t#0, %6 : tensor<?x?xf32>, tensor<?xf32>
  }
}
)";

// Portable artifact.
constexpr char kPortable[] =
    "4d4cef520d537461626c65484c4f5f76312e31372e3000013f0501052f01030b032d0f13171b1f23272b2f33373b3f43474b4f53575b5f63"
    "031202c92d01850b131313130b0f131313131313131313131313131313131313131313131313131313131313131313131313131313131313"
    "131313130b13131313131313131313131303450b0f0f0b0b0b0b0b0b2f2f0b0b0b0b0b0b0b1f1f1f0f0b0b0f1f0b0b0b0b0b0b0b0b01030b"
    "032b0f0f333313370757071307130f231b1b231357170702fa07053317015f35170115391701154f03030b0d053511010117010303170105"
    "0717012d0717013b071701430717014331170143531701437d17014515170147171701491517014b1517014d1717014f1717015115170153"
    "1517015515170157151701591517015b1517015d19170161151701631517016515170167171701691517016b1517016d0b17013b3517013b"
    "5717013d1517013f0b17012d3b17012d5d17012f151701311517013315170135151701370b170105351701055f170107151701091517010b"
    "1917010d1703036bbd053717010f0b1701111b17011319170115191701290b17011d1b17011f1917012119170123191701250f1701171917"
    "01190f03011317011f25011d3905011d3b1d3d1d3f1d411f191100000000000000001f191101000000000000000b03231d1d431d45231f23"
    "2123231f05090000003f1f0b09010000001f0b09040000001317051d471d490303931f030901000000090707051d4b0b051d4d0503090107"
    "0b010929010f290113290300ffffffffffffffff0f290300ffffffffffffffff132903050f290500ffffffffffffffff11131b290500ffff"
    "ffffffffffff00ffffffffffffffff13092903090f1d2903051729012b11050d07071109071105030303031105050503051107030d070511"
    "0929030117290500ffffffffffffffff00ffffffffffffffff0f290505090f010482070501510f090107045a070301110750110307046a02"
    "031727051b5d0f5f001346610503030301134663050303030309426507030315466709031b0505090f456d690b050b0517466f0d03030507"
    "091746710f051109070d01032b16730503070509030903070b0507050f070015468111031b051707030483031b030d170507050f07000d06"
    "77030b03072d4679050307031b05067b030705191d05067d030305170903047f05211f030475070f11150750131307045d030d1705074f07"
    "5100050653030305010305065503030503032706570303050507290659030305090303045b030b0750151507042d03070b050b470b490005"
    "064b030505010303044d03050750171707045e030331570707191b1b0f1d0009421f1903050d0621030b03010942231b030b0942251d030b"
    "0b4627050315050b0d0b462905031505090d11062b031505111119462d1f030d0507110b462f05030d0503151b063103110b17071311131d"
    "46332103110703050f1f063503030501010f463723051127051b0121560325030905190707042d03070b050b030b03000506030305050103"
    "03040303050b463905031505090b0d063b032903250f463d2703090f2307090b0b0b2711063f030b050909230641030909292b090b250643"
    "0309052d09030445051f2f06030105010022084f211341310f0b05090f03111d390521131715272d1519251f3911172d191f171f19110f15"
    "0f0b116275696c74696e0076686c6f006d6f64756c650072657475726e5f7631006164645f76310066756e635f763100636f6e7374616e74"
    "5f763100636f6e636174656e6174655f763100726573686170655f763100637573746f6d5f63616c6c5f76310073756274726163745f7631"
    "006765745f64696d656e73696f6e5f73697a655f763100636f6d706172655f76310063616c6c5f76310064796e616d69635f62726f616463"
    "6173745f696e5f64696d5f76310064796e616d69635f7061645f76310064796e616d69635f6761746865725f7632006d756c7469706c795f"
    "7631007265647563655f7631007265616c5f64796e616d69635f736c6963655f76310064796e616d69635f726573686170655f7631006469"
    "766964655f7631006d6178696d756d5f7631007768696c655f76310064796e616d69635f696f74615f7631002d006a61782e757365735f73"
    "686170655f706f6c796d6f72706869736d006572726f725f6d6573736167650070726976617465000068616c766564006164640066006d61"
    "696e007075626c696300737461626c65686c6f2e64796e616d69635f746f705f6b00737461626c65686c6f2e64796e616d69635f72656475"
    "63655f77696e646f770073697a65207b307d0073686170655f617373657274696f6e0008b3290501010b859d859fa1038703b705b9bb11bf"
    "8fc185c38585850391039505c5c70b85a385918b0b85a585938b0b85a785958b03a903ab03ad078989890f97af8d99899789119b8fb1858d"
    "8585850399119b8fb3b58d858585";

}  // namespace

std::string OpenSizeSeed() { return kProgram; }

std::string OpenSizeBytecodeSeed() { return absl::HexStringToBytes(kPortable); }

}  // namespace xc
