#include "tilewright/runtime/metadata.h"

#include "tilewright/base/error.h"

namespace tw::runtime {

void pack_all(KernelMetadata& metadata) {
  metadata.packed.clear();
  int64_t offset = 0;
  const auto add = [&](PackedField::Kind kind, size_t index) {
    metadata.packed.push_back({kind, static_cast<int>(index), offset});
    offset += 8;
  };
  for (const bool scalars : {false, true}) {
    for (size_t i = 0; i < metadata.params.size(); ++i) {
      const bool is_scalar = metadata.params[i].kind == ParamKind::scalar;
      if (is_scalar != scalars) continue;
      add(is_scalar ? PackedField::Kind::scalar : PackedField::Kind::address, i);
    }
  }
  for (size_t i = 0; i < metadata.symbols.size(); ++i) add(PackedField::Kind::symbol, i);
  metadata.packed_bytes = offset;
}

int64_t packed_offset(const KernelMetadata& metadata, PackedField::Kind kind, int index) {
  for (const PackedField& field : metadata.packed) {
    if (field.kind == kind && field.index == index) return field.offset;
  }
  return -1;
}

HostNames names_of(const KernelMetadata& metadata) {
  return {[&metadata](int i) { return metadata.symbols[static_cast<size_t>(i)].name; },
          [&metadata](int i) { return metadata.params[static_cast<size_t>(i)].name; }};
}

namespace {

// Checks one kernel's metadata; the functions are in the order of the struct's members.
class Verifier {
 public:
  explicit Verifier(const KernelMetadata& metadata) : m_(metadata) {}

  void run() const {
    require(!m_.name.empty(), "it has no name");
    require(m_.index_bits == 32 || m_.index_bits == 64, format("index_bits is {}", m_.index_bits));
    require(m_.symbols.size() <= kMaxSymbols,
            format("{} symbols, the most is {}", m_.symbols.size(), kMaxSymbols));
    require(m_.params.size() <= kMaxParams,
            format("{} parameters, the most is {}", m_.params.size(), kMaxParams));
    for (const Symbol& symbol : m_.symbols) {
      require(symbol.multiple_of >= 1, format("symbol {}: multiple_of is below 1", symbol.name));
      const auto given = static_cast<size_t>(symbol.param);
      require(symbol.param == -1 ||
                  (given < m_.params.size() && m_.params[given].kind == ParamKind::scalar),
              format("symbol {}: parameter {} is no scalar", symbol.name, symbol.param));
    }
    for (const Param& param : m_.params) check_param(param);
    require(m_.packed_bytes >= 0 && m_.packed_bytes <= kMaxPackedBytes,
            format("{} packed bytes, the most is {}", m_.packed_bytes, kMaxPackedBytes));
    for (const PackedField& field : m_.packed) check_field(field);
    require(!m_.launches.empty(), "it has no launch");
    for (const Launch& launch : m_.launches) check_launch(launch);
  }

 private:
  void require(bool condition, const std::string& reason) const {
    if (!condition) throw Error(Code{}, {}, "metadata of kernel '{}': {}", m_.name, reason);
  }

  void check_expr(const HostExpr& expr, const std::string& where) const {
    for (const HostExpr::Instr& instr : expr.code()) {
      const auto index = static_cast<size_t>(instr.value);
      switch (instr.op) {
        case HostOp::symbol:
          require(index < m_.symbols.size(), format("{}: symbol {} doesn't exist", where, index));
          break;
        case HostOp::scalar:
          require(index < m_.params.size() && m_.params[index].kind == ParamKind::scalar &&
                      !m_.params[index].dtype.is_float(),
                  format("{}: parameter {} is no whole scalar", where, index));
          break;
        case HostOp::extent:
        case HostOp::stride:
        case HostOp::address_mod:
          require(
              index < m_.params.size() && m_.params[index].is_tensor() &&
                  (instr.op == HostOp::address_mod || instr.dim < m_.params[index].shape.size()),
              format("{}: parameter {} is no tensor with dimension {}", where, index, instr.dim));
          break;
        default:
          break;
      }
    }
  }

  void check_param(const Param& param) const {
    const std::string where = "parameter " + param.name;
    const auto rank = param.shape.size();
    require(rank <= kMaxRank, format("{}: rank {}, the largest is {}", where, rank, kMaxRank));
    require(param.strides.empty() || param.strides.size() == rank,
            format("{}: {} strides for rank {}", where, param.strides.size(), rank));
    require(param.align >= 1 && (param.align & (param.align - 1)) == 0,
            format("{}: alignment {} is no power of two", where, param.align));
    require(
        param.kind != ParamKind::scalar || (param.dtype.lanes == 1 && !param.dtype.is_sub_byte()),
        format("{}: a scalar of dtype {}", where, param.dtype));
    for (const HostExpr& expr : param.shape) check_expr(expr, where);
    for (const HostExpr& expr : param.strides) check_expr(expr, where);
  }

  void check_field(const PackedField& field) const {
    const bool is_symbol = field.kind == PackedField::Kind::symbol;
    const size_t count = is_symbol ? m_.symbols.size() : m_.params.size();
    require(field.index >= 0 && static_cast<size_t>(field.index) < count,
            format("packed field {} {} doesn't exist", is_symbol ? "symbol" : "parameter",
                   field.index));
    if (!is_symbol) {
      const Param& param = m_.params[static_cast<size_t>(field.index)];
      require((param.kind == ParamKind::scalar) == (field.kind == PackedField::Kind::scalar),
              format("packed field of {} has the wrong kind", param.name));
    }
    require(field.offset >= 0 && field.offset % 8 == 0 && field.offset <= m_.packed_bytes - 8,
            format("packed field at offset {} of {} bytes", field.offset, m_.packed_bytes));
  }

  void check_launch(const Launch& launch) const {
    const std::string where = "launch " + launch.name;
    require(!launch.variants.empty(), format("{}: it has no variant", where));
    require(launch.grid_limit.empty() || launch.grid_limit.size() == 3,
            format("{}: {} grid limits", where, launch.grid_limit.size()));
    for (const Variant& variant : launch.variants) {
      require(!variant.grid.empty() && variant.grid.size() <= 3,
              format("{}: a grid of {} extents", where, variant.grid.size()));
      require(variant.scratch_bytes >= 0, format("{}: negative scratch", where));
      check_threads(variant, where);
      for (const TensorMap& map : variant.maps) check_map(map, where);
      check_expr(variant.guard, where);
      for (const HostExpr& extent : variant.grid) check_expr(extent, where);
    }
    const HostExpr& last = launch.variants.back().guard;
    require(last.is_constant() && last.constant() != 0,
            format("{}: the last variant has a guard", where));
  }

  void check_map(const TensorMap& map, const std::string& where) const {
    const auto count = static_cast<int>(m_.params.size());
    require(map.param >= 0 && map.param < count,
            format("{}: a descriptor of parameter {} of {}", where, map.param, count));
    const Param& param = m_.params[static_cast<size_t>(map.param)];
    require(map.box.size() == param.shape.size() && !map.box.empty() && map.box.size() <= 5,
            format("{}: a box {} of {}", where, map.box, param.name));
    for (const int64_t extent : map.box) {
      require(extent >= 1 && extent <= 256,
              format("{}: a box {} of {}", where, map.box, param.name));
    }
    require(map.swizzle == 0 || map.swizzle == 32 || map.swizzle == 64 || map.swizzle == 128,
            format("{}: a swizzle of {} bytes", where, map.swizzle));
  }

  void check_threads(const Variant& v, const std::string& where) const {
    const auto product = [&](const std::vector<int64_t>& extents, int64_t most, const char* what) {
      int64_t count = 1;
      for (const int64_t extent : extents) {
        require(extent >= 1 && extent <= most, format("{}: {} {}", where, extent, what));
        count *= extent;
      }
      require(extents.size() <= 3 && count <= most, format("{}: {} {}", where, extents, what));
    };
    product(v.threads, kMaxThreads, "threads");
    product(v.cluster, kMaxCluster, "blocks in a cluster");
    require(v.shared_bytes >= 0 && v.shared_bytes <= INT32_MAX,
            format("{}: {} bytes of shared memory", where, v.shared_bytes));
    require(m_.device != DeviceKind::cuda || !v.threads.empty(), format("{}: no threads", where));
  }

  const KernelMetadata& m_;
};

}  // namespace

void verify(const KernelMetadata& metadata) { Verifier(metadata).run(); }

namespace {

const char* kind_text(ParamKind kind) {
  constexpr const char* kNames[] = {"input", "inout", "output", "scalar", "pointer", "workspace"};
  return kNames[static_cast<size_t>(kind)];
}

std::string list(const std::vector<HostExpr>& exprs, const HostNames& names) {
  std::vector<std::string> parts;
  for (const HostExpr& expr : exprs) parts.push_back(to_text(expr, names));
  return "[" + join(parts, ", ") + "]";
}

}  // namespace

std::string to_text(const KernelMetadata& m) {
  const HostNames names = names_of(m);
  std::string text = format("kernel {} for {} ({}-bit indices)\n", m.name, m.target, m.index_bits);
  for (const Symbol& s : m.symbols) {
    text += format("  symbol {}", s.name);
    if (s.multiple_of != 1) text += format(" multiple of {}", s.multiple_of);
    if (s.min != 0) text += format(" min {}", s.min);
    if (s.max != INT64_MAX) text += format(" max {}", s.max);
    if (s.param >= 0) text += " by value";
    text += "\n";
  }
  for (const Param& p : m.params) {
    text += format("  {} {} {}", kind_text(p.kind), p.name, p.dtype);
    if (p.is_tensor() || p.kind == ParamKind::workspace) text += " " + list(p.shape, names);
    if (!p.strides.empty()) text += " strides " + list(p.strides, names);
    if (p.align != 1) text += format(" align {}", p.align);
    if (p.nullable) text += " nullable";
    if (p.no_restrict) text += " no_restrict";
    if (p.zeroed) text += " zeroed";
    text += "\n";
  }
  for (const Launch& launch : m.launches) {
    text += format("  launch{}{}\n", launch.name.empty() ? "" : " ", launch.name);
    for (const Variant& v : launch.variants) {
      text += format("    {} grid {}", v.entry, list(v.grid, names));
      if (v.scratch_bytes != 0) text += format(" scratch {} bytes", v.scratch_bytes);
      if (!v.threads.empty()) text += format(" threads {}", v.threads);
      if (!v.cluster.empty()) text += format(" cluster {}", v.cluster);
      if (v.shared_bytes != 0) text += format(" shared {} bytes", v.shared_bytes);
      if (v.cooperative) text += " cooperative";
      if (v.dependent_launch) text += " dependent";
      for (const TensorMap& map : v.maps) {
        text += format(" box {} of {}", map.box, m.params[static_cast<size_t>(map.param)].name);
        if (map.swizzle != 0) text += format(" swizzle {}", map.swizzle);
      }
      if (!v.guard.is_constant()) text += " if " + to_text(v.guard, names);
      text += "\n";
    }
  }
  return text;
}

}  // namespace tw::runtime
