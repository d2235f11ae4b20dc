// What the bindings of casts with scale factors share: formats by name, codes and factors as
// arguments and as results.
#pragma once

#include <string>
#include <utility>

#include <nanobind/stl/pair.h>

#include "bind.h"
#include "tilewright/base/error.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw::python {

void bind_quant_back(nb::module_& m);
void bind_quant_blocks(nb::module_& m);
void bind_quant_channels(nb::module_& m);
void bind_quant_weights(nb::module_& m);

/// Rows and columns of a block.
using Block = std::pair<int64_t, int64_t>;

inline int64_t blocks_of(int64_t extent, int64_t block) {
  return block < 1 ? 0 : (extent + block - 1) / block;
}

/// Codes of e2m1, which Python holds as pairs in int8.
Tensor as_e2m1(const Tensor& pairs);
/// Of codes: 'e4m3' or 'e2m1'; 'e5m6' is none of them, but where it is taken an error names it.
DType format_named(const char* function, const std::string& name, bool or_e5m6 = false);
/// Of values: 'bf16' or 'fp32'.
DType value_format_named(const char* function, const std::string& name);

/// The least amax that counts; 0 stands for the format's own.
float checked_least(const char* function, float least);
/// `cast_back: columns of x are 100, a multiple of 64 is needed`.
void check_multiple(const char* function, const char* what, int64_t n, int64_t of);

/// What Python says of scale factors that are computed.
struct SfFlags {
  bool columns = false, round = false, packed = false, e4m3 = false;

  void check(const char* f) const;
  DType dtype() const { return packed ? i32 : e4m3 ? f8_e4m3 : f32; }
  /// Factors of m x n blocks; columns begin at multiples of 16 bytes. The caller's `out` must be
  /// what would be made.
  Tensor allocate(Call& call, const char* f, const MaybeArray& out, int64_t m, int64_t n) const;
};

/// Codes that are computed.
Tensor codes(Call& call, const char* f, const MaybeArray& out, DType format, int64_t m, int64_t k);

/// Factors that the caller has, row by row, the argument sf.
Tensor given_factors(Call& call, const char* f, const Array& array);

/// An entry of the argument `name`, a tuple of codes and factors; None where that is None or
/// absent.
MaybeArray entry(const char* f, const char* name, nb::handle pair, size_t i);

/// Codes with factors that are given, the argument x.
struct Scaled {
  Tensor codes, sf;
};
/// Raises unless x is a tuple of them, the factors row by row or column by column.
Scaled scaled_input(Call& call, const char* f, nb::handle x);

}  // namespace tw::python
