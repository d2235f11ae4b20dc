// Calls of what normalizes rows.
#include "tilewright/kernels/norm.h"

#include "tests/mutate/cases.h"

namespace tw::test {

using namespace kernels;

void add_norms(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    const DType weight = dtype == bf16 ? f32 : bf16;
    const auto add = [&](const char* name, auto f) {
      cases.add(name, to_text(dtype), [=](Place& p) {
        for (const auto& [n, h] : held_rows()) {
          f(p, n, h);
        }
      });
    };
    add("rms_norm", [=](Place& p, int64_t n, int64_t h) {
      rms_norm(p.input(dtype, {n, h}), p.input(weight, {h}), 1e-5F, p.output(dtype, {n, h}));
    });
    add("layer_norm", [=](Place& p, int64_t n, int64_t h) {
      // Far from zero a variance about zero is lost; f32 has it about the mean.
      for (const double far : {0, 2000}) {
        if (far != 0 && dtype == f32) continue;
        layer_norm(p.input(dtype, {n, h}, far - 2, far + 2 + far / 100), p.input(weight, {h}),
                   p.input(weight, {h}), 1e-5F, p.output(dtype, {n, h}));
      }
    });
    add("residual_rms_norm", [=](Place& p, int64_t n, int64_t h) {
      residual_rms_norm(p.input(dtype, {n, h}), p.input(dtype, {n, h}), p.input(weight, {h}), 1e-5F,
                        p.output(dtype, {n, h}), left(p.output(dtype, {n, h + 24}), h));
    });
    add("residual_layer_norm", [=](Place& p, int64_t n, int64_t h) {
      residual_layer_norm(p.input(dtype, {n, h}), p.input(dtype, {n, h}), p.input(weight, {h}),
                          p.input(weight, {h}), 1e-5F, p.output(dtype, {n, h}),
                          left(p.output(dtype, {n, h + 24}), h));
    });
    add("softmax", [=](Place& p, int64_t n, int64_t h) {
      // Without its highest number the terms of a row are infinite if the scale is large.
      for (const Peaks where : kPeaks) {
        for (const float scale : {1.5F, 200.0F}) {
          softmax(p.peaks(dtype, {n, h}, h, where), scale, left(p.output(dtype, {n, h + 8}), h));
        }
      }
    });
  }
}

}  // namespace tw::test
