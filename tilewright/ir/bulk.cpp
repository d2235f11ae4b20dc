#include "tilewright/ir/bulk.h"

#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"

namespace tw::ir {
namespace {

constexpr int64_t kLongest = 256, kUnitBits = 128, kTileBytes = 128;
constexpr size_t kMaxRank = 5;

std::vector<int64_t> constants(const std::vector<Expr>& list) {
  std::vector<int64_t> result;
  for (const Expr& e : list) result.push_back(as_int(e).value_or(1));
  return result;
}

/// The largest part of an extent into which it divides, a multiple of `unit`; 0 if there is none.
int64_t part_of(int64_t extent, int64_t unit) {
  if (extent <= kLongest) return extent;
  for (int64_t part = kLongest; part > 0; --part) {
    if (extent % part == 0 && part % unit == 0) return part;
  }
  return 0;
}

/// Elements of a dtype in a unit of 16 bytes.
int64_t unit_of(DType dtype) { return kUnitBits / dtype.bits(); }

/// Whether a part of the tile, given by the extents of its dimensions that aren't 1, has no gaps.
bool is_dense(const Region& tile, const std::vector<int64_t>& parts) {
  if (tile.buffer->padding != 0 || !tile.buffer->strides.empty()) return parts.size() <= 1;
  const std::vector<size_t> dims = iterated_dims(tile);
  bool outer = false;  // a dimension further out goes on
  size_t next = 0;
  for (size_t d = 0; d < tile.extent.size(); ++d) {
    const bool iterated = next < dims.size() && dims[next] == d;
    const int64_t part = iterated ? parts[next++] : 1;
    if (outer && part != as_int(tile.buffer.shape()[d])) return false;
    outer = outer || part > 1;
  }
  return true;
}

}  // namespace

std::vector<int64_t> parts_of_box(const Region& box) {
  const std::vector<int64_t> extents = constants(box.extent);
  std::vector<int64_t> parts(extents.size(), 1);
  for (size_t d = extents.size(); d-- > 0;) {
    parts[d] = part_of(extents[d], d + 1 == extents.size() ? unit_of(box.buffer.dtype()) : 1);
    if (parts[d] != extents[d]) break;
  }
  return parts;
}

std::string against_descriptor(const Region& tile, const Region& box) {
  const Buffer& tensor = box.buffer;
  const DType dtype = tensor.dtype();
  const std::string& name = tensor.name();
  if (tensor.root()->address) return format("{} is at an address that the device computes", name);
  if (tensor->view_of) return format("{} is a view, descriptors are of parameters", name);
  if (tensor.space() != MemSpace::global) return format("{} is no parameter", name);
  if (dtype.bits() < 8 || dtype.lanes > 1) return format("elements of {}", dtype);
  if (box.extent.empty() || box.extent.size() > kMaxRank) {
    return format("{} has {} dimensions, at most {} are possible", name, box.extent.size(),
                  kMaxRank);
  }
  const std::vector<Expr> strides = strides_of(tensor);
  if (const auto last = as_int(strides.back()); last && *last != 1) {
    return format("the last stride of {} is {}, it must be 1", name, *last);
  }
  for (size_t d = 0; d + 1 < strides.size(); ++d) {
    const auto stride = as_int(strides[d]);
    if (stride && *stride * dtype.bits() % kUnitBits != 0) {
      return format("stride {} of {} is {} bytes, it must be a multiple of 16", d, name,
                    *stride * dtype.bits() / 8);
    }
  }
  const std::vector<int64_t> extents = constants(box.extent);
  if (extents.back() * dtype.bits() % kUnitBits != 0) {
    return format("rows of the box have {} bytes, it must be a multiple of 16",
                  extents.back() * dtype.bits() / 8);
  }
  const std::vector<int64_t> parts = parts_of_box(box);
  int64_t bits = dtype.bits();
  bool whole = true;
  std::vector<int64_t> long_parts;
  for (size_t d = 0; d < parts.size(); ++d) {
    if (parts[d] == 0) {
      return format("extent {} of the box has no part of at most {} elements that it divides into",
                    extents[d], kLongest);
    }
    bits *= parts[d];
    whole = whole && parts[d] == extents[d];
    if (extents[d] != 1) long_parts.push_back(parts[d]);
  }
  if (!is_dense(tile, long_parts)) return format("rows of {} have gaps", tile.buffer.name());
  if (!whole && bits / 8 % kTileBytes != 0) {
    return format("parts of {} bytes, it must be a multiple of {}", bits / 8, kTileBytes);
  }
  return "";
}

std::string against_bulk(const Region& tile, const Region& memory) {
  int64_t bits = 0;
  for (const Region* r : {&memory, &tile}) {
    const std::vector<size_t> dims = iterated_dims(*r);
    const auto last = as_int(strides_of(r->buffer).back());
    if (dims.empty() || dims.back() + 1 != r->extent.size() || last != 1) {
      return format("elements of {} are no neighbors", r->buffer.name());
    }
    bits = *as_int(r->extent.back()) * r->buffer.dtype().bits();
  }
  if (bits % kUnitBits != 0) {
    return format("rows of {}, it must be a multiple of 16 bytes",
                  bits % 8 == 0 ? format("{} bytes", bits / 8) : format("{} bits", bits));
  }
  return "";
}

}  // namespace tw::ir
