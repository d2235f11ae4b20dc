// tilewright/kernels/quant.h: factors of weights for multiplies
#include <vector>

#include "quant.h"
#include "tilewright/kernels/check.h"

namespace tw::python {
namespace {

constexpr const char* kName = "batched_transpose_weight_sf";

/// A matrix as one of a batch.
Tensor in_batch(const Tensor& t) {
  if (t.rank() != 2) return t;
  return {t.data(), t.dtype(), {1, t.dim(0), t.dim(1)}, {0, t.stride(0), t.stride(1)}, t.device()};
}

/// The factors of one weight, and its two results as the library takes them.
struct Weight {
  Tensor sf, sf0, sf1;
};

/// A result: words [.., w, n] in memory, of which the caller sees [.., n, w] where it is `turned`.
Tensor words(Call& call, const char* name, const Tensor& sf, nb::handle out, size_t i, int64_t w,
             int64_t n, bool turned) {
  Shape shape = {w, n};
  if (sf.rank() == 3) shape = {sf.dim(0), w, n};
  if (out.is_none()) return call.new_output(i32, shape);
  const int last = sf.rank() - 1;
  const MaybeArray given = entry(kName, "an entry of outs", out, i);
  const Tensor t = call.output(name, static_cast<const Array&>(given), std::nullopt);
  kernels::check_rank(kName, {name, t}, sf.rank());
  kernels::check_dtype(kName, {name, t}, {i32});
  const Tensor in_memory = turned ? t.transpose(last - 1, last) : t;
  const Tensor wanted(t.data(), i32, shape, t.device());
  kernels::check_shape(kName, {name, t},
                       (turned ? wanted.transpose(last - 1, last) : wanted).shape());
  for (int d = 0; d <= last; ++d) {
    TW_REQUIRE(in_memory.stride(d) == wanted.stride(d) || wanted.dim(d) < 2,
               "{}: {} isn't laid out like the results of a call; pass one of them", kName, name);
  }
  // numpy promises less.
  TW_REQUIRE(t.device().kind == DeviceKind::cpu || reinterpret_cast<uintptr_t>(t.data()) % 32 == 0,
             "{}: {} begins at {}, which is no multiple of 32", kName, name, t.data());
  return in_memory;
}

Weight take(Call& call, nb::handle sf_, int64_t block, bool turned, nb::handle out) {
  const Tensor sf = call.input("sf", Array{sf_}, std::nullopt);
  TW_REQUIRE(sf.rank() == 2 || sf.rank() == 3, "{}: sf is {}, it must have 2 or 3 dimensions",
             kName, sf);
  kernels::check_dtype(kName, {"sf", sf}, {f32});
  const int64_t rows = sf.dim(-2), columns = sf.dim(-1);
  TW_REQUIRE(sf.numel() > 0, "{}: sf is {}, it must have elements", kName, sf);
  check_multiple(kName, "rows of a weight are", rows * block, 128);
  check_multiple(kName, "columns of a weight are", columns * block, 128);
  const Tensor sf0 = words(call, "sf0", sf, out, 0, blocks_of(columns, 4), rows * block, true),
               sf1 = words(call, "sf1", sf, out, 1, blocks_of(rows, 4), columns * block, turned);
  return {in_batch(sf), in_batch(sf0), in_batch(sf1)};
}

bool read_flag(const nb::sequence& transpose_sf1s, size_t i) {
  bool flag = false;
  if (!nb::try_cast(transpose_sf1s[i], flag)) {
    throw nb::type_error(
        format("{}: entry {} of transpose_sf1s must be True or False", kName, i).c_str());
  }
  return flag;
}

nb::list batched_transpose_weight_sf(const nb::sequence& sf, int64_t block,
                                     const nb::sequence& transpose_sf1s, const nb::sequence& outs) {
  const size_t n = nb::len(sf);
  TW_REQUIRE(nb::len(transpose_sf1s) == n && nb::len(outs) == n,
             "{}: {} weights, {} of transpose_sf1s and {} of outs, which must be as many", kName, n,
             nb::len(transpose_sf1s), nb::len(outs));
  TW_REQUIRE(block == 32 || block == 128, "{}: block_size is {}, it must be 32 or 128", kName,
             block);
  nb::list list;
  if (n == 0) return list;
  Call call(kName);
  std::vector<Weight> weights;  // all are looked at before the first is written
  std::vector<bool> transposed;
  for (size_t i = 0; i < n; ++i) {
    transposed.push_back(read_flag(transpose_sf1s, i));
    weights.push_back(take(call, sf[i], block, !transposed[i], outs[i]));
    TW_REQUIRE(weights[i].sf.device() == weights[0].sf.device(),
               "{}: weights are on {} and {}, they must be on one device", kName,
               weights[0].sf.device(), weights[i].sf.device());
  }
  call.run([&](Stream stream) {
    for (const Weight& w : weights) {
      kernels::transpose_weight_sf(w.sf, w.sf0, w.sf1, block, stream);
    }
  });
  const nb::any all = call.result();
  for (size_t i = 0; i < n; ++i) {
    nb::object sf0 = all[2 * i], sf1 = all[2 * i + 1];
    if (outs[i].is_none()) {
      sf0 = sf0.attr("swapaxes")(-1, -2);
      if (!transposed[i]) sf1 = sf1.attr("swapaxes")(-1, -2);
    }
    list.append(nb::make_tuple(sf0, sf1));
  }
  return list;
}

}  // namespace

void bind_quant_weights(nb::module_& m) {
  m.def(
      "batched_transpose_weight_sf", &batched_transpose_weight_sf, "sf"_a, "block_size"_a,
      "transpose_sf1s"_a, "outs"_a,
      "Exponents of the factors sf, f32 powers of two [n / b, k / b] or [g, n / b, k / b] of\n"
      "weights in blocks of b = block_size, as words of int32 for multiplies with the weights and\n"
      "with the transposed: (sf0, sf1) of each, sf0 [.., n, ceil(k / b / 4)] and sf1\n"
      "[.., k, ceil(n / b / 4)], both column by column; where transpose_sf1s is true, sf1\n"
      "is the same memory as [.., ceil(n / b / 4), k]. outs: None, or an earlier result, which is\n"
      "written anew.");
}

}  // namespace tw::python
