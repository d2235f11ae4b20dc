// Regions, views, copies, fills, multiplies and annotations (language 6 to 8, 14.1).
#include "tests/lang/lang_testing.h"

namespace tw {
namespace {

TEST(Regions, AreBasesRangesAndWholeDimensions) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = fragment(f32, {8, 64}, "f");
              copy(t.x(at(t.b * 8, 8), all), f);
              copy(t.x(span(8, 16), all), f);
              copy(t.x(t.b, 0), f);
              copy(f, t.y(t.b, 0));
              copy(f(at(0, 4)), t.y(at(0, 4)));
              copy(unchecked(t.x(at(0, 8), all)), f);
              clear(t.y);
              fill(t.y(3), t.s);
            }),
            "alloc f: f32[8, 64] fragment\n"
            "copy x[bx * 8 :+ 8, 0 :+ 64] -> f\n"
            "copy x[8 :+ 8, 0 :+ 64] -> f\n"
            "copy x[bx :+ 8, 0 :+ 64] -> f\n"
            "copy f -> y[bx :+ 8, 0 :+ 64]\n"
            "copy f[0 :+ 4, 0 :+ 64] -> y[0 :+ 4, 0 :+ 64]\n"
            "copy x![0 :+ 8, 0 :+ 64] -> f\n"
            "fill y = 0.0\n"
            "fill y[3, 0 :+ 64] = s\n");
}

TEST(Regions, CountNegativeConstantsFromTheEnd) {
  EXPECT_EQ(traced([](const Tensors& t) {
              t.y(-1, -2) = 1;
              t.y(t.b - 1, 0) = 2;
            }),
            "y[n + -1, 62] = 1.0\n"
            "y[bx - 1, 0] = 2.0\n");
}

TEST(Copy, MatchesExtentsWithoutOnes) {
  // A9 of the specification.
  const ir::Program p = program("extents", [](Builder& k) {
    const Buffer a = k.input("a", f32, {4, 256, 128}), b = k.input("b", f32, {64, 1, 32});
    const Buffer c = k.output("c", f32, {1});
    k.launch({1}, [&](Expr i) {
      const Buffer s = shared(f32, {64, 32}, "s");
      copy(a(at(i, 1), at(i * 64, 64), at(0, 32)), s);
      copy(a(i, i * 64, 32), s);
      copy(b, s);
      c(0) = s(0, 0);
    });
  });
  EXPECT_EQ(ir::print(p.launches[0].as<ir::Launch>().body),
            "alloc s: f32[64, 32] shared\n"
            "copy a[bx, bx * 64 :+ 64, 0 :+ 32] -> s\n"
            "copy a[bx, bx * 64 :+ 64, 32 :+ 32] -> s\n"
            "copy b -> s\n"
            "c[0] = s[0, 0]");
}

TEST(Copy, OfAnElementIsALoadAndAStore) {
  EXPECT_EQ(traced([](const Tensors& t) { copy(t.x(t.b, 0), t.half(t.b)); }),
            "half[bx] = cast(x[bx, 0], f16)\n");
}

TEST(Copy, KeepsItsHints) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer s = shared(f32, {8, 64}, "s");
              copy(t.x(0, 0), s,
                   {.prefer = CopyMethod::tma, .max_vector = 4, .evict = EvictPolicy::first});
            }),
            "alloc s: f32[8, 64] shared\n"
            "copy x[0 :+ 8, 0 :+ 64] -> s with prefer=tma, max_vector=4, evict=first\n");
}

TEST(Copy, Transposes) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer s = shared(f32, {64, 8}, "s");
              transpose(t.x(t.b, 0), s);
              transpose(s, t.y(at(0, 8), all));
            }),
            "alloc s: f32[64, 8] shared\n"
            "copy x[bx :+ 8, 0 :+ 64] -> s with transpose\n"
            "copy s -> y[0 :+ 8, 0 :+ 64] with transpose\n");
}

TEST(Copy, OfRowsReadsAnIndexList) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = fragment(f32, {8, 64}, "f");
              copy_rows(t.x, t.ids(t.b * 8), f);
            }),
            "alloc f: f32[8, 64] fragment\n"
            "parallel i in 8, j in 64 {\n"
            "  let v: i32 = ids[bx * 8 + i]\n"
            "  f[i, j] = x[cast(v, i64), j]\n"
            "}\n");
}

TEST(Gemm, KeepsItsOptions) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer a = shared(bf16, {64, 32}, "a"), b = shared(bf16, {48, 32}, "b");
              const Buffer c = fragment(f32, {64, 48}, "c");
              gemm(a, b, c, {.trans_b = true, .clear = t.b == 0, .policy = GemmPolicy::full_row});
            }),
            "alloc a: bf16[64, 32] shared\n"
            "alloc b: bf16[48, 32] shared\n"
            "alloc c: f32[64, 48] fragment\n"
            "gemm a, b -> c with trans_b, clear=bx == 0, policy=full_row\n");
}

TEST(Gemm, ScalesPartialSumsInSoftware) {
  EXPECT_EQ(traced([](const Tensors&) {
              const Buffer a = shared(f8_e4m3, {16, 256}, "a"), b = shared(f8_e4m3, {32, 256}, "b");
              const Buffer c = fragment(f32, {16, 32}, "c");
              const Buffer sa = shared(f32, {16, 2}, "sa"), sb = shared(f32, {1, 2}, "sb");
              gemm_scaled_software(a, b, c, sa, sb, {.trans_b = true, .clear = true});
            }),
            "alloc a: e4m3[16, 256] shared\n"
            "alloc b: e4m3[32, 256] shared\n"
            "alloc c: f32[16, 32] fragment\n"
            "alloc sa: f32[16, 2] shared\n"
            "alloc sb: f32[1, 2] shared\n"
            "fill c = 0.0\n"
            "alloc partial: f32[16, 32] fragment\n"
            "for i in 0:2 {\n"
            "  gemm a[0 :+ 16, i * 128 :+ 128], b[0 :+ 32, i * 128 :+ 128] -> partial with "
            "trans_b, clear=true\n"
            "  parallel j in 16, k in 32 {\n"
            "    c[j, k] = c[j, k] + partial[j, k] * (sa[j, i] * sb[k // 32, i])\n"
            "  }\n"
            "}\n");
}

TEST(Views, ShareTheStorageOfTheirBase) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer s = shared(f32, {8, 16}, "s");
              const Buffer flat = reshape(s, {128});
              const Buffer words = view(s, u16, {8, 32});
              const Buffer diagonal = view(s, f32, {8}, {17});
              const Buffer turned = transpose_view(s, {1, 0});
              const Buffer part = slice_view(s(at(2, 4), at(4, 8)));
              const Buffer inner = slice_view(transpose_view(part, {1, 0})(at(1, 2), all));
              t.a(0) = flat(1) + cast(words(0, 1), f32) + diagonal(2) + turned(3, 4) + part(0, 0) +
                       inner(0, 0);
            }),
            "alloc s: f32[8, 16] shared\n"
            "view s_reshape: f32[128] shared of s\n"
            "view s_view: u16[8, 32] shared of s\n"
            "view s_view_1: f32[8] shared of s with strides=[17]\n"
            "view s_transpose: f32[16, 8] shared of s with strides=[1, 16]\n"
            "view s_slice: f32[4, 8] shared of s with strides=[16, 1], offset=36\n"
            "view s_slice_transpose: f32[8, 4] shared of s_slice with strides=[1, 16], offset=36\n"
            "view s_slice_transpose_slice: f32[2, 4] shared of s_slice_transpose with strides=[1, "
            "16], offset=37\n"
            "a[0] = s_reshape[1] + cast(s_view[0, 1], f32) + s_view_1[2] + s_transpose[3, 4] + "
            "s_slice[0, 0] + s_slice_transpose_slice[0, 0]\n");
}

TEST(Views, OfTensorsEndWhereTheTensorEnds) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer rows = slice_view(t.y(at(t.b * 8, 8), at(0, 32)));
              rows(0, 0) = 1;
            }),
            "view y_slice: f32[select(bx * 8 < 0, 0, max(0, min(8, n - bx * 8))), 32] of y with "
            "strides=[64, 1], offset=bx * 8 * 64\n"
            "y_slice[0, 0] = 1.0\n");
}

TEST(Views, AtAnAddressThatAnEntryHolds) {
  const ir::Program p = program("table", [](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer table = k.input("table", u64, {n}), out = k.output("out", f32, {n});
    const Buffer raw = k.pointer("raw", f32);
    k.launch({n}, [&](Expr b) {
      const Buffer v = view_at(table(b), f32, {n, 4}, {}, 16);
      const Buffer w = view_at(raw, {n});
      out(b) = v(b, 1) + w(b);
    });
  });
  EXPECT_EQ(ir::print(p.launches[0].as<ir::Launch>().body),
            "let v: u64 = table[bx]\n"
            "view tensor: f32[n, 4] with address=v, align=16\n"
            "view tensor_1: f32[n] of raw\n"
            "out[bx] = tensor[bx, 1] + tensor_1[bx]");
}

TEST(Annotations, ReachTheDeclarations) {
  const ir::Program p = program("annotations", [](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer x = k.input("x", f32, {n}), y = k.inout("y", f32, {n});
    safe_value(x, -1);
    nullable(x);
    align(x, 16);
    relaxed_global(y);
    l2_persist(y, 0.5);
    k.launch({n, 2}, [&](Expr b, Expr) {
      swizzle_blocks(4, RasterOrder::column);
      const Buffer s = shared(f32, {4, 8}, "s"), f = fragment(f32, {16, 8}, "f");
      padding(s, 2);
      versions(s, 3);
      fix_layout(f, "mma_c_16x8");
      y(b) = x(b);
    });
  });
  EXPECT_EQ(ir::print(p),
            "tilewright ir 1\n"
            "program \"annotations\" {\n"
            "  symbol n: i64\n"
            "  input x: f32[n] with safe_value=-1.0, align=16, nullable\n"
            "  inout y: f32[n] with l2_persist=f64(0.5), relaxed\n"
            "  launch bx in n, by in 2 with raster=column, raster_panel=4 {\n"
            "    alloc s: f32[4, 8] shared with padding=2, versions=3\n"
            "    alloc f: f32[16, 8] fragment with layout=\"mma_c_16x8\"\n"
            "    y[bx] = x[bx]\n"
            "  }\n"
            "}\n");
}

TEST(Vectors, AreListsOfNeighbors) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const auto v = load_vector(t.x(t.b, 4), 2, t.b < 3);
              store_vector(t.y(t.b, 8), {v[1], v[0]});
              store_vector(t.y(t.b, 0), v, t.b > 1);
            }),
            "y[bx, 8] = if_else(bx < 3, x[bx, 5], 0.0)\n"
            "y[bx, 9] = if_else(bx < 3, x[bx, 4], 0.0)\n"
            "if bx > 1 {\n"
            "  y[bx, 0] = if_else(bx < 3, x[bx, 4], 0.0)\n"
            "  y[bx, 1] = if_else(bx < 3, x[bx, 5], 0.0)\n"
            "}\n");
}

TEST(Vectors, PackTwoHalves) {
  EXPECT_EQ(
      traced([](const Tensors& t) {
        const Expr word = let(pack(t.half(0), t.half(1)));
        t.half(2) = unpack(word, f16)[1];
      }),
      "let v: u32 = cast(bitcast(half[1], u16), u32) << 16 | cast(bitcast(half[0], u16), u32)\n"
      "half[2] = bitcast(cast(v >> 16, u16), f16)\n");
}

TEST(Vectors, PairsHaveArithmetic) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Pair a{t.half(0), t.half(1)}, b{t.half(2), t.half(3)};
              const Pair c = x2::fma(a, b, x2::max(a, x2::abs(b)));
              t.half(4) = c[1];
            }),
            "let t: f16 = half[1]\n"
            "let t_1: f16 = half[3]\n"
            "half[4] = fma(t, t_1, max(t, abs(t_1)))\n");
}

TEST(Debug, PrintsAssertsAndAssumes) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = fragment(f32, {4}, "f");
              print("values", {t.b, t.a(0)});
              print(f);
              device_assert(t.b < t.n, "block outside", {t.b});
              assume(t.n % 64 == 0);
            }),
            "alloc f: f32[4] fragment\n"
            "print \"values\" [bx, a[0]]\n"
            "print \"f\" with buffer=f\n"
            "assert bx < n, \"block outside\" [bx]\n"
            "assume truncmod(n, 64) == 0\n");
}

}  // namespace
}  // namespace tw
