// Reductions, scans, reducers, predicates and atomics (language 9, 13).
#include "tests/lang/lang_testing.h"

namespace tw {
namespace {

TEST(Reduce, KeepsItsOptions) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = fragment(f32, {8, 64}, "f"), row = fragment(f32, {8}, "row");
              clear(f);
              reduce_sum(f, row, 1);
              reduce_max(f, row, -1, {.clear = false, .propagate_nan = true});
              reduce(ReduceKind::abs_max, f, row(0), {0, 1});
              cumsum(f, 1, {.reverse = true});
              cummax(f(at(0, 4)), f(at(4, 4)), 0);
              t.a(0) = row(0);
            }),
            "alloc f: f32[8, 64] fragment\n"
            "alloc row: f32[8] fragment\n"
            "fill f = 0.0\n"
            "reduce sum f -> row over [1]\n"
            "reduce max f -> row over [1] with clear=false, propagate_nan\n"
            "reduce abs_max f -> row[0] over [0, 1]\n"
            "scan sum f -> f along 1 with reverse\n"
            "scan max f[0 :+ 4, 0 :+ 64] -> f[4 :+ 4, 0 :+ 64] along 0\n"
            "a[0] = row[0]\n");
}

TEST(Reduce, GivesPredicatesAsValues) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = shared(i32, {8}, "f");
              clear(f);
              if_(any_of(f(at(0, 4))) || all_of(f), [&] { t.a(0) = 1; });
            }),
            "alloc f: i32[8] shared\n"
            "fill f = 0\n"
            "var any_of: bool\n"
            "reduce any f[0 :+ 4] -> any_of over [0]\n"
            "var all_of: bool\n"
            "reduce all f -> all_of over [0]\n"
            "if any_of || all_of {\n"
            "  a[0] = 1.0\n"
            "}\n");
}

TEST(Reducers, HaveEpochs) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer r = reducer(f32, {8}, ReduceKind::sum, "r"), f = fragment(f32, {8}, "f");
              serial(2, [&](Expr) {
                init(r, 1);
                parallel({8, 64}, [&](Expr i, Expr j) { update(r(i), t.x(i, j)); });
                finalize(r, f);
              });
              copy(f, t.a(0));
            }),
            "alloc r: f32[8] reducer\n"
            "alloc f: f32[8] fragment\n"
            "for i in 0:2 {\n"
            "  init r = 1.0\n"
            "  parallel j in 8, k in 64 {\n"
            "    update r[j] = x[j, k]\n"
            "  }\n"
            "  finalize r -> f\n"
            "}\n"
            "copy f -> a[0 :+ 8]\n");
}

TEST(Atomics, HaveAnElementFormAndATileForm) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = fragment(f32, {8, 64}, "f");
              clear(f);
              const Expr old =
                  atomic_add(t.a(t.b), 1, {.order = MemoryOrder::acq_rel, .ret = true});
              atomic_max(t.a(0), old);
              atomic_add(t.y(t.b * 8, 0), f);
              atomic_add(t.a(at(0, 4)), f(0, at(0, 4)));
              const Expr seen = atomic_load(t.a(0), {.order = MemoryOrder::acquire});
              atomic_store(t.a(1), seen, {.order = MemoryOrder::release});
              atomic_exchange(t.a(2), 0);
              atomic_compare_exchange(t.a(3), 0, 1);
            }),
            "alloc f: f32[8, 64] fragment\n"
            "fill f = 0.0\n"
            "atomic add a[bx], 1.0 with order=acq_rel, result=old: f32\n"
            "atomic max a[0], old\n"
            "parallel i in 8, j in 64 {\n"
            "  atomic add y[bx * 8 + i, j], f[i, j]\n"
            "}\n"
            "parallel i in 4 {\n"
            "  atomic add a[i], f[0, i]\n"
            "}\n"
            "atomic load a[0] with order=acquire, result=old_1: f32\n"
            "atomic store a[1], old_1 with order=release\n"
            "atomic exchange a[2], 0.0\n"
            "atomic compare_exchange a[3], 1.0 with compare=0.0\n");
}

}  // namespace
}  // namespace tw
