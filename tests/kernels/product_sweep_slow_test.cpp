// Random products of matrices, and attention.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/sweep.h"
#include "tests/reference/attention.h"
#include "tests/reference/gemm.h"
#include "tests/reference/tolerance.h"
#include "tilewright/kernels/attention.h"
#include "tilewright/kernels/gemm.h"

namespace tw {
namespace {

using namespace test;
using kernels::Activation;

TEST(ProductSweep, Gemm) {
  sweep(15, [](Choices& c) {
    const DType dtype = c.one_of({f32, bf16, f16}), out = c.one_in(2) ? dtype : f32;
    const auto any_size = [&] { return c.near({8, 16, 64, 128}, c.one_in(3) ? 200 : 70); };
    const int64_t m = any_size(), n = any_size(), k = any_size();
    kernels::GemmArgs args{
        .trans_a = c.one_in(2),
        .trans_b = c.one_in(2),
        .activation = c.one_of({Activation::none, Activation::relu, Activation::gelu,
                                Activation::gelu_tanh, Activation::silu})};
    const Placed a = args.trans_a ? Placed::random(c, dtype, k, m) : Placed::random(c, dtype, m, k),
                 b = args.trans_b ? Placed::random(c, dtype, n, k) : Placed::random(c, dtype, k, n);
    const bool has_bias = c.one_in(2), has_residual = c.one_in(2),
               in_place = has_residual && c.one_in(2);
    const OwnedTensor bias = random_tensor(c.one_in(2) ? out : f32, {n}, c.bits());
    const Placed residual = Placed::random(c, in_place || c.one_in(2) ? out : f32, m, n);
    const std::vector<double> of_bias = values(bias), of_residual = values(residual.view);
    std::vector<double> wanted = reference::multiply(values(a.view), values(b.view), at(m), at(n),
                                                     at(k), args.trans_a, args.trans_b);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (has_bias) wanted[i] += of_bias[i % at(n)];
      wanted[i] = reference::activate(args.activation, wanted[i]);
      if (has_residual) wanted[i] += of_residual[i];
    }
    both([&](Where where) {
      Placed y(c, out, m, n);
      if (in_place) assign(y.view, of_residual);
      y.hold();
      const Tensor placed_bias = on(where, bias),
                   placed_residual = on(where, in_place ? y.view : residual.view);
      args.bias = has_bias ? &placed_bias : nullptr;
      args.residual = has_residual ? &placed_residual : nullptr;
      const std::string what =
          format("{}: {} {} to {}, trans {} {}, bias {}, residual {}, in place {}", name_of(where),
                 a.text(), b.text(), y.text(), args.trans_a, args.trans_b, has_bias, has_residual,
                 in_place);
      kernels::gemm(on(where, a.view), on(where, b.view), on(where, y.view), args);
      expect_close(y.view, wanted, 2 * reference::unit_roundoff(out),
                   static_cast<double>(k) * 1e-6 + 1e-5, what);
      y.expect_outside_unchanged(what), a.expect_unchanged(what), b.expect_unchanged(what);
    });
  });
}

TEST(ProductSweep, GemmFp8) {
  sweep(11, [](Choices& c) {
    const DType out = c.one_of({f32, bf16, f16});
    const int64_t m = c.near({8, 64, 128}, 150), n = c.near({8, 64, 128}, 150),
                  k = c.near({16, 32, 128}, 300);
    const Placed a = Placed::random(c, f8_e4m3, m, k), b = Placed::random(c, f8_e4m3, n, k);
    const int64_t across = (k + 127) / 128;
    const Placed sa = Placed::random(c, f32, m, across),
                 sb = Placed::random(c, f32, (n + 127) / 128, across);
    std::vector<double> scaled_a = values(a.view), scaled_b = values(b.view);
    const std::vector<double> of_a = values(sa.view), of_b = values(sb.view);
    for (int64_t q = 0; q < k; ++q) {
      for (int64_t i = 0; i < m; ++i) scaled_a[at(i * k + q)] *= of_a[at(i * across + q / 128)];
      for (int64_t j = 0; j < n; ++j)
        scaled_b[at(j * k + q)] *= of_b[at(j / 128 * across + q / 128)];
    }
    const std::vector<double> wanted =
        reference::multiply(scaled_a, scaled_b, at(m), at(n), at(k), false, true);
    both([&](Where where) {
      Placed y(c, out, m, n);
      y.hold();
      const std::string what = format("{}: {} {} by {} {} to {}", name_of(where), a.text(),
                                      b.text(), sa.text(), sb.text(), y.text());
      kernels::gemm_fp8(on(where, a.view), on(where, sa.view), on(where, b.view),
                        on(where, sb.view), on(where, y.view));
      expect_close(y.view, wanted, 2 * reference::unit_roundoff(out),
                   static_cast<double>(k) * 2e-5 + 1e-4, what);
      y.expect_outside_unchanged(what), a.expect_unchanged(what), b.expect_unchanged(what);
    });
  });
}

TEST(ProductSweep, Attention) {
  sweep(7, [](Choices& c) {
    const DType dtype = c.one_of({f32, bf16, f16});
    const int64_t b = c.between(0, 2), hkv = c.between(1, 2), hq = hkv * c.between(1, 3),
                  d = c.one_in(2) ? c.one_of<int64_t>({8, 16, 32, 64}) : c.between(8, 80);
    const int64_t sq = c.near({16, 64}, c.one_in(3) ? 140 : 40),
                  sk = c.near({16, 64, 128}, c.one_in(3) ? 200 : 70);
    const bool causal = c.one_in(2), has_lengths = c.one_in(3), has_lse = c.one_in(2);
    std::vector<size_t> lengths;
    const OwnedTensor of_entries(i32, {b});
    for (int64_t i = 0; i < b; ++i) {
      lengths.push_back(at(c.between(0, sk)));
      of_entries->data_as<int32_t>()[i] = static_cast<int32_t>(lengths.back());
    }
    if (!has_lengths) lengths.clear();
    const OwnedTensor q = random_tensor(dtype, {b, sq, hq, d}, c.bits()),
                      k = random_tensor(dtype, {b, sk, hkv, d}, c.bits()),
                      v = random_tensor(dtype, {b, sk, hkv, d}, c.bits());
    const auto wanted =
        reference::attention({at(b), at(sq), at(sk), at(hq), at(hkv), at(d),
                              1 / std::sqrt(static_cast<double>(d)), causal, lengths},
                             values(q), values(k), values(v));
    both([&](Where where) {
      const OwnedTensor o = filled_tensor(dtype, {b, sq, hq, d}, 9),
                        lse = filled_tensor(f32, {b, hq, sq}, 9);
      const Tensor placed = on(where, of_entries), placed_lse = on(where, lse);
      const std::string what = format("{}: q {}, k {}, causal {}, lengths {}, lse {}",
                                      name_of(where), q, k, causal, has_lengths, has_lse);
      kernels::attention(on(where, q), on(where, k), on(where, v), on(where, o),
                         {.causal = causal,
                          .key_lengths = has_lengths ? &placed : nullptr,
                          .lse = has_lse ? &placed_lse : nullptr});
      const double round = reference::unit_roundoff(dtype);
      expect_close(o, wanted.o, 2 * round, (dtype == f32 ? 0 : 2 * round) + 3e-5, what);
      if (has_lse) expect_close(lse, wanted.lse, 1e-5, 3e-5, what);
    });
  });
}

}  // namespace
}  // namespace tw
