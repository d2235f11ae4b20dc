// Metadata as JSON. Every field is written and every field is required, so that a text which was
// cut or edited is refused instead of read as something else.
#include <nlohmann/json.hpp>

#include "tilewright/base/error.h"
#include "tilewright/runtime/metadata.h"

namespace tw::runtime {

using nlohmann::json;

// The two directions of each struct stand together; nlohmann finds them by argument lookup.
void to_json(json& j, const HostExpr& expr) {
  if (expr.is_constant()) {
    j = expr.constant();
  } else {
    j = to_postfix(expr);
  }
}
void from_json(const json& j, HostExpr& expr) {
  expr = j.is_string() ? parse_postfix(j.get<std::string>()) : HostExpr(j.get<int64_t>());
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Symbol, name, multiple_of, min, max, param)

// An enum is written as its name; the names stand in the order of the values.
template <class E, size_t n>
void enum_from_json(const json& j, E& value, const char* const (&names)[n]) {
  const auto name = j.get<std::string>();
  for (size_t i = 0; i < n; ++i) {
    if (name == names[i]) {
      value = static_cast<E>(i);
      return;
    }
  }
  throw Error(Code{}, {}, "metadata of a kernel can't be read: unknown word '{}'", name);
}

constexpr const char* kParamKinds[] = {"input",  "inout",   "output",
                                       "scalar", "pointer", "workspace"};
void to_json(json& j, ParamKind kind) { j = kParamKinds[static_cast<size_t>(kind)]; }
void from_json(const json& j, ParamKind& kind) { enum_from_json(j, kind, kParamKinds); }

constexpr const char* kFieldKinds[] = {"address", "symbol", "scalar"};
void to_json(json& j, PackedField::Kind kind) { j = kFieldKinds[static_cast<size_t>(kind)]; }
void from_json(const json& j, PackedField::Kind& kind) { enum_from_json(j, kind, kFieldKinds); }

}  // namespace tw::runtime

namespace tw {

void to_json(nlohmann::json& j, DType dtype) { j = to_text(dtype); }
void from_json(const nlohmann::json& j, DType& dtype) { dtype = dtype_named(j.get<std::string>()); }

}  // namespace tw

namespace tw::runtime {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Param, name, kind, dtype, shape, strides, nullable, align,
                                   no_restrict, zeroed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PackedField, kind, index, offset)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorMap, param, box, swizzle)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Variant, guard, entry, grid, scratch_bytes, threads, cluster,
                                   shared_bytes, cooperative, dependent_launch, maps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Launch, name, variants, grid_limit)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Message, text, values, where)

std::string to_json(const KernelMetadata& m) {
  return json{{"tilewright_kernel", kMetadataVersion},
              {"name", m.name},
              {"target", m.target},
              {"device", to_text(m.device)},
              {"index_bits", m.index_bits},
              {"symbols", m.symbols},
              {"params", m.params},
              {"packed", m.packed},
              {"packed_bytes", m.packed_bytes},
              {"launches", m.launches},
              {"messages", m.messages}}
      .dump();
}

KernelMetadata metadata_from_json(std::string_view text) {
  KernelMetadata m;
  try {
    const json j = json::parse(text);
    const int version = j.at("tilewright_kernel").get<int>();
    TW_REQUIRE(version == kMetadataVersion,
               "metadata of a kernel has format version {}, this library reads version {}", version,
               kMetadataVersion);
    j.at("name").get_to(m.name);
    j.at("target").get_to(m.target);
    m.device = device_kind_named(j.at("device").get<std::string>());
    j.at("index_bits").get_to(m.index_bits);
    j.at("symbols").get_to(m.symbols);
    j.at("params").get_to(m.params);
    j.at("packed").get_to(m.packed);
    j.at("packed_bytes").get_to(m.packed_bytes);
    j.at("launches").get_to(m.launches);
    j.at("messages").get_to(m.messages);
  } catch (const json::exception& error) {
    throw Error(Code{}, {}, "metadata of a kernel can't be read: {}", error.what());
  }
  verify(m);
  return m;
}

}  // namespace tw::runtime
