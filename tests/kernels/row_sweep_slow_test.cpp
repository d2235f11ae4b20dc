// Random calls of functions of rows and of elements, at any strides and in place.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/kernels/sweep.h"
#include "tests/reference/gather.h"
#include "tests/reference/pool.h"
#include "tests/reference/reduce.h"
#include "tests/reference/scan.h"
#include "tests/reference/select.h"
#include "tests/reference/tolerance.h"
#include "tilewright/kernels/activation.h"
#include "tilewright/kernels/elementwise.h"
#include "tilewright/kernels/gather.h"
#include "tilewright/kernels/move.h"
#include "tilewright/kernels/norm.h"
#include "tilewright/kernels/pool.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/scan.h"
#include "tilewright/kernels/select.h"

namespace tw {
namespace {

using namespace test;

/// [n, h] at any place, with special values at times.
struct Rows {
  explicit Rows(Choices& c, int64_t most = 9000)
      : dtype(c.one_of({f32, bf16, f16})),
        h(std::max<int64_t>(1, c.one_in(2)
                                   ? c.between(1, 70)
                                   : c.near({32, 128, 256, 1024},
                                            c.one_in(5) ? most : std::min<int64_t>(most, 1500)))),
        n(h > 1000 ? c.between(0, 4) : c.between(0, 40)),
        x(Placed::random(c, dtype, n, h)) {}
  void make_special(Choices& c) {
    std::vector<double> list = values(x.view);
    for (double& v : list) {
      if (c.one_in(5)) v = c.one_of<double>({NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.5});
    }
    assign(x.view, list);
    x.hold();
  }
  DType dtype;
  int64_t h, n;
  Placed x;
};

TEST(RowSweep, Folds) {
  sweep(30, [](Choices& c) {
    Rows r(c);
    if (c.one_in(2)) r.make_special(c);
    const bool is_special =
        std::ranges::any_of(values(r.x.view), [](double v) { return !std::isfinite(v); });
    const DType index = c.one_of({i32, i64});
    const bool propagate = c.one_in(2);
    const std::vector<double> in = values(r.x.view);
    both([&](Where where) {
      const std::string what = format("{}: {}", name_of(where), r.x.text());
      const OwnedTensor sum = filled_tensor(f32, {r.n}, 7), most = filled_tensor(r.dtype, {r.n}, 7),
                        first = filled_tensor(index, {r.n}, 7);
      kernels::sum(on(where, r.x.view), on(where, sum));
      kernels::max(on(where, r.x.view), on(where, most), propagate);
      kernels::argmax(on(where, r.x.view), on(where, first));
      expect_close(sum, reference::sum(in, at(r.h)), 1e-5, static_cast<double>(r.h) * 1e-6, what);
      expect_close(most, reference::max(in, at(r.h), propagate), 0, 0, what);
      expect_same(first, reference::argmax(in, at(r.h)), what);
      if (!is_special) {
        Placed sums(c, c.one_in(2) ? r.dtype : f32, r.n, r.h);
        sums.hold();
        kernels::cumsum(on(where, r.x.view), on(where, sums.view));
        expect_close(sums.view, reference::cumsum(in, at(r.h)),
                     2 * reference::unit_roundoff(sums.view.dtype()) + 1e-5,
                     static_cast<double>(r.h) * 1e-6 + 1e-5, what);
        sums.expect_outside_unchanged(what);
      }
      r.x.expect_unchanged(what);
    });
  });
}

TEST(RowSweep, TopK) {
  sweep(30, [](Choices& c) {
    Rows r(c, 1024);
    if (c.one_in(2)) r.make_special(c);
    const int64_t k = std::min<int64_t>(r.h, c.between(1, 32));
    const DType index = c.one_of({i32, i64});
    const std::vector<double> in = values(r.x.view), order = reference::top_k(in, at(r.h), at(k));
    std::vector<double> best;
    for (size_t i = 0; i < order.size(); ++i)
      best.push_back(in[i / at(k) * at(r.h) + static_cast<size_t>(order[i])]);
    both([&](Where where) {
      const std::string what = format("{}: {}, {}", name_of(where), k, r.x.text());
      const OwnedTensor y = filled_tensor(r.dtype, {r.n, k}, 7),
                        i = filled_tensor(index, {r.n, k}, 7);
      kernels::top_k(on(where, r.x.view), on(where, y), on(where, i));
      expect_same(i, order, what), expect_same(y, best, what);
    });
  });
}

TEST(RowSweep, Gathers) {
  sweep(30, [](Choices& c) {
    const Rows r(c);
    const DType dtype = c.one_of({i32, i64});
    const std::vector<double> in = values(r.x.view);
    const auto any_index = [&](int64_t count, int64_t rows) {
      OwnedTensor index(dtype, {count});
      std::vector<double> list;
      for (int64_t i = 0; i < count; ++i)
        list.push_back(static_cast<double>(c.one_in(4)
                                               ? c.one_of<int64_t>({-1, rows, INT32_MAX, INT32_MIN})
                                               : c.between(0, std::max<int64_t>(rows - 1, 0))));
      assign(index, list);
      return index;
    };
    const int64_t v = c.between(0, 9);
    const OwnedTensor from = any_index(c.between(0, 9), r.n), to = any_index(r.n, v);
    OwnedTensor bounds(dtype, {c.between(1, 6)});
    std::vector<double> list = {0};
    while (at(bounds->numel()) > list.size())
      list.push_back(std::min<double>(static_cast<double>(r.n),
                                      list.back() + static_cast<double>(c.between(0, 9))));
    assign(bounds, list);
    const bool normalize = c.one_in(2);
    const Placed table = Placed::random(c, f32, v, r.h);
    both([&](Where where) {
      const std::string what = format("{}: {}, {} of {}", name_of(where), r.x.text(), from, v);
      Placed y(c, r.dtype, from->numel(), r.h), sums(c, f32, v, r.h),
          mean(c, f32, bounds->numel() - 1, r.h);
      assign(sums.view, values(table.view));
      y.hold(), sums.hold(), mean.hold();
      kernels::gather_rows(on(where, r.x.view), on(where, from), on(where, y.view));
      kernels::scatter_add_rows(on(where, r.x.view), on(where, to), on(where, sums.view));
      kernels::masked_mean_pool(on(where, r.x.view), on(where, bounds), on(where, mean.view),
                                normalize);
      expect_same(y.view, reference::gather_rows(in, at(r.h), values(from)), what);
      expect_close(sums.view,
                   reference::scatter_add_rows(values(table.view), in, at(r.h), values(to)), 1e-5,
                   1e-4, what);
      expect_close(mean.view, reference::masked_mean_pool(in, at(r.h), list, normalize), 1e-4, 1e-4,
                   what);
      y.expect_outside_unchanged(what), sums.expect_outside_unchanged(what),
          mean.expect_outside_unchanged(what);
    });
  });
}

TEST(RowSweep, Transpose) {
  sweep(30, [](Choices& c) {
    const Rows r(c);
    const std::vector<double> in = values(r.x.view);
    std::vector<double> wanted(in.size());
    for (int64_t i = 0; i < r.n; ++i)
      for (int64_t j = 0; j < r.h; ++j) wanted[at(j * r.n + i)] = in[at(i * r.h + j)];
    both([&](Where where) {
      const std::string what = format("{}: {}", name_of(where), r.x.text());
      Placed y(c, r.dtype, r.h, r.n);
      y.hold();
      kernels::transpose(on(where, r.x.view), on(where, y.view));
      expect_same(y.view, wanted, what);
      y.expect_outside_unchanged(what);
    });
  });
}

/// A view of any rank into memory, whose dimensions lie in any order with any gaps; of an input
/// with strides of 0, too.
struct AnyView {
  AnyView(Choices& c, DType dtype, const Shape& shape, bool is_input) {
    std::vector<int> order;
    for (int i = shape.rank(); i-- > 0;) order.push_back(i);
    for (int64_t i = shape.rank(); i > 1 && !order.empty() && is_input; --i)
      std::swap(order[at(i - 1)], order[at(c.between(0, i - 1))]);
    Shape strides = Shape::filled(shape.rank(), 1);
    int64_t end = c.one_in(4) ? 2 : 1;
    for (const int o : order) {
      strides[o] = is_input && c.one_in(5) ? 0 : end;
      if (strides[o] == 0) continue;
      end = end * std::max<int64_t>(shape[o], 1) + (c.one_in(3) ? c.between(0, 3) : 0);
    }
    constexpr int64_t kGuard = 32;
    memory = random_tensor(dtype, {end + 4 * kGuard}, c.bits());
    const int64_t first = kGuard + (c.one_in(2) ? 0 : c.between(0, 9));
    view = Tensor(memory->data_as<char>() + first * dtype.bits() / 8, dtype, shape, strides);
    before = values(memory);
  }
  void expect_outside_unchanged(const std::string& what) const {
    const std::vector<double> zeros(at(view.numel()));
    assign(view, zeros);
    const std::vector<double> after = values(memory);
    assign(memory, before), assign(view, zeros);
    EXPECT_EQ(values(memory), after) << what;
  }
  OwnedTensor memory;
  Tensor view;
  std::vector<double> before;
};

TEST(ElementSweep, AnyStrides) {
  sweep(30, [](Choices& c) {
    const DType dtype = c.one_of({f32, bf16, f64, f16});
    Shape shape = Shape::filled(static_cast<int>(c.between(0, 5)), 1);
    int64_t total = 1;
    for (int i = 0; i < shape.rank(); ++i) {
      shape[i] = c.one_in(12)                  ? 0
                 : c.one_in(4) && total < 1000 ? c.one_of<int64_t>({1, 32, 33, 64})
                                               : c.between(1, 5);
      total *= shape[i];
    }
    const AnyView a(c, dtype, shape, true), b(c, dtype, shape, true);
    std::vector<double> sums = values(a.view), of_b = values(b.view);
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] = decode(encode(sums[i] + of_b[i], dtype), dtype);
    both([&](Where where) {
      const AnyView y(c, dtype, shape, false), z(c, dtype, shape, false);
      const std::string what =
          format("{}: {} {} to {} {}", name_of(where), a.view, b.view, y.view, z.view);
      kernels::copy(on(where, a.view), on(where, y.view));
      expect_same(y.view, values(a.view), what);
      y.expect_outside_unchanged(what);
      kernels::add(on(where, a.view), on(where, b.view), on(where, z.view));
      expect_same(z.view, sums, what);
      z.expect_outside_unchanged(what);
    });
  });
}

struct Named {
  const char* name;
  std::function<void(const Tensor& x, const Tensor& y, Where where)> run;
  bool is_flat = false;  // without gaps
};

/// In place as elsewhere, and in the twin nearly as on the CPU.
TEST(ElementSweep, InPlace) {
  sweep(30, [](Choices& c) {
    const Rows r(c);
    const auto [n, h, dtype] = std::tuple(r.n, r.h, r.dtype);
    const OwnedTensor w = random_tensor(dtype, {h}, 3), b = random_tensor(dtype, {h}, 4),
                      other = random_tensor(dtype, {n, h}, 5), sum(dtype, {n, h});
    using kernels::add, kernels::silu_mul;
    const std::vector<Named> all = {
        {"rms_norm", [&](const Tensor& x, const Tensor& y,
                         Where p) { kernels::rms_norm(x, on(p, w), 1e-5F, y); }},
        {"layer_norm", [&](const Tensor& x, const Tensor& y,
                           Where p) { kernels::layer_norm(x, on(p, w), on(p, b), 1e-5F, y); }},
        {"softmax", [&](const Tensor& x, const Tensor& y, Where) { kernels::softmax(x, 0.7F, y); }},
        {"cumsum", [&](const Tensor& x, const Tensor& y, Where) { kernels::cumsum(x, y); }},
        {"relu", [&](const Tensor& x, const Tensor& y, Where) { kernels::relu(x, y); }, true},
        {"silu_mul of x",
         [&](const Tensor& x, const Tensor& y, Where p) { silu_mul(x, on(p, other), y); }, true},
        {"silu_mul by x",
         [&](const Tensor& x, const Tensor& y, Where p) { silu_mul(on(p, other), x, y); }, true},
        {"add", [&](const Tensor& x, const Tensor& y, Where p) { add(x, on(p, other), y); }},
        {"add of a row", [&](const Tensor& x, const Tensor& y, Where p) { add(x, on(p, w), y); }},
        {"add of itself", [&](const Tensor& x, const Tensor& y, Where) { add(x, x, y); }},
        {"cast", [&](const Tensor& x, const Tensor& y, Where) { kernels::cast(x, y); }},
        {"residual_rms_norm, y",
         [&](const Tensor& x, const Tensor& y, Where p) {
           kernels::residual_rms_norm(x, on(p, other), on(p, w), 1e-5F, y, on(p, sum));
         }},
        {"residual_layer_norm, sum",
         [&](const Tensor& x, const Tensor& y, Where p) {
           kernels::residual_layer_norm(x, on(p, other), on(p, w), on(p, b), 1e-5F, on(p, sum), y);
         }},
        {"residual_rms_norm, sum of the residual",
         [&](const Tensor& x, const Tensor& y, Where p) {
           kernels::residual_rms_norm(on(p, other), x, on(p, w), 1e-5F, on(p, sum), y);
         }},
    };
    const Named& f = all[at(c.between(0, static_cast<int64_t>(all.size()) - 1))];
    const std::vector<double> in = values(r.x.view);
    std::vector<double> of_cpu;
    both([&](Where where) {
      Placed x(c, dtype, n, h, false, 1, f.is_flat), y(c, dtype, n, h, false, 1, f.is_flat);
      assign(x.view, in);
      x.hold(), y.hold();
      const std::string what =
          format("{}: {} of {} to {}", name_of(where), f.name, x.text(), y.text());
      f.run(on(where, x.view), on(where, y.view), where);
      x.expect_unchanged(what), y.expect_outside_unchanged(what);
      f.run(on(where, x.view), on(where, x.view), where);
      expect_same(x.view, values(y.view), what + ", in place");
      x.expect_outside_unchanged(what);
      if (where == Where::cpu) of_cpu = values(y.view);
      const double tolerance = dtype == f32 ? 1e-4 : 2e-2;
      expect_close(y.view, of_cpu, tolerance, tolerance, what);
    });
  });
}

}  // namespace
}  // namespace tw
