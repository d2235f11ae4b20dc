// tilewright/kernels/rand.h
#include "tilewright/kernels/rand.h"

#include "bind.h"

namespace tw::python {

void bind_rand(nb::module_& m) {
  m.def(
      "randn",
      [](const Array& out, uint64_t seed, uint64_t offset, int64_t most_groups,
         const Dtype& dtype) {
        Call call("randn", dtype);
        const std::optional<DType> bits = dtype ? std::optional(dtype_named(*dtype)) : std::nullopt;
        const Tensor y = call.output("out", out, bits);
        call.run([&](Stream stream) {
          kernels::randn(y, {.seed = seed, .offset = offset, .most_groups = most_groups}, stream);
        });
        return call.result();
      },
      "out"_a, "seed"_a = 0, "offset"_a = 0, "most_groups"_a = kernels::RandnArgs().most_groups,
      nb::kw_only(), "dtype"_a = nb::none(),
      "Fills out, f32, bf16 or f16 without gaps, with standard normals, and returns it: those of\n"
      "torch.randn on an NVIDIA GPU with this seed and offset of the generator. most_groups: its\n"
      "multiprocessors times the threads of each / 256.");
  m.def("randn_words", &kernels::randn_words, "numel"_a,
        "most_groups"_a = kernels::RandnArgs().most_groups,
        "By how much so many standard normals advance the generator's offset.");
  m.def(
      "standard_normal",
      [](const Array& out, uint64_t seed, uint64_t subsequence, const Dtype& dtype) {
        Call call("standard_normal", dtype);
        const std::optional<DType> bits = dtype ? std::optional(dtype_named(*dtype)) : std::nullopt;
        const Tensor y = call.output("out", out, bits);
        call.run([&](Stream on) {
          kernels::standard_normal(y, {.seed = seed, .subsequence = subsequence}, on);
        });
        return call.result();
      },
      "out"_a, "seed"_a = 0, "subsequence"_a = 0, nb::kw_only(), "dtype"_a = nb::none(),
      "Fills out, f32, bf16 or f16 without gaps, with standard normals, and returns it: the same\n"
      "bits on every device, and the first ones of a longer out. subsequence: which of 2^64\n"
      "of this seed.");
}

}  // namespace tw::python
