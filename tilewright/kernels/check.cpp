#include "tilewright/kernels/check.h"

#include "tilewright/base/error.h"

namespace tw::kernels {

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
  throw Error({}, {}, "{}: {} is {}, it must be {}", function, t.name, t.tensor, names);
}

void check_shape(std::string_view function, const Named& t, const Shape& shape,
                 std::string_view like) {
  TW_REQUIRE(t.tensor.shape() == shape, "{}: {} is {}, it must be {}{}{}", function, t.name,
             t.tensor, shape, like.empty() ? "" : " ", like);
}

void check_like(std::string_view function, const Named& t, const Named& other) {
  const bool same =
      t.tensor.shape() == other.tensor.shape() && t.tensor.dtype() == other.tensor.dtype();
  TW_REQUIRE(same, "{}: {} is {}, it must be {} {} like {}", function, t.name, t.tensor,
             other.tensor.dtype(), other.tensor.shape(), other.name);
}

}  // namespace tw::kernels
