// MLIR bytecode, small files of it: what it becomes, and what damaged ones are refused with.
#include "absl/strings/escaping.h"
#include "importers/stablehlo/test_support.h"

namespace xc {
namespace {

// func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> { return %arg0 + %arg0 }, which jaxlib wrote.
constexpr char kAdd[] =
    "4d4cef520d4d4c495232332e302e3067697400011f070105090901030f030507130503170323110701110b130b0b13131313010713170702"
    "49050d170103030d03050f1701050717010527170107151701090b1b03090505030103010b044d050150030107043d030105035009030704"
    "2903050b03030b0007060d030105010105040f030306030105010073110b05090f0f150b116275696c74696e0066756e6300737461626c65"
    "686c6f006d6f64756c650072657475726e00616464002d006d61696e000817050501010d010501010701";

// A function whose custom call has a dictionary with a value of each kind.
constexpr char kDictionary[] =
    "4d4cef520d4d4c495232332e302e30676974000121070105090b01030f030507130505171b038b691701690b0f0b130b0b13131313130b8b"
    "0b0b130f0b0b0b1f0b070f0b530b0f0b2f0b2f0b0b0b132f0f0b1f0b0f0b0b0b0b0b0f0b130b1301171307130f0b0f071b0b130702e20305"
    "0f1107050511170101010d0f05131701030317010323250503051701051103031719051503211b031d1f232527292b2d052f31333537393b"
    "3d3f414345474d4f515355575b5d0517051901050321110709051b051d051f1303100000081005210f111107052323070521010000000000"
    "000002000000000000000525110901052725131101000000020000000529130d00343333333333737f052b0d03052d0105494b130d000000"
    "00000000e07f110b05052f13031098906803053111150d05330959053505370d011d6163053917650709053b170109071b0309030b1b030d"
    "0901020401090102020d05030105010501451b03090b03045d050150070107044d03010503500d0307043903070f03030f00074213050305"
    "09475f1507030103010504670505030603010501009a023d0b0b0505050905050505050505050509050505290b050519130f0f150b116275"
    "696c74696e0066756e6300737461626c65686c6f006d6f64756c650072657475726e00636f6e7374616e7400637573746f6d5f63616c6c00"
    "2d0066006d61696e006d686c6f2e6261636b656e645f636f6e6669670061006200630078227900640065006700680069006a006b006c006d"
    "006e206f0070007100720063616c6c00662e707900082d090501010d010901010b010311110101050101010101";

// A function that returns a constant whose elements are a resource.
constexpr char kResource[] =
    "4d4cef520d4d4c495232332e302e3067697400011f070105090901030f030507130503170323110701110b130b0b130f1313010713130702"
    "45050d170101010d03050f1701030321010117010511170107071b031105050103010b044105015003010704310301050350090307041d03"
    "030907420d05030105040f0301060d0101031129008529090921cbcb0000803f000000400000404000008040008313050b05130f0f150b11"
    "6275696c74696e0066756e6300737461626c65686c6f006d6f64756c650072657475726e00636f6e7374616e74002d006d61696e00720008"
    "1b070501010d010501010701030b";

std::string Bytes(const char* hex) { return absl::HexStringToBytes(hex); }

// kAdd with the byte at a place replaced.
std::string Add(size_t at, char byte) {
  std::string bytes = Bytes(kAdd);
  bytes[at] = byte;
  return bytes;
}

TEST(Bytecode, BecomesHlo) {
  EXPECT_TRUE(LooksLikeStableHlo(Bytes(kAdd)));
  ExpectHlo(Bytes(kAdd), R"(HloModule main
ENTRY main {
  p = f32[2] parameter(0)
  ROOT r = f32[2] add(p, p)
}
)");
}

TEST(Bytecode, DictionariesAreTheirText) {
  auto module = ParseStableHlo(Bytes(kDictionary));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_NE(
      PrintModule(**module).find(
          R"(backend_config={a = 1 : i64, b = [1, 2], c = "x\22y", d = 2.500000e+00 : f32, e, f = 7 : ui8, )"
          R"(g = array<i64: 1, 2>, h = true, i = dense<[1, 2]> : tensor<2xi32>, j = 1.000000e-01 : f64, k = f32, )"
          R"(l = [1.000000e+00, 1 : i32], m = 1.000000e-30 : f32, "n o" = 3 : index, p = @q, r = tensor<2xf32>})"),
      std::string::npos)
      << PrintModule(**module);
  // The place in the source, and the name of it.
  EXPECT_NE(PrintModule(**module).find(R"(op_name="call" source_file="f.py" source_line=3)"), std::string::npos)
      << PrintModule(**module);
}

TEST(Bytecode, ConstantsInResources) {
  ExpectHlo(Bytes(kResource), R"(HloModule main
ENTRY main {
  ROOT c = f32[4] constant({1, 2, 3, 4})
}
)");
}

TEST(Bytecode, ErrorsNameTheByte) {
  ExpectRefused(Add(4, 0x0f), "MLIR bytecode, byte 4: file: has version 7 of the format; versions 0 to 6 are read");
  ExpectRefused(Bytes(kAdd).substr(0, 100), "MLIR bytecode, byte 95: file: expected 38 bytes, found 5");
  ExpectRefused("ML\xefR", "byte 4: file: ends where a byte was expected");
  ExpectRefused(Add(19, 0x09), "byte 19: file: has a section of kind 9");
}

// A number below 2^14 as the format has it.
std::string Number(int n) {
  if (n < 128) return std::string(1, static_cast<char>(n << 1 | 1));
  return {static_cast<char>(n << 2 | 2), static_cast<char>(n >> 6)};
}

std::string Section(int id, const std::string& bytes) {
  return static_cast<char>(id) + Number(static_cast<int>(bytes.size())) + bytes;
}

// A module without functions whose attributes are the last of a table: what comes first is an unknown location, the
// string "module", and then `attributes`.
std::string ModuleWith(std::vector<std::string> attributes) {
  attributes.insert(attributes.begin(), {Number(15), Number(2) + Number(1)});
  const int count = static_cast<int>(attributes.size());
  std::string table, sizes = Number(count) + Number(0) + Number(0) + Number(count);
  for (const std::string& attribute : attributes) {
    table += attribute;
    sizes += Number(static_cast<int>(attribute.size()) << 1 | 1);
  }
  const std::string nothing = Section(4, Number(1) + Number(0) + Number(0));
  const std::string module = Number(0) + std::string(1, 1 + 16) + Number(0) + Number(count - 1) + Number(3) + nothing;
  return "ML\xefR" + Number(4) + std::string("test\0", 5) +
         Section(0, Number(2) + Number(7) + Number(8) + std::string("builtin\0module\0", 15)) +
         Section(1, Number(1) + Number(0) + Number(1) + Number(0) + Number(1) + Number(1)) + Section(2, table) +
         Section(3, sizes) + Section(4, Number(2) + module);
}

// `count` arrays, the first empty and each other one of the one before it, `times` over.
std::vector<std::string> Arrays(int count, int times) {
  std::vector<std::string> arrays = {Number(0) + Number(0)};
  for (int i = 1; i < count; ++i) {
    arrays.push_back(Number(0) + Number(times));
    for (int n = 0; n < times; ++n) arrays.back() += Number(1 + i);
  }
  return arrays;
}

// A dictionary of one entry.
std::string DictionaryOf(int attribute) { return Number(1) + Number(1) + Number(1) + Number(attribute); }

TEST(Bytecode, AttributesThatReferToEachOther) {
  std::vector<std::string> attributes = Arrays(50, 1);
  attributes.push_back(DictionaryOf(2 + 49));
  ExpectRefused(ModuleWith(attributes), "the module has no function `main` and no public one");  // it is read

  ExpectRefused(ModuleWith({Number(0) + Number(1) + Number(2), DictionaryOf(2)}), "attribute 2 contains itself");
  ExpectRefused(ModuleWith({DictionaryOf(2)}), "attribute 2 contains itself");

  attributes = Arrays(1000, 1);
  attributes.push_back(DictionaryOf(2 + 999));
  ExpectRefused(ModuleWith(attributes), "nested more than 100 deep");

  // Read from the inside to the outside, so that no reference is followed far.
  attributes = Arrays(300, 1);
  std::string all = Number(0) + Number(300);
  for (int i = 0; i < 300; ++i) all += Number(2 + i);
  attributes.push_back(all);
  attributes.push_back(DictionaryOf(2 + 300));
  ExpectRefused(ModuleWith(attributes), "nested more than 100 deep");

  attributes = Arrays(60, 4);
  attributes.push_back(DictionaryOf(2 + 59));
  ExpectRefused(ModuleWith(attributes), "refer to each other so often");

  ExpectRefused(ModuleWith({Number(0) + Number(5000)}), "says that 5000 attributes follow, but has only 0 bytes left");
  ExpectRefused(ModuleWith({DictionaryOf(700)}), "refers to attribute 700, but there are 3");
}

}  // namespace
}  // namespace xc
