// Errors of tile operations while tracing: regions, views, copies, multiplies, reductions, atomics.
#include "tests/error/lang_testing.h"

namespace tw {
namespace {

TEST(RegionErrors, Indices) {
  expect_trace_error([](const Tensors& t) { t.a(0, 1) = 2; },
                     "@: error[E-REG-02]: a: 2 indices, but it has 1 dimensions");
  expect_trace_error(
      [](const Tensors& t) {
        const Buffer f = fragment(f32, {8}, "f");
        t.a(0) = f(8);
      },
      "@: error[E-BND-01]: f: index 8 in dimension 0, which has 8 elements");
  expect_trace_error(
      [](const Tensors& t) {
        const Buffer f = fragment(f32, {8}, "f");
        copy(f(at(4, 8)), t.a(0));
      },
      "@: error[E-BND-01]: f: elements 4 to 11 in dimension 0, which has 8 elements");
  expect_trace_error(
      [](const Tensors& t) { t.a(0) = t.x(0); },
      "@: x: a part of [1, 64] elements is used as a value\n"
      "  help: give an index for each of the 2 dimensions, or load the part as a tile");
  expect_trace_error([](const Tensors& t) { t.y(0) = 1; },
                     "@: y: a value is assigned to a part of [1, 64] elements\n"
                     "  help: use fill, copy or store");
}

TEST(RegionErrors, ExtentsThatMustBeConstant) {
  expect_trace_error(
      [](const Tensors& t) {
        const Buffer f = fragment(f32, {8, 64}, "f"), s = fragment(f32, {8}, "s");
        reduce_sum(f(at(0, t.n), all), s, 1);
      },
      "@: error[E-REG-01]: reduce_sum: the extents of f are [n, 64], they must be constants\n"
      "  help: use a constant tile size; what is outside the tensor reads as its safe value");
}

TEST(ViewErrors, CountsAndBits) {
  expect_trace_error([](const Tensors&) { reshape(shared(f32, {8, 4}, "s"), {31}); },
                     "@: error[E-VIEW-01]: reshape: s has 32 elements, [31] has 31");
  expect_trace_error(
      [](const Tensors&) { reshape(transpose_view(shared(f32, {8, 4}, "s"), {1, 0}), {32}); },
      "@: error[E-VIEW-01]: reshape: s_transpose is not compact\n"
      "  help: give strides, or copy it into a compact buffer");
  expect_trace_error([](const Tensors&) { view(shared(f32, {8}, "s"), i16, {15}); },
                     "@: error[E-VIEW-02]: view: s has 256 bits, [15] of i16 has 240");
  expect_trace_error(
      [](const Tensors&) {
        const Buffer s = shared(bf16, {8}, "s");
        view(slice_view(s(at(1, 4))), f32, {2});
      },
      "@: error[E-VIEW-02]: view: s_slice does not begin at an element of f32");
  expect_trace_error([](const Tensors&) { view(shared(f32, {8}, "s"), f32, {4, 2}, {2, 2}); },
                     "@: error[E-VIEW-03]: view: it reaches element 8, s has 8 of f32");
  expect_trace_error([](const Tensors&) { view(shared(f32, {8}, "s"), f32, {8}, {-1}); },
                     "@: error[E-VIEW-03]: view: stride -1 of dimension 0 is negative");
  expect_trace_error([](const Tensors&) { transpose_view(fragment(f32, {8, 4}, "f"), {1, 0}); },
                     "@: error[E-VIEW-04]: transpose_view: f is a fragment\n"
                     "  help: write transpose(f, other), which moves the elements");
  expect_trace_error([](const Tensors& t) { reshape(load(t.x(at(0, 2), all)), {100}); },
                     "@: error[E-VIEW-01]: reshape: [2, 64] has 128 elements, [100] has 100");
}

TEST(CopyErrors, Extents) {
  expect_trace_error(
      [](const Tensors& t) { copy(t.x(at(0, 64), at(0, 32)), shared(f32, {32, 64}, "s")); },
      "@: error[E-COPY-01]: copy: the source is [64, 32], the destination [32, 64]\n"
      "  note: the source is x [64, 32] f32 in global\n"
      "  note: the destination is s [32, 64] f32 in shared");
  expect_trace_error([](const Tensors& t) { copy(shared(f32, {4, 8}, "s"), t.a(0)); },
                     "@: error[E-COPY-01]: copy: [4, 8] elements don't fit the 1 dimensions of a");
  expect_trace_error([](const Tensors& t) { transpose(t.x(0, 0), fragment(f32, {8}, "f")); },
                     "@: error[E-COPY-01]: transpose: both sides need two dimensions\n"
                     "  note: the source is x [n, 64] f32 in global\n"
                     "  note: the destination is f [8] f32 in fragment");
  expect_trace_error([](const Tensors& t) { copy_rows(t.x, t.ids, fragment(f32, {8, 32}, "f")); },
                     "@: error[E-COPY-01]: copy_rows: the operands don't fit\n"
                     "  note: the tensor is x [n, 64] f32 in global\n"
                     "  note: the index list is ids [n] i32 in global\n"
                     "  note: the tile is f [8, 32] f32 in fragment\n"
                     "  help: they are a tensor [n, w] in global memory, a list [r] of integers "
                     "and a tile [r, w]");
  expect_trace_error([](const Tensors& t) { store(t.y(at(0, 4), all), load(t.x(at(0, 8), all))); },
                     "@: error[E-COPY-01]: store: the source is [8, 64], the destination [4, 64]\n"
                     "  note: the source is tile [8, 64] f32 in fragment\n"
                     "  note: the destination is y [4, 64] f32 in global");
}

TEST(CopyErrors, OverlapTypesAndHints) {
  expect_trace_error([](const Tensors& t) { copy(t.y(at(0, 8)), t.y(at(4, 8))); },
                     "@: error[E-COPY-02]: copy: source and destination overlap in y\n"
                     "  help: copy through another buffer");
  expect_trace_error([](const Tensors& t) { copy(t.ids(0), fragment(f8_e8m0, {4}, "f")); },
                     "@: error[E-COPY-03]: copy: no conversion from i32 to e8m0\n"
                     "  note: the source is ids [n] i32 in global\n"
                     "  note: the destination is f [4] e8m0 in fragment\n"
                     "  help: go through f32");
  expect_trace_error(
      [](const Tensors& t) {
        copy(t.x(0, 0), fragment(f32, {8, 64}), {.require = CopyMethod::tma});
      },
      "@: error[E-COPY-08]: copy: tma can't copy from global to fragment\n"
      "  help: copy between global and shared memory, or drop the demand");
  expect_trace_error(
      [](const Tensors& t) {
        copy(t.x(0, 0), shared(f32, {8, 64}), {.require = CopyMethod::tma, .no_tma = true});
      },
      "@: error[E-COPY-09]: copy: no_tma contradicts require = tma");
  expect_trace_error(
      [](const Tensors& t) {
        copy(t.x(0, 0), shared(f32, {8, 64}),
             {.prefer = CopyMethod::tma, .require = CopyMethod::cp_async});
      },
      "@: error[E-COPY-09]: copy: prefer = tma contradicts require = cp_async");
  expect_trace_error(
      [](const Tensors&) {
        const Buffer s = shared(f4_e2m1, {8}, "s");
        copy(s(at(1, 4)), fragment(f4_e2m1, {4}));
      },
      "@: error[E-COPY-12]: copy: s has two elements a byte, but the part begins at [1] and has "
      "[4] "
      "elements\n"
      "  help: use even begins and extents in the last dimension");
}

TEST(GemmErrors, Operands) {
  expect_trace_error(
      [](const Tensors&) {
        gemm(shared(f32, {8}, "a"), shared(f32, {8, 8}, "b"), fragment(f32, {8, 8}, "c"));
      },
      "@: error[E-GEMM-01]: gemm: a has 1 dimensions, it needs at least 2\n"
      "  note: a is a [8] f32 in shared\n"
      "  help: operands are regions of constant extents, the last two dimensions are the matrix");
  expect_trace_error(
      [](const Tensors&) {
        const Buffer q = shared(bf16, {64, 128}, "q"), k = shared(bf16, {64, 128}, "k");
        gemm(q, k, fragment(f32, {64, 64}, "s"));
      },
      "@: error[E-GEMM-02]: gemm: K is 128 in a but 64 in b\n"
      "  note: a is q [64, 128] bf16 in shared\n"
      "  note: b is k [64, 128] bf16 in shared\n"
      "  note: c is s [64, 64] f32 in fragment\n"
      "  help: b looks transposed: give the option trans_b = true");
  expect_trace_error(
      [](const Tensors&) {
        gemm(shared(f16, {8, 8}, "a"), shared(bf16, {8, 8}, "b"), fragment(f32, {8, 8}, "c"));
      },
      "@: error[E-GEMM-03]: gemm: no multiply of f16 and bf16 into f32\n"
      "  note: available are f16 into f16 or f32, bf16, f32 and tf32 into f32, f64 into f64\n"
      "  note: and e4m3, e5m2, e2m1 in any mix into f32 or f16, i8 and u8 in any mix into i32");
  expect_trace_error(
      [](const Tensors&) {
        const Buffer c = fragment(f32, {16, 8}, "c");
        gemm(shared(f32, {8, 8}, "a"), shared(f32, {8, 8}, "b"), c(at(8, 8), all));
      },
      "@: error[E-GEMM-04]: gemm: the accumulator is a part of its buffer\n"
      "  note: c is c [8, 8] f32 in fragment, of a buffer [16, 8]\n"
      "  help: accumulate into a fragment of the size of the product and copy it");
  expect_trace_error(
      [](const Tensors& t) { gemm(shared(f32, {8, 8}), shared(f32, {8, 64}), t.y(at(0, 8), all)); },
      "@: error[E-GEMM-04]: gemm: the accumulator is in global memory\n"
      "  note: c is y [8, 64] f32 in global, of a buffer [n, 64]\n"
      "  help: accumulate into a fragment of the size of the product and copy it");
  expect_trace_error(
      [](const Tensors&) {
        gemm_scaled_software(shared(f8_e4m3, {8, 64}), shared(f8_e4m3, {64, 8}),
                             fragment(f32, {8, 8}, "c"), shared(f32, {8, 3}, "sa"),
                             shared(f32, {1, 3}, "sb"));
      },
      "@: error[E-GEMM-08]: gemm_scaled_software: the scales don't fit\n"
      "  note: c is c [8, 8] f32 in fragment, K is 64\n"
      "  note: scale_a is sa [8, 3] f32 in shared\n"
      "  note: scale_b is sb [1, 3] f32 in shared\n"
      "  help: c is f32; scale_a is [M, K / g], scale_b [N / h, K / g], both floats");
}

TEST(ReduceErrors, OperandsAndDims) {
  expect_trace_error([](const Tensors& t) { reduce_sum(t.x(at(0, 8)), fragment(f32, {8}), 1); },
                     "@: error[E-RED-01]: reduce_sum: x is in global memory\n"
                     "  help: copy it into a fragment first");
  expect_trace_error(
      [](const Tensors&) { reduce_max(fragment(f32, {8, 4}), fragment(f32, {8}), 2); },
      "@: error[E-RED-02]: reduce_max: dimension 2 of 2 dimensions");
  expect_trace_error([](const Tensors& t) { sum(load(t.x(at(0, 8), all)), -3); },
                     "@: error[E-RED-02]: sum: axis -3 of 2 dimensions");
  expect_trace_error(
      [](const Tensors&) { reduce_sum(fragment(f32, {8, 4}, "f"), fragment(f32, {4}, "s"), 1); },
      "@: error[E-RED-03]: reduce_sum: [8, 4] along [1] does not give [4]\n"
      "  note: the source is f [8, 4] f32 in fragment\n"
      "  note: the result is s [4] f32 in fragment");
  expect_trace_error(
      [](const Tensors&) { reduce_sum(fragment(f32, {8, 4}, "f"), fragment(i32, {8}, "s"), 1); },
      "@: error[E-RED-05]: reduce_sum: not available from f32 to i32\n"
      "  note: the source is f [8, 4] f32 in fragment\n"
      "  note: the result is s [8] i32 in fragment\n"
      "  help: cast the source first, or give the result another type");
  expect_trace_error(
      [](const Tensors&) { reducer(f32, {4}, ReduceKind::bit_or); },
      "@: error[E-RED-05]: reducer: bit_or is not available on f32\n"
      "  note: there are sum, max and min on numbers, bit_and, bit_or and bit_xor on "
      "integers and bool");
  expect_trace_error(
      [](const Tensors&) {
        const Buffer f = fragment(f32, {8, 4}, "f");
        reduce_sum(f, f(at(0, 8), 0), 1);
      },
      "@: error[E-RED-06]: reduce_sum: source and result are both f\n"
      "  help: reduce into another buffer");
  expect_trace_error([](const Tensors&) { cumsum(fragment(bool_, {8}), 0); },
                     "@: error[E-RED-07]: cumsum: not available from bool to bool\n"
                     "  help: source and result need one type: an integer, f16, bf16, f32 or f64");
}

TEST(ReduceErrors, Batches) {
  expect_trace_error(
      [](const Tensors&) {
        reduce_sum(fragment(f32, {8, 4}), fragment(f32, {8}), 1, {.batch = 3});
      },
      "@: error[E-RED-04]: reduce_sum: batch is 3, it must divide the 8 results");
}

TEST(ReducerErrors, Epochs) {
  const auto with_reducer = [](const std::function<void(const Tensors&, const Buffer&)>& f) {
    return [f](const Tensors& t) { f(t, reducer(f32, {8}, ReduceKind::sum, "r")); };
  };
  expect_trace_error(with_reducer([](const Tensors& t, const Buffer& r) {
                       init(r);
                       t.a(0) = r(0);
                     }),
                     "@: error[E-RDC-01]: r: a reducer can't be read\n"
                     "  help: finalize it into a buffer and read that");
  expect_trace_error(with_reducer([](const Tensors&, const Buffer& r) { r(0) = 1; }),
                     "@: error[E-RDC-01]: r: a reducer can't be written\n"
                     "  help: write update(r(...), value)");
  expect_trace_error(with_reducer([](const Tensors& t, const Buffer& r) { copy(r, t.a(0)); }),
                     "@: error[E-RDC-01]: copy: r is a reducer\n"
                     "  help: finalize it into a buffer and use that");
  expect_trace_error(with_reducer([](const Tensors&, const Buffer& r) { reshape(r, {2, 4}); }),
                     "@: error[E-RDC-01]: reshape: r is a reducer, it can't be viewed");
  expect_trace_error(with_reducer([](const Tensors&, const Buffer& r) { update(r(0), 1); }),
                     "@: error[E-RDC-02]: update: the epoch of r is not open\n"
                     "  help: write init(r) before it");
  expect_trace_error(with_reducer([](const Tensors& t, const Buffer& r) { finalize(r, t.a(0)); }),
                     "@: error[E-RDC-03]: finalize: the epoch of r is not open\n"
                     "  help: write init(r) before the updates");
  expect_trace_error(
      with_reducer([](const Tensors& t, const Buffer& r) { if_(t.b < 3, [&] { init(r); }); }),
      "@: error[E-RDC-04]: if_: the epoch of r is open on one path and closed on "
      "another\n"
      "  help: init and finalize it on the same path");
  expect_trace_error(
      with_reducer([](const Tensors&, const Buffer& r) { serial(4, [&](Expr) { init(r); }); }),
      "@: error[E-RDC-04]: serial: the epoch of r is open on one path and closed on "
      "another\n"
      "  help: init and finalize it on the same path");
}

TEST(AtomicErrors, TypesPlacesAndOrders) {
  expect_trace_error([](const Tensors&) { atomic_add(shared(i8, {4})(0), 1); },
                     "@: error[E-ATOM-01]: atomic_add: not available on i8\n"
                     "  note: there are add on integers and floats of 16, 32 and 64 bits");
  expect_trace_error([](const Tensors& t) { atomic_or(t.a(0), 1); },
                     "@: error[E-ATOM-01]: atomic_bit_or: not available on f32\n"
                     "  note: there are bit_or on integers of 16, 32 and 64 bits");
  expect_trace_error([](const Tensors&) { atomic_add(fragment(f32, {4}, "f")(0), 1); },
                     "@: error[E-ATOM-01]: atomic_add: f is in fragment, it must be in global or "
                     "shared memory");
  expect_trace_error(
      [](const Tensors& t) { atomic_add(t.y(at(0, 8)), fragment(f32, {8, 64}), {.ret = true}); },
      "@: error[E-ATOM-02]: atomic_add: the tile form gives no previous values\n"
      "  help: use the element form in a parallel loop");
  expect_trace_error([](const Tensors& t) { atomic_load(t.a(0), {.order = MemoryOrder::release}); },
                     "@: error[E-ATOM-03]: atomic_load: the order release is not possible\n"
                     "  help: use relaxed, acquire or seq_cst");
  expect_trace_error(
      [](const Tensors& t) { atomic_store(t.a(0), 1, {.order = MemoryOrder::acq_rel}); },
      "@: error[E-ATOM-03]: atomic_store: the order acq_rel is not possible\n"
      "  help: use relaxed, release or seq_cst");
}

TEST(VectorErrors, PairsAreOfFloats) {
  expect_trace_error([](const Tensors&) { x2::add({Expr(1), Expr(2)}, {Expr(3), Expr(4)}); },
                     "@: error[E-TYPE-06]: x2::add: not available on i64\n"
                     "  help: it takes f16, bf16 and f32");
}

TEST(VectorErrors, WidthsAndAlignment) {
  expect_trace_error([](const Tensors& t) { load_vector(t.x(0, 0), 3); },
                     "@: error[E-VEC-01]: load_vector: 3 elements of f32 are 96 bits\n"
                     "  help: begin at an element and take 32, 64 or 128 bits");
  expect_trace_error([](const Tensors& t) { load_vector(t.x(t.b, 6), 4); },
                     "@: error[E-VEC-01]: load_vector: the first element is 2 past a multiple of 4 "
                     "in x\n"
                     "  help: begin at a multiple of 4");
  expect_trace_error(
      [](const Tensors& t) { store_vector(t.a(1), {0.f, 1.f}); },
      "@: error[E-VEC-01]: store_vector: the first element is 1 past a multiple of 2 "
      "in a\n"
      "  help: begin at a multiple of 2");
}

TEST(TileErrors, ShapesThatDoNotBroadcast) {
  expect_trace_error([](const Tensors& t) { load(t.x(at(0, 8), all)) + load(t.x(at(0, 4), all)); },
                     "@: error[E-TILE-01]: +: shapes [8, 64] and [4, 64] don't broadcast\n"
                     "  help: extents must agree from the right, or be 1");
  expect_trace_error([](const Tensors& t) { broadcast(load(t.x(at(0, 8), all)), {4, 64}); },
                     "@: error[E-TILE-01]: broadcast: shapes [8, 64] and [4, 64] don't broadcast\n"
                     "  help: extents must agree from the right, or be 1");
}

TEST(LayoutErrors, FragmentsAlongLoopsOfUnknownExtent) {
  expect_trace_error(
      [](const Tensors& t) {
        const Buffer f = fragment(f32, {8}, "f");
        parallel({t.n}, [&](Expr i) { f(i) = 0; });
      },
      "@: error[E-LAY-06]: parallel: f is a fragment, but the extent of i is not known while "
      "tracing\n"
      "  help: run over the constant extent of the fragment and guard with if_");
}

TEST(LayoutErrors, Malformed) {
  expect_trace_error([](const Tensors&) { fix_layout(shared(f32, {8, 4}, "s"), "spiral"); },
                     "@: error[E-LAY-10]: fix_layout: the layout of s can't be read: layout "
                     "'spiral': nothing is called 'spiral'\n"
                     "  note: the layout is spiral");
  expect_trace_error([](const Tensors&) { fix_layout(shared(f32, {8, 4}, "s"), "mma_c_16x8"); },
                     "@: error[E-LAY-10]: fix_layout: the layout of s must not be a fragment\n"
                     "  note: the layout is mma_c_16x8");
  expect_trace_error([](const Tensors&) { fix_layout(fragment(f32, {8, 4}, "f"), "mma_c_16x8"); },
                     "@: error[E-LAY-10]: fix_layout: the layout of f is of [16, 8], it must be of "
                     "[8, 4]\n"
                     "  note: the layout is mma_c_16x8");
  expect_trace_error(
      [](const Tensors& t) { padding(t.a, 1); },
      "@: error[E-LAY-10]: padding: 1 elements for a in global, it takes 0 or more in "
      "shared");
  expect_trace_error([](const Tensors& t) { l2_persist(t.a, 0); },
                     "@: l2_persist: a share of 0 of a, it must be above 0 and at most 1");
  expect_trace_error([](const Tensors& t) { l2_persist(t.a, 1.5); },
                     "@: l2_persist: a share of 1.5 of a, it must be above 0 and at most 1");
}

}  // namespace
}  // namespace tw
