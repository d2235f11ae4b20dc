// Checks of a call (language 26): which arguments are accepted, and the whole text of each error.
#include "tilewright/runtime/bind.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/runtime/kernels.h"

namespace tw::runtime::test {
namespace {

const HostExpr m = HostExpr::symbol(0), n = HostExpr::symbol(1);
alignas(64) float memory[4096];

Tensor f32_tensor(const Shape& shape) { return Tensor(memory, f32, shape); }

Param scalar(std::string name, DType dtype) {
  Param param;
  param.name = std::move(name);
  param.kind = ParamKind::scalar;
  param.dtype = dtype;
  return param;
}

Param pointer(std::string name) {
  Param param = scalar(std::move(name), f32);
  param.kind = ParamKind::pointer;
  return param;
}

LoadedKernel gemm() {
  return {gemm_metadata(), std::make_shared<FunctionModule>(
                               std::map<std::string, TwCpuEntry*>{{"gemm_main", gemm_entry}})};
}

LoadedKernel one_tensor(DType dtype, const std::vector<HostExpr>& shape) {
  Param param = tensor("A", shape);
  param.dtype = dtype;
  return idle_kernel({{"m"}}, {param});
}

// --- E-HOST-01: count and kind -------------------------------------------------------------------

TEST(Bind, ReportsTheNumberOfArguments) {
  EXPECT_EQ(call_error(gemm(), {f32_tensor({2, 2})}),
            "error[E-HOST-01]: gemm: expected 3 arguments (A, B, C), or 2 without C, got 1");
  EXPECT_EQ(call_error(one_tensor(f32, {m}), {}),
            "error[E-HOST-01]: f: expected 1 argument (A), got 0");
}

TEST(Bind, ReportsTheKindOfAnArgument) {
  const LoadedKernel kernel =
      idle_kernel({{"m"}}, {tensor("A", {m}), scalar("eps", f32), pointer("P")});
  const Tensor a = f32_tensor({4});
  EXPECT_EQ(call_error(kernel, {1, 1.0, a}),
            "error[E-HOST-01]: f: A expected a tensor, got an integer");
  EXPECT_EQ(call_error(kernel, {a, a, a}),
            "error[E-HOST-01]: f: eps expected a scalar, got a tensor");
  EXPECT_EQ(call_error(kernel, {a, nullptr, a}),
            "error[E-HOST-01]: f: eps expected a scalar, got null");
  EXPECT_EQ(call_error(kernel, {a, 1.0, true}),
            "error[E-HOST-01]: f: P expected an address or a tensor, got a bool");
  EXPECT_EQ(call_error(kernel, {a, 1.0, a}), "no error");
  EXPECT_EQ(call_error(kernel, {a, 1, Arg::address(memory)}), "no error");
}

// --- E-HOST-02: rank -----------------------------------------------------------------------------

TEST(Bind, ReportsTheRank) {
  EXPECT_EQ(call_error(one_tensor(f32, {m, 4}), {f32_tensor({2, 3, 4})}),
            "error[E-HOST-02]: f: A expected rank 2, got 3 with shape [2, 3, 4]");
}

// --- E-HOST-03: dtype ----------------------------------------------------------------------------

TEST(Bind, ReportsTheDtype) {
  EXPECT_EQ(call_error(one_tensor(bf16, {m}), {f32_tensor({4})}),
            "error[E-HOST-03]: f: A expected bf16, got f32");
}

TEST(Bind, AcceptsExactlyTheDtypesOfEqualWidthThatFrameworksUse) {
  const std::vector<std::pair<DType, DType>> accepted = {
      {bool_, u8}, {u8, bool_}, {tf32, f32}, {f8_e4m3, u8}, {f8_e5m2, u8}, {f8_e8m0, u8}};
  for (const DType param : all_dtypes()) {
    const LoadedKernel kernel = one_tensor(param, {m});
    for (const DType arg : all_dtypes()) {
      const bool packed = (param == f4_e2m1 && (arg == u8 || arg == i8)) ||
                          (param == f8_e8m0 && (arg == u32 || arg == i32));
      const bool expected =
          param == arg || packed ||
          std::find(accepted.begin(), accepted.end(), std::pair(param, arg)) != accepted.end();
      const std::string error = call_error(kernel, {Tensor(memory, arg, {4})});
      EXPECT_EQ(error == "no error", expected) << param.bits() << to_text(param) << to_text(arg);
    }
  }
}

TEST(Bind, ChecksTheExtentsOfPackedElements) {
  const LoadedKernel fp4 = one_tensor(f4_e2m1, {m, 64});
  EXPECT_EQ(call_error(fp4, {Tensor(memory, u8, {3, 32})}), "no error");
  EXPECT_EQ(call_error(fp4, {Tensor(memory, f4_e2m1, {3, 64})}), "no error");
  EXPECT_EQ(call_error(fp4, {Tensor(memory, u8, {3, 64})}),
            "error[E-HOST-05]: f: A.shape[1] expected 64, got 128");
  EXPECT_EQ(call_error(fp4, {Tensor(memory, u8, {3, 32}, {40, 1})}),
            "error[E-HOST-06]: f: A.stride[0] expected 64 (compact), got 80");
  EXPECT_EQ(call_error(fp4, {Tensor(memory, u8, {3, 32}, {1, 3})}),
            "error[E-HOST-06]: f: A.stride[1] expected 1 (packed e2m1), got 3");
  EXPECT_EQ(call_error(fp4, {Tensor(memory, u8, {32})}),
            "error[E-HOST-02]: f: A expected rank 2, got 1 with shape [32]");
  EXPECT_EQ(call_error(one_tensor(f8_e8m0, {m, 8}), {Tensor(memory, i32, {3, 2})}), "no error");
}

TEST(Bind, ChecksThatAScalarFits) {
  const auto error = [](DType dtype, Arg value) {
    return call_error(idle_kernel({}, {scalar("x", dtype)}), {value});
  };
  EXPECT_EQ(error(i32, 1.5), "error[E-HOST-03]: f: x expected i32, got real number 1.5");
  EXPECT_EQ(error(i8, 200), "error[E-HOST-03]: f: x expected i8, got integer 200");
  EXPECT_EQ(error(u32, -1), "error[E-HOST-03]: f: x expected u32, got integer -1");
  EXPECT_EQ(error(i64, UINT64_MAX),
            "error[E-HOST-03]: f: x expected i64, got integer 18446744073709551615");
  EXPECT_EQ(error(f16, 1e6), "error[E-HOST-03]: f: x expected f16, got real number 1000000");
  EXPECT_EQ(error(f32, 1e300), "error[E-HOST-03]: f: x expected f32, got real number 1e+300");
  EXPECT_EQ(error(f32, true), "error[E-HOST-03]: f: x expected f32, got bool true");
  EXPECT_EQ(error(bool_, 2), "error[E-HOST-03]: f: x expected bool, got integer 2");
  for (const DType dtype : {i8, u64, f16, f32, f64, f8_e4m3})
    EXPECT_EQ(error(dtype, 3), "no error");
  EXPECT_EQ(error(u64, UINT64_MAX), "no error");
  EXPECT_EQ(error(f32, INFINITY), "no error");
}

// --- E-HOST-04: device ---------------------------------------------------------------------------

TEST(Bind, ReportsTheDevice) {
  const Tensor on_cuda(memory, f32, {4}, Device{DeviceKind::cuda, 1});
  EXPECT_EQ(call_error(one_tensor(f32, {m}), {on_cuda}),
            "error[E-HOST-04]: f: A is on cuda:1, the kernel was compiled for cpu");
  KernelMetadata metadata = idle_metadata({{"m"}}, {tensor("A", {m}), tensor("B", {m})});
  metadata.device = DeviceKind::cuda;
  metadata.target = "cuda:sm_90a";
  const ArgumentTable table(metadata);
  const Tensor on_first(memory, f32, {4}, Device{DeviceKind::cuda, 0});
  const Arg args[] = {on_first, on_cuda};
  Binding binding;
  EXPECT_EQ(error_of([&] { table.bind(args, binding); }),
            "error[E-HOST-04]: f: B is on cuda:1, but A is on cuda:0");
}

// --- E-HOST-05: shapes and symbols ---------------------------------------------------------------

TEST(Bind, ReportsWhereASymbolCameFrom) {
  EXPECT_EQ(call_error(gemm(), {f32_tensor({2, 40}), f32_tensor({3, 41})}),
            "error[E-HOST-05]: gemm: B.shape[1] expected k = 40 (from A.shape[1]), got 41");
  EXPECT_EQ(call_error(gemm(), {f32_tensor({2, 40}), f32_tensor({3, 40}), f32_tensor({2, 4})}),
            "error[E-HOST-05]: gemm: C.shape[1] expected n = 3 (from B.shape[0]), got 4");
}

TEST(Bind, ReportsAConstantExtent) {
  EXPECT_EQ(call_error(one_tensor(f32, {m, 64}), {f32_tensor({2, 63})}),
            "error[E-HOST-05]: f: A.shape[1] expected 64, got 63");
}

TEST(Bind, SolvesAffineEntries) {
  const LoadedKernel kernel =
      idle_kernel({{"m"}}, {tensor("A", {m * 2 + 1}), tensor("B", {m - 1})});
  EXPECT_EQ(call_error(kernel, {f32_tensor({9}), f32_tensor({3})}), "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({10}), f32_tensor({3})}),
            "error[E-HOST-05]: f: A.shape[0] expected m * 2 + 1 for a whole m >= 0, got 10");
  EXPECT_EQ(call_error(kernel, {f32_tensor({0}), f32_tensor({3})}),
            "error[E-HOST-05]: f: A.shape[0] expected m * 2 + 1 for a whole m >= 0, got 0");
  EXPECT_EQ(call_error(kernel, {f32_tensor({9}), f32_tensor({4})}),
            "error[E-HOST-05]: f: B.shape[0] expected m - 1 = 3 (m = 4 from A.shape[0]), got 4");
}

TEST(Bind, SolvesASymbolFromALaterArgument) {
  const LoadedKernel kernel = idle_kernel(
      {{"m"}, {"n"}}, {tensor("S", {cdiv(m, 128)}), tensor("A", {m * n}), tensor("B", {m})});
  EXPECT_EQ(call_error(kernel, {f32_tensor({3}), f32_tensor({600}), f32_tensor({300})}),
            "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({2}), f32_tensor({600}), f32_tensor({300})}),
            "error[E-HOST-05]: f: S.shape[0] expected cdiv(m, 128) = 3 (m = 300 from B.shape[0]), "
            "got 2");
  EXPECT_EQ(call_error(kernel, {f32_tensor({3}), f32_tensor({601}), f32_tensor({300})}),
            "error[E-HOST-05]: f: A.shape[0] expected m * n for a whole n >= 0, got 601");
  // With m = 0 any n fits, as long as A is empty.
  EXPECT_EQ(call_error(kernel, {f32_tensor({0}), f32_tensor({0}), f32_tensor({0})}), "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({0}), f32_tensor({5}), f32_tensor({0})}),
            "error[E-HOST-05]: f: A.shape[0] expected m * n = 0 (m = 0 from B.shape[0], n = 0 from "
            "no argument), got 5");
}

TEST(Bind, TakesSizesFromScalars) {
  const LoadedKernel kernel =
      idle_kernel({}, {tensor("A", {HostExpr::scalar(1) * 2}), scalar("count", i32)});
  EXPECT_EQ(call_error(kernel, {f32_tensor({8}), 4}), "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({8}), 5}),
            "error[E-HOST-05]: f: A.shape[0] expected count * 2 = 10, got 8");
}

TEST(Bind, ChecksPromisedFacts) {
  const LoadedKernel kernel = idle_kernel({{"m", 16, 32, 64}}, {tensor("A", {m})});
  EXPECT_EQ(call_error(kernel, {f32_tensor({48})}), "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({40})}),
            "error[E-HOST-05]: f: m = 40 (from A.shape[0]) must be a multiple of 16");
  EXPECT_EQ(call_error(kernel, {f32_tensor({16})}),
            "error[E-HOST-05]: f: m = 16 (from A.shape[0]) must be at least 32");
  EXPECT_EQ(call_error(kernel, {f32_tensor({80})}),
            "error[E-HOST-05]: f: m = 80 (from A.shape[0]) must be at most 64");
}

TEST(Bind, ChecksPromisedFactsOfSizesPassedByValue) {
  Symbol size{"m", 16, 32, 64};
  size.param = 1;
  const LoadedKernel kernel = idle_kernel({size}, {tensor("A", {m * 2}), scalar("m", i64)});
  EXPECT_EQ(call_error(kernel, {f32_tensor({96}), 48}), "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({96}), 32}),
            "error[E-HOST-05]: f: A.shape[0] expected m * 2 = 64 (m = 32 by value), got 96");
  EXPECT_EQ(call_error(kernel, {f32_tensor({80}), 40}),
            "error[E-HOST-05]: f: m = 40 (by value) must be a multiple of 16");
  EXPECT_EQ(call_error(kernel, {f32_tensor({32}), 16}),
            "error[E-HOST-05]: f: m = 16 (by value) must be at least 32");
  EXPECT_EQ(call_error(kernel, {f32_tensor({160}), 80}),
            "error[E-HOST-05]: f: m = 80 (by value) must be at most 64");
}

// --- E-HOST-06: strides --------------------------------------------------------------------------

TEST(Bind, ChecksCompactness) {
  const LoadedKernel kernel = one_tensor(f32, {m, 4});
  EXPECT_EQ(call_error(kernel, {Tensor(memory, f32, {2, 4}, {8, 1})}),
            "error[E-HOST-06]: f: A.stride[0] expected 4 (compact), got 8");
  EXPECT_EQ(call_error(kernel, {Tensor(memory, f32, {2, 4}, {1, 2})}),
            "error[E-HOST-06]: f: A.stride[1] expected 1 (compact), got 2");
  EXPECT_EQ(call_error(kernel, {Tensor(memory, f32, {1, 4}, {99, 1})}), "no error");
  EXPECT_EQ(call_error(kernel, {Tensor(memory, f32, {0, 4}, {99, 9})}), "no error");
}

TEST(Bind, ReadsAndChecksStrides) {
  Param a = tensor("A", {m, 4}), b = tensor("B", {m, 4});
  a.strides = {n, 1};
  b.strides = {n * 2, 1};
  const LoadedKernel kernel = idle_kernel({{"m"}, {"row", 4}}, {a, b});
  const auto rows = [](int64_t count, int64_t stride) {
    return Tensor(memory, f32, {count, 4}, {stride, 1});
  };
  EXPECT_EQ(call_error(kernel, {rows(3, 8), rows(3, 16)}), "no error");
  EXPECT_EQ(call_error(kernel, {rows(3, 8), rows(3, 12)}),
            "error[E-HOST-06]: f: B.stride[0] expected row * 2 = 16 (row = 8 from A.stride[0]), "
            "got 12");
  EXPECT_EQ(call_error(kernel, {rows(3, 6), rows(3, 12)}),
            "error[E-HOST-05]: f: row = 6 (from A.stride[0]) must be a multiple of 4");
  EXPECT_EQ(call_error(kernel, {Tensor(memory, f32, {3, 4}, {16, 2}), rows(3, 8)}),
            "error[E-HOST-06]: f: A.stride[1] expected 1, got 2");
  // A single row has no stride that matters, whatever the tensor says.
  EXPECT_EQ(call_error(kernel, {rows(1, 7), rows(1, 3)}), "no error");
}

// --- E-HOST-08, E-HOST-09, E-HOST-13 -------------------------------------------------------------

TEST(Bind, ChecksTheAlignmentOfAnAddress) {
  Param a = tensor("A", {m});
  a.align = 16;
  const LoadedKernel kernel = idle_kernel({{"m"}}, {a});
  const Tensor odd(reinterpret_cast<const void*>(0x1004), f32, {4});
  EXPECT_EQ(call_error(kernel, {odd}),
            "error[E-HOST-08]: f: A expected an address aligned to 16 bytes, got 0x1004 (4 past "
            "one)");
  EXPECT_EQ(call_error(kernel, {odd.slice(0, 0, 0)}), "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({4})}), "no error");
}

TEST(Bind, RejectsNullWhereItIsNotAllowed) {
  const LoadedKernel kernel = one_tensor(f32, {m});
  EXPECT_EQ(call_error(kernel, {nullptr}), "error[E-HOST-09]: f: A expected a tensor, got null");
  EXPECT_EQ(call_error(kernel, {Tensor(nullptr, f32, {4})}),
            "error[E-HOST-09]: f: A expected a tensor, got null");
  EXPECT_EQ(call_error(kernel, {Tensor(nullptr, f32, {0})}), "no error");
  EXPECT_EQ(call_error(idle_kernel({}, {pointer("P")}), {nullptr}),
            "error[E-HOST-09]: f: P expected an address or a tensor, got null");
}

TEST(Bind, AcceptsNullForANullableTensor) {
  Param bias = tensor("bias", {n});
  bias.nullable = true;
  const LoadedKernel kernel = idle_kernel({{"m"}, {"n", 16, 16}}, {tensor("A", {m}), bias});
  EXPECT_EQ(call_error(kernel, {f32_tensor({4}), nullptr}), "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({4}), Tensor(nullptr, f32, {16})}), "no error");
  EXPECT_EQ(call_error(kernel, {f32_tensor({4}), f32_tensor({8})}),
            "error[E-HOST-05]: f: n = 8 (from bias.shape[0]) must be at least 16");
}

TEST(Bind, ChecksTheReachOf32BitIndices) {
  Param a = tensor("A", {m, 2});
  a.strides = {n, 1};
  KernelMetadata metadata = idle_metadata({{"m"}, {"n"}}, {a});
  metadata.index_bits = 32;
  const ArgumentTable table(metadata);
  const auto error = [&](int64_t rows, int64_t stride) {
    const Tensor tensor(memory, f32, {rows, 2}, {stride, 1});
    const Arg args[] = {tensor};
    Binding binding;
    return error_of([&] { table.bind(args, binding); });
  };
  EXPECT_EQ(error(3, (int64_t{1} << 30) - 1), "no error");
  EXPECT_EQ(error(3, int64_t{1} << 30),
            "error[E-HOST-13]: f: A spans 2147483650 elements, the kernel was compiled for 32-bit "
            "indices (at most 2147483648)");
}

}  // namespace
}  // namespace tw::runtime::test
