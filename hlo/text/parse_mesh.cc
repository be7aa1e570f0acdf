// Replica groups by the axes of a mesh: mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'b':(2)2,'a'}.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/devices/mesh_groups.h"
#include "hlo/text/parser_impl.h"

namespace xc {

// 'name' or "name".
bool Parser::ParseAxisName(std::string* out) {
  if (lex_.tok().kind == Tok::kString) return Parse(out);
  if (!lex_.At('\'')) return Expected("the name of an axis in quotes");
  const char* start = lex_.position() + 1;
  const char* stop = start;
  while (stop < lex_.end() && *stop != '\'' && *stop != '\n') ++stop;
  if (stop == lex_.end() || *stop == '\n') return Fail(lex_.position(), "this name has no closing quote");
  *out = std::string(start, stop);
  lex_.ContinueAt(stop + 1);
  return true;
}

bool Parser::ParseMesh(DeviceMesh* mesh) {
  lex_.Next();  // mesh
  if (!Expect('[')) return false;
  while (!lex_.At(']')) {
    const char* at = lex_.position();
    DeviceMesh::Axis& axis = mesh->axes.emplace_back();
    if (!ParseAxisName(&axis.name) || !Expect('=') || !Parse(&axis.size)) return false;
    for (const DeviceMesh::Axis& other : mesh->axes) {
      if (&other != &axis && other.name == axis.name) {
        return Fail(at, absl::StrCat("the mesh has two axes '", axis.name, "'"));
      }
    }
    if (!Accept(',')) break;
  }
  if (!Expect(']')) return false;
  Accept(',');
  if (!lex_.AtName("device_ids")) return true;
  lex_.Next();
  if (!Expect('=') || !Expect('(')) return false;
  if (lex_.At('[')) {
    if (!ParseBracketInts(&mesh->iota_reshape_dims)) return false;
    if (lex_.AtName("T")) {
      lex_.Next();
      if (!ParseParenInts(&mesh->iota_transpose, /*star=*/false)) return false;
    }
  } else {
    while (!lex_.At(')')) {
      if (!Parse(&mesh->device_ids.emplace_back())) return false;
      if (!Accept(',')) break;
    }
  }
  if (!Expect(')')) return false;
  Accept(',');
  return true;
}

// 'a', or 'a':(2)4 for a part; axes may also be named by their number.
bool Parser::ParseAxisRef(const DeviceMesh& mesh, MeshAxisRef* out) {
  const char* at = lex_.position();
  std::string name;
  if (!ParseAxisName(&name)) return false;
  out->axis = 0;
  while (out->axis < static_cast<int64_t>(mesh.axes.size()) && mesh.axes[out->axis].name != name) ++out->axis;
  if (out->axis == static_cast<int64_t>(mesh.axes.size())) {
    if (!absl::SimpleAtoi(name, &out->axis) || out->axis < 0 || out->axis >= static_cast<int64_t>(mesh.axes.size())) {
      return Fail(at, absl::StrCat("the mesh has no axis '", name, "'"));
    }
  }
  if (!Accept(':')) return true;
  if (!Expect('(') || !Parse(&out->pre_size) || !Expect(')') || !Parse(&out->size)) return false;
  return out->size > 0 || Fail(at, "a part of an axis has at least one device");
}

bool Parser::ParseMeshGroups(ReplicaGroups* out) {
  const char* at = lex_.position();
  DeviceMesh mesh;
  std::vector<MeshAxisRef> axes;
  if (!ParseMesh(&mesh) || !Expect('{')) return false;
  while (!lex_.At('}')) {
    if (!ParseAxisRef(mesh, &axes.emplace_back())) return false;
    if (!Accept(',')) break;
  }
  if (!Expect('}')) return false;
  absl::StatusOr<ReplicaGroups> groups = GroupsOfMesh(mesh, axes);
  if (!groups.ok()) return Fail(at, groups.status().message());
  *out = *std::move(groups);
  return true;
}

}  // namespace xc
