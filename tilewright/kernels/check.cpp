#include "tilewright/kernels/check.h"

#include "tilewright/base/error.h"
#include "tilewright/runtime/overlap.h"

namespace tw::kernels {
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
  for (const DType dtype : allowed) {
    if (t.tensor.dtype() == dtype) return;
  }
  std::string names;
  size_t left = allowed.size();
  for (const DType dtype : allowed) {
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

}  // namespace tw::kernels
