#include "tilewright/kernels/check.h"

#include "tilewright/base/error.h"
#include "tilewright/base/integer.h"
#include "tilewright/runtime/overlap.h"

namespace tw::kernels {
namespace {

/// The elements as one row. Where the next row would be is free to choose: kernels with vectors
/// ask that it be a multiple of these.
Tensor one_row(const Tensor& tensor) {
  const int64_t n = tensor.numel();
  return {tensor.data(), tensor.dtype(), {1, n}, {ceil_div(n, 64) * 64, 1}, tensor.device()};
}

/// A tensor of rank >= 1 as [rows, last extent].
Tensor rows_of(std::string_view function, const Named& t) {
  const Tensor& x = t.tensor;
  int64_t rows = 1, distance = x.dim(-1);
  for (int d = x.rank() - 2; d >= 0; --d) {
    if (x.dim(d) == 1) continue;
    if (rows == 1) distance = x.stride(d);
    TW_REQUIRE(x.stride(d) == distance * rows, "{}: {} is {}, its rows must be evenly spaced",
               function, t.name, x);
    rows *= x.dim(d);
  }
  return {x.data(), x.dtype(), {rows, x.dim(-1)}, {distance, x.stride(-1)}, x.device()};
}

}  // namespace

void check_apart(std::string_view function, const Named& out, std::initializer_list<Named> inputs,
                 bool in_place) {
  for (const Named& in : inputs) {
    const Tensor &x = in.tensor, &y = out.tensor;
    const bool same = x.data() == y.data() && x.dtype() == y.dtype() && x.shape() == y.shape() &&
                      x.strides() == y.strides();
    TW_REQUIRE((in_place && same) || !share_memory(x, y),
               "{}: {} {} shares memory with {} {}; pass a copy of one", function, out.name, y,
               in.name, x);
  }
}

void check_rank(std::string_view function, const Named& t, int rank) {
  TW_REQUIRE(t.tensor.rank() == rank, "{}: {} is {}, it must have {} dimension{}", function, t.name,
             t.tensor, rank, rank == 1 ? "" : "s");
}

void check_dtype(std::string_view function, const Named& t, std::initializer_list<DType> allowed) {
  std::string names;
  size_t left = allowed.size();
  for (const DType dtype : allowed) {
    if (t.tensor.dtype() == dtype) return;
    names += to_text(dtype);
    --left;
    if (left > 0) names += left == 1 ? " or " : ", ";
  }
  throw DtypeError({}, {}, "{}: {} is {}, it must be {}", function, t.name, t.tensor, names);
}

void check_shape(std::string_view function, const Named& t, const Shape& shape,
                 std::string_view like) {
  TW_REQUIRE(t.tensor.shape() == shape, "{}: {} is {}, it must be {}{}{}", function, t.name,
             t.tensor, shape, like.empty() ? "" : " ", like);
}

void check_columns(std::string_view function, const Named& t) {
  TW_REQUIRE(t.tensor.dim(-1) > 0, "{}: {} is {}, its rows must have at least one element",
             function, t.name, t.tensor);
}

void check_like(std::string_view function, const Named& t, const Named& other) {
  const bool same =
      t.tensor.shape() == other.tensor.shape() && t.tensor.dtype() == other.tensor.dtype();
  TW_REQUIRE(same, "{}: {} is {}, it must be {} {} like {}", function, t.name, t.tensor,
             other.tensor.dtype(), other.tensor.shape(), other.name);
}

Tensor as_bits(std::string_view function, const Named& t) {
  const Tensor& x = t.tensor;
  for (const DType word : {u8, u16, u32, u64}) {
    if (word.bits() == x.dtype().bits()) {
      return {x.data(), word, x.shape(), x.strides(), x.device()};
    }
  }
  throw Error({}, {}, "{}: {} is {}, its elements must have 8, 16, 32 or 64 bits", function, t.name,
              x);
}

std::array<Tensor, 3> as_rows(std::string_view function, std::initializer_list<Named> tensors) {
  bool compact = true;
  for (const Named& t : tensors) compact = compact && t.tensor.is_compact();
  std::array<Tensor, 3> rows;
  size_t count = 0;
  for (const Named& t : tensors) {
    rows.at(count++) = compact ? one_row(t.tensor) : rows_of(function, t);
  }
  return rows;
}

}  // namespace tw::kernels
