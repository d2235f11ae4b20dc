// Memory as the interpreter sees it: storages with a shadow, and buffers as views of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/base/dtype.h"

namespace tw::sim {

inline constexpr int kMaxRank = 8;
using Index = std::array<int64_t, kMaxRank>;

enum class Access : uint8_t { read, write, atomic };

/// Who touched one unit of a storage during one epoch (one execution of a parallel loop, one
/// launch). Two readers (atomic accessors) are remembered, so that one of them differs from any
/// later writer.
struct Mark {
  uint32_t epoch = 0;
  int32_t writer = -1;
  std::array<int32_t, 2> readers = {-1, -1}, atomics = {-1, -1};

  /// Notes an access; returns an iteration that it conflicts with, or -1.
  int32_t note(uint32_t epoch_now, int32_t iteration, Access access);
};

/// A piece of memory: an argument, a workspace or a block buffer.
class Storage {
 public:
  /// Memory of the caller, of `bits` bits from `data`; `origin` is the bit of element 0.
  Storage(std::byte* data, int64_t bits, int64_t origin, int unit_bits)
      : data_(data), bits_(bits), origin_(origin), unit_bits_(unit_bits) {}
  /// Memory of its own, filled with `poison`.
  Storage(int64_t bits, int unit_bits, std::byte poison);

  /// Makes all contents undefined again.
  void forget(std::byte poison);
  /// Watches that nothing is read before it is written. Without this all contents count as written.
  void track_writes();
  void zero();

  bool holds(int64_t bit, int width) const {
    return bit + origin_ >= 0 && bit + origin_ + width <= bits_;
  }
  uint64_t read(int64_t bit, int width) const;
  void write(int64_t bit, int width, uint64_t value);
  bool was_written(int64_t bit, int width) const;
  /// Marks of iterations, and of blocks: the iteration in conflict, or -1.
  int32_t note_iteration(int64_t bit, int width, uint32_t epoch, int32_t iteration, Access access) {
    return note(&iteration_marks_, bit, width, epoch, iteration, access);
  }
  int32_t note_block(int64_t bit, int width, uint32_t epoch, int32_t block, Access access) {
    return note(&block_marks_, bit, width, epoch, block, access);
  }

  /// Where it lies, for views at addresses.
  const std::byte* data() const { return data_; }
  int64_t size_bits() const { return bits_; }
  int64_t origin() const { return origin_; }

  /// The parallel epoch in which it was allocated: its iterations have each their own.
  uint32_t private_to = 0;

 private:
  int32_t note(std::vector<Mark>* marks, int64_t bit, int width, uint32_t epoch, int32_t iteration,
               Access access);

  std::vector<std::byte> own_;
  std::byte* data_ = nullptr;
  int64_t bits_ = 0, origin_ = 0;
  int unit_bits_ = 8;
  std::vector<uint8_t> written_;  // per unit; empty: everything is
  std::vector<Mark> iteration_marks_, block_marks_;
};

/// A buffer while its program runs: which elements of which storage it has.
struct View {
  Storage* storage = nullptr;
  DType dtype;
  int width = 8;  // bits of an element
  int rank = 0;
  int64_t offset = 0;  // of element (0, ...), in elements from the storage's origin
  Index shape{}, strides{};

  std::vector<int64_t> extents() const { return {shape.begin(), shape.begin() + rank}; }
  bool inside(const Index& index) const {
    for (int dim = 0; dim < rank; ++dim) {
      const auto d = static_cast<size_t>(dim);
      if (index[d] < 0 || index[d] >= shape[d]) return false;
    }
    return true;
  }
  /// The bit at which an element begins.
  int64_t bit_of(const Index& index) const {
    int64_t element = offset;
    for (int dim = 0; dim < rank; ++dim) {
      const auto d = static_cast<size_t>(dim);
      element += index[d] * strides[d];
    }
    return element * width;
  }
};

/// `t[3, 4]`.
std::string element_text(const std::string& name, const Index& index, int rank);

}  // namespace tw::sim
