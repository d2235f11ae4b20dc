// tilewright/kernels/transform.h
#include "tilewright/kernels/transform.h"

#include "bind.h"

namespace tw::python {
namespace {

void apply_rotary(const Array& query_, const Array& table_, const MaybeArray& key_,
                  const MaybeArray& positions_, bool interleaved, bool conjugate, int64_t offset,
                  const Dtype& dtype) {
  constexpr const char* f = "apply_rotary";
  Call call(f, dtype);
  const std::optional<DType> bits = dtype ? std::optional(dtype_named(*dtype)) : std::nullopt;
  const Tensor query = call.output("query", query_, bits, /*returned=*/false);
  const Tensor table = call.input("cos_sin_cache", table_, std::nullopt);
  std::optional<Tensor> key;
  if (key_) key = call.output("key", key_, bits, /*returned=*/false);
  const std::optional<Tensor> positions = call.input("positions", positions_);
  const kernels::RotaryArgs args{.key = pointer(key),
                                 .positions = pointer(positions),
                                 .offset = offset,
                                 .interleaved = interleaved,
                                 .conjugate = conjugate};
  call.run([&](Stream stream) { kernels::apply_rotary(query, table, args, stream); });
}

}  // namespace

void bind_transform(nb::module_& m) {
  m.def(
      "apply_rotary", &apply_rotary, "query"_a, "cos_sin_cache"_a, "key"_a = nb::none(),
      "positions"_a = nb::none(), "interleaved"_a = false, "conjugate"_a = false,
      "seqlen_offset"_a = 0, nb::kw_only(), "dtype"_a = nb::none(),
      "Rotates query and key, [tokens, heads, d] or [batch, seqlen, heads, d], bf16 or f32, d 64\n"
      "or 128, in place: pair i by cos_sin_cache[p, i] and cos_sin_cache[p, d / 2 + i], f32\n"
      "[rows, d], where p is positions[token] (int32 or int64), else the token's place in its\n"
      "sequence, plus seqlen_offset. Pairs are i and i + d / 2, or neighbors with interleaved.");
}

}  // namespace tw::python
