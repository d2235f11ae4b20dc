// The form in which the twin executes thread IR: one flat list of instructions per launch, over
// numbered registers of a thread. A thread that waits is a number in that list.
//
// Internal to sim/twin: twin.h is the interface.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/sim/element.h"
#include "tilewright/sim/memory.h"

namespace tw::sim::twin {

/// A register holds the bits of a value (base/convert.h). Constants, sizes and everything else that
/// does not change have registers, too, so an operand is always one.
using Reg = uint32_t;

enum class Code : uint8_t {
  apply,        // dst = fn(a, b, c)
  divide,       // the same, where b must not be 0
  shift,        // the same, where b must be below `width`
  add,          // dst = a + b, of 64 bits
  multiply,     // dst = a * b, of 64 bits
  copy,         // dst = a
  resize,       // dst = a of `width` bits (with sign, if c) in the lowest b bits
  cast,         // dst = a converted by casts[b], with the random word c
  jump,         // to dst
  jump_if,      // to dst if a
  jump_unless,  // to dst if not a
  loop,         // to dst unless a is before b, in the direction of the step c
  advance,      // dst = a + b, of 64 bits; counts an iteration
  load,         // dst = accesses[a]
  store,        // accesses[a] = b
  move_in,      // accesses[a] = accesses[b], from memory to a local array
  move_out,     // accesses[a] = accesses[b], from a local array to memory
  fold_out,     // atomics[dst] of accesses[a] with accesses[b], element by element
  atomic,       // dst = accesses[a]; then atomics[b] of it
  forget,       // buffers[a] is a new one
  warp,         // warps[a]
  barrier,      // barriers[a]
  async,        // asyncs[a]
  sync,         // syncs[a]
  print,        // messages[a]
  fail,         // messages[a]: an assertion or assumption is false
  end,
};

struct Instruction {
  Code code = Code::end;
  uint8_t width = 64;
  uint32_t dst = 0, a = 0, b = 0, c = 0;
  ElementFn fn = nullptr;
};

/// An index: a register and by how much its sign is above bit 63.
struct IndexOperand {
  Reg reg = 0;
  uint8_t shift = 0;
};

enum class Space : uint8_t { local, shared, global };

struct BufferCode {
  ir::Buffer buffer;
  Space space = Space::global;
  int root = 0;    // number of the buffer whose storage it is
  int width = 32;  // bits of an element
  std::vector<Reg> shape, strides;
  Reg offset = 0;        // in elements
  Reg address = 0;       // of a view at an address
  Reg peer = 0;          // of a view of another block's memory: the block's rank in the cluster
  int64_t base = 0;      // of roots: bytes from the beginning of their memory
  int64_t bytes = 0;     // of local and shared roots
  int64_t row_bits = 0;  // of roots with padding: of a row without it
  int64_t padding_bits = 0;
  bool plain = false;  // a local array of one dimension, or a variable, of whole bytes
  int memory = -1;     // of global ones: number of the argument's memory; -1: by address
};

/// A dimension of an access, with extent and stride of the buffer.
struct Dimension {
  IndexOperand index;
  Reg extent = 0, stride = 0;
};

/// Where and how the program touches a buffer.
struct Access {
  int buffer = 0;
  std::vector<IndexOperand> index;
  int count = 1;             // of neighbors, in a Move
  bool block_scope = false;  // of an atomic: it means nothing to other blocks
  const ir::Node* node = nullptr;

  // Copied from its buffer, so that the usual cases take few steps:
  bool plain = false;   // one element, of a plain local array
  bool direct = false;  // of whole bytes, without padding, at no address
  bool truth = false;   // of truth values
  Space space = Space::global;
  int memory = -1;
  int64_t width = 4;  // bytes
  int64_t base = 0, bytes = 0;
  IndexOperand first;  // its index, or 0
  Reg offset = 0;
  std::vector<Dimension> dimensions;
};

struct CastCode {
  DType from, to;
  Rounding rounding = Rounding::rn;
  bool saturate = true;
  std::vector<Bits> table = {};  // of all values that 8 bits have; else empty
};
struct AtomicCode {
  ElementFn combine = nullptr;
  Reg value = 0, compare = 0;
  bool reads = true, writes = true;
  bool acquires = false, releases = false;
  bool waits = false;  // until combine of what it loads is true
  const ir::Atomic* node = nullptr;
};
struct WarpOpCode {
  const ir::WarpOp* node = nullptr;
  Reg dst = 0, value = 0, lane = 0;
  DType dtype;
  ElementFn fold = nullptr;
};
struct BarrierCode {
  const ir::Barrier* node = nullptr;
  Reg cond = 0, dst = 0;
};
/// One side of an asynchronous copy: the access of its first element, and how many follow.
struct SideCode {
  uint32_t access = 0;
  std::vector<int64_t> extent;
};
struct AsyncCode {
  const ir::AsyncCopy* node = nullptr;
  SideCode src, dst;
  Reg valid = 0;
  int64_t phases = -1;  // access of the barrier
  ElementFn fold = nullptr;
};
struct SyncOpCode {
  const ir::Sync* node = nullptr;
  int64_t phases = -1;  // access of the barrier
  Reg value = 0, dst = 0;
};
struct MessageCode {
  std::string text;
  std::vector<Reg> values;
  std::vector<DType> dtypes;
  int access = -1;       // of a buffer that is printed element by element
  bool assumed = false;  // of a failed check
};

struct LaunchCode {
  const ir::Launch* launch = nullptr;
  std::vector<Instruction> instructions;
  std::vector<const ir::Node*> nodes;  // of each instruction: for its position
  std::vector<Bits> registers;         // what a thread begins with
  std::vector<BufferCode> buffers;
  std::vector<Access> accesses;
  std::vector<CastCode> casts;
  std::vector<AtomicCode> atomics;
  std::vector<WarpOpCode> warps;
  std::vector<BarrierCode> barriers;
  std::vector<AsyncCode> asyncs;
  std::vector<SyncOpCode> syncs;
  std::vector<MessageCode> messages;
  std::vector<Reg> block_vars;
  Reg thread = 0;
  int64_t threads = 1;
  int64_t local_bytes = 0, shared_bytes = 0;
  int shared_unit = 16;  // bytes: every access to shared memory is a multiple of it
};

}  // namespace tw::sim::twin
