// All that the run time knows about a compiled kernel, as data: the compiler writes it, the disk
// cache and artefacts store it, and a call needs nothing else but the code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/base/dtype.h"
#include "tilewright/runtime/device.h"
#include "tilewright/runtime/host_expr.h"

namespace tw::runtime {

/// The version of everything in this file and of the entries' calling convention.
/// Another is refused.
inline constexpr int kMetadataVersion = 4;

inline constexpr int kMaxParams = 64;
inline constexpr int64_t kMaxPackedBytes = 4096;
inline constexpr int64_t kMaxThreads = 1024;  // of a block
inline constexpr int64_t kMaxCluster = 16;    // blocks of a cluster

/// A size that is known at the call, with the facts that the code relies on.
struct Symbol {
  std::string name;
  int64_t multiple_of = 1;
  int64_t min = 0;
  int64_t max = INT64_MAX;
  int param = -1;  // the scalar parameter that gives it; -1: follows from shapes and strides
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

enum class ParamKind : uint8_t { input, inout, output, scalar, pointer, workspace };

/// A parameter in the order of the call. Workspaces are parameters that the caller doesn't give.
struct Param {
  std::string name;
  ParamKind kind = ParamKind::input;
  DType dtype;

  // Tensors and workspaces. An entry of a tensor is a constant, a symbol, or affine in one symbol
  // that isn't known from elsewhere; or any expression of symbols that are.
  std::vector<HostExpr> shape;
  /// Empty: row-major without gaps. Else an entry per dimension, as for shapes.
  std::vector<HostExpr> strides;
  bool nullable = false;     // null is legal; or the code never reads it
  int64_t align = 1;         // promised alignment of the address, in bytes
  bool no_restrict = false;  // may overlap other parameters

  bool zeroed = false;  // workspaces: filled with zeros before the first launch

  bool is_tensor() const { return kind <= ParamKind::output; }
  friend bool operator==(const Param&, const Param&) = default;
};

/// One value of the packed block that every entry gets. Each takes a slot of eight bytes:
/// addresses, sizes as int64, scalars in the low bytes with zeros above. An address
/// that is null is zero.
struct PackedField {
  enum class Kind : uint8_t {
    address,
    symbol,
    scalar
  };  // `address` also of workspaces and pointers
  Kind kind;
  int index;       // parameter or symbol
  int64_t offset;  // bytes from the start of the block; a multiple of 8
  friend bool operator==(const PackedField&, const PackedField&) = default;
};

/// How bulk tensor copies see a tensor: what the launcher makes a descriptor from, which the entry
/// gets after the packed fields (GPUs).
struct TensorMap {
  int param = 0;
  std::vector<int64_t> box;  // extents of what one copy takes, the innermost last
  int64_t swizzle = 0;       // bytes: 0 (none), 32, 64 or 128
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// One way to run a launch. `guard` is evaluated at the call; the last variant's is the constant 1.
struct Variant {
  HostExpr guard = 1;
  std::string entry;           // name of the function in the code
  std::vector<HostExpr> grid;  // one to three extents, x first
  int64_t scratch_bytes = 0;   // memory that a worker needs for a block (CPU), aligned to 64

  // GPUs.
  std::vector<int64_t> threads;   // of a block: one to three extents, x first
  std::vector<int64_t> cluster;   // of blocks, likewise; empty: none
  int64_t shared_bytes = 0;       // shared memory of a block that the launch asks for
  bool cooperative = false;       // all blocks run at once, or none
  bool dependent_launch = false;  // may begin before the launch ahead of it in the stream ends
  std::vector<TensorMap> maps;

  friend bool operator==(const Variant&, const Variant&) = default;
};

struct Launch {
  std::string name;
  std::vector<Variant> variants;    // one to four; the first whose guard holds runs
  std::vector<int64_t> grid_limit;  // largest extents the target takes; empty where it has no limit
  friend bool operator==(const Launch&, const Launch&) = default;
};

/// A text that generated code can report: of a device_assert or a print. `{}` stands for a value.
struct Message {
  std::string text;
  std::vector<DType> values;
  std::string where;  // "file.cpp:12", or empty
  friend bool operator==(const Message&, const Message&) = default;
};

struct KernelMetadata {
  std::string name;
  std::string target;  // as `compile` was given it, with architecture; for people and caches
  DeviceKind device = DeviceKind::cpu;
  int index_bits = 64;  // 32: offsets of every tensor must fit; checked at the call
  std::vector<Symbol> symbols;
  std::vector<Param> params;
  std::vector<PackedField> packed;
  int64_t packed_bytes = 0;
  std::vector<Launch> launches;
  std::vector<Message> messages;
  friend bool operator==(const KernelMetadata&, const KernelMetadata&) = default;
};

/// Lays out the packed block: the addresses of all but scalars, then the scalars, then the symbols,
/// in order. Fills `packed` and `packed_bytes`.
void pack_all(KernelMetadata& metadata);
/// Offset of a field in the packed block; -1 when it isn't there.
int64_t packed_offset(const KernelMetadata& metadata, PackedField::Kind kind, int index);

/// Names of symbols and parameters for printing expressions. The metadata must live as long.
HostNames names_of(const KernelMetadata& metadata);

/// Reports metadata that contradicts itself (an index out of range, a launch without variants, ...)
/// as an Error. A call relies on it.
void verify(const KernelMetadata& metadata);

/// JSON, and back. Text that isn't the JSON of a kernel's metadata, or has another version, is an
/// Error; what it returns is verified.
std::string to_json(const KernelMetadata& metadata);
KernelMetadata metadata_from_json(std::string_view json);

/// For dumps: signature, launches with grids, guards and entries.
std::string to_text(const KernelMetadata& metadata);

}  // namespace tw::runtime
