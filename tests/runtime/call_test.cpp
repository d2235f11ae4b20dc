#include "tilewright/runtime/call.h"

#include <atomic>
#include <bit>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/runtime/kernels.h"

namespace tw::runtime::test {
namespace {

const HostExpr m = HostExpr::symbol(0), n = HostExpr::symbol(1);

LoadedKernel kernel_of(KernelMetadata metadata, std::map<std::string, TwCpuEntry*> entries) {
  return {std::move(metadata), std::make_shared<FunctionModule>(std::move(entries))};
}

LoadedKernel gemm() { return kernel_of(gemm_metadata(), {{"gemm_main", gemm_entry}}); }

// What the recording entry saw: the slots of the packed block, and which blocks ran.
struct Seen {
  std::vector<uint64_t> slots;
  std::vector<std::string> entries;
  std::atomic<int64_t> blocks = 0;
} seen;
constexpr size_t kSlots = 4;

template <char name>
int32_t record(const void* args, const int64_t*, int64_t first, int64_t last, void*,
               TwCpuCallbacks*) {
  if (first == 0) {
    const auto* slots = static_cast<const uint64_t*>(args);
    seen.slots.assign(slots, slots + kSlots);
    seen.entries.push_back(std::string(1, name));
  }
  seen.blocks += last - first;
  return 0;
}

class Call : public testing::Test {
 protected:
  Call() {
    seen.slots.clear();
    seen.entries.clear();
    seen.blocks = 0;
  }
  float memory_[256] = {};
  Tensor vector(int64_t size) { return Tensor(memory_, {size}); }
};

// f(A [m], ...) with one launch of `grid` blocks of entry `a`.
KernelMetadata recorded(std::vector<Param> more, std::vector<HostExpr> grid) {
  std::vector<Param> params = {tensor("A", {m})};
  params.insert(params.end(), more.begin(), more.end());
  KernelMetadata metadata = idle_metadata({{"m"}}, params);
  metadata.launches = {{"main", {{1, "a", std::move(grid), 0}}, {}}};
  return metadata;
}

Param output(std::string name, std::vector<HostExpr> shape) {
  Param param = tensor(std::move(name), std::move(shape));
  param.kind = ParamKind::output;
  return param;
}

Param workspace(std::string name, std::vector<HostExpr> shape) {
  Param param = tensor(std::move(name), std::move(shape));
  param.kind = ParamKind::workspace;
  return param;
}

TEST_F(Call, ComputesIntoAGivenOutput) {
  const float a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1, 1, 1};
  float c[6] = {};
  EXPECT_TRUE(call(gemm(), {Tensor(a, {2, 2}), Tensor(b, {3, 2}), Tensor(c, {2, 3})}).empty());
  EXPECT_EQ(std::vector(c, c + 6), (std::vector<float>{1, 2, 3, 3, 4, 7}));
}

// A text with its addresses as distances from one.
std::string relative(std::string text, const void* begin) {
  for (size_t at = 0; (at = text.find("0x", at)) != std::string::npos;) {
    size_t digits = 0;
    const uint64_t address = std::stoull(text.substr(at), &digits, 16);
    const std::string distance = "+" + std::to_string(address - reinterpret_cast<uintptr_t>(begin));
    text.replace(at, digits, distance);
  }
  return text;
}

TEST_F(Call, RefusesAnOutputThatSharesMemoryWithAnotherArgument) {
  const auto error = [&](const LoadedKernel& kernel, std::initializer_list<Arg> args,
                         bool in_place = false) {
    return relative(error_of([&] { call(kernel, args, {.in_place = in_place}); }), memory_);
  };
  Param inout = output("X", {m});
  inout.kind = ParamKind::inout;
  const auto kernel = [&](const Param& written) {
    return kernel_of(recorded({written}, {m}), {{"a", record<'a'>}});
  };
  const LoadedKernel out = kernel(output("Y", {m})), both = kernel(inout);
  const Tensor first(memory_, {4}), shifted(memory_ + 1, {4}), apart(memory_ + 4, {4});
  const std::string shift =
      "error[E-HOST-15]: f: Y f32 [4] (bytes +4 to +20) shares memory with A f32 [4] (bytes +0 to "
      "+16)\n  help: pass a copy of one, or declare no_restrict({Y, A})";
  EXPECT_EQ(error(out, {first, apart}), "no error");
  EXPECT_EQ(error(out, {first, shifted}), shift);
  EXPECT_EQ(error(out, {first, shifted}, /*in_place=*/true), shift);
  EXPECT_EQ(error(out, {first, first}),
            "error[E-HOST-15]: f: Y f32 [4] (bytes +0 to +16) shares memory with A f32 [4] (bytes "
            "+0 to +16)\n  help: pass a copy of one, or make the kernel work in place: declare Y "
            "as inout instead, or no_restrict({Y, A})");
  EXPECT_EQ(error(out, {first, first}, /*in_place=*/true), "no error");
  EXPECT_NE(error(both, {first, shifted}), "no error");
}

TEST_F(Call, TensorsThatAreDeclaredSoMayShareMemory) {
  for (const auto& [input, written] : {std::pair{true, true}, {true, false}, {false, true}}) {
    Param y = output("Y", {m});
    y.no_restrict = written;
    KernelMetadata metadata = recorded({y}, {m});
    metadata.params[0].no_restrict = input;
    const LoadedKernel kernel = kernel_of(metadata, {{"a", record<'a'>}});
    EXPECT_EQ(call_error(kernel, {Tensor(memory_, {4}), Tensor(memory_ + 1, {4})}) == "no error",
              input && written);
  }
}

TEST_F(Call, OutputsMayNotShareMemoryEither) {
  const LoadedKernel kernel =
      kernel_of(recorded({output("X", {m}), output("Y", {m})}, {m}), {{"a", record<'a'>}});
  const Tensor a(memory_, {4}), x(memory_ + 8, {4}), y(memory_ + 10, {4});
  EXPECT_EQ(relative(call_error(kernel, {a, x, y}), memory_),
            "error[E-HOST-15]: f: Y f32 [4] (bytes +40 to +56) shares memory with X f32 [4] (bytes "
            "+32 to +48)\n  help: pass a copy of one, or declare no_restrict({Y, X})");
  EXPECT_EQ(call_error(kernel, {a, x, Tensor(memory_ + 12, {4})}), "no error");
}

TEST_F(Call, OutputsThatWereLeftOutOwnTheirMemory) {
  const float a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1, 1, 1};
  const LoadedKernel kernel = gemm();
  for (const bool short_form : {false, true}) {
    const Tensor ta(a, {2, 2}), tb(b, {3, 2});
    const Arg args[] = {ta, tb, nullptr};
    const std::vector<OwnedTensor> outputs = kernel(std::span(args, short_form ? 2 : 3));
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(to_text(outputs[0]), "f32 [2, 3]");
    EXPECT_EQ(outputs[0]->data_as<float>()[5], 7);
  }
}

TEST_F(Call, ReturnsSeveralOutputsInOrder) {
  const LoadedKernel kernel =
      kernel_of(recorded({output("X", {m * 2}), output("Y", {m, 3})}, {m}), {{"a", record<'a'>}});
  const auto outputs = call(kernel, {vector(4)});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0]->shape(), Shape{8});
  EXPECT_EQ(outputs[1]->shape(), (Shape{4, 3}));
  EXPECT_EQ(seen.slots[1], reinterpret_cast<uintptr_t>(outputs[0]->data()));
  float given[8];
  const auto second = call(kernel, {vector(4), Tensor(given, {8}), nullptr});
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0]->shape(), (Shape{4, 3}));
}

class Recording : public Allocator {
 public:
  Tensor output(int param, DType dtype, const Shape& shape, Device) override {
    calls.push_back(format("output {}", param));
    return outputs.emplace_back(dtype, shape);
  }
  void* workspace(int64_t bytes, Device, Stream) override {
    calls.push_back(format("workspace {}", bytes));
    return memory;
  }
  void release(void* workspace, Device, Stream) override {
    calls.push_back(workspace == memory ? "release" : "release of another");
  }

  std::vector<std::string> calls;
  std::vector<OwnedTensor> outputs;
  alignas(256) float memory[64];
};

TEST_F(Call, TheCallersAllocatorHasWhatItMade) {
  const LoadedKernel kernel = kernel_of(
      recorded({output("X", {m * 2}), workspace("W", {m, 16})}, {m}), {{"a", record<'a'>}});
  Recording allocator;
  EXPECT_TRUE(call(kernel, {vector(4)}, {.allocator = &allocator}).empty());
  EXPECT_EQ(allocator.calls, (std::vector<std::string>{"output 1", "workspace 256", "release"}));
  EXPECT_EQ(seen.slots[1], reinterpret_cast<uintptr_t>(allocator.outputs[0]->data()));
  EXPECT_EQ(seen.slots[2], reinterpret_cast<uintptr_t>(allocator.memory));
}

TEST_F(Call, AnOutputOfUnknownShapeMustBeGiven) {
  KernelMetadata metadata = idle_metadata({{"m"}, {"n"}}, {tensor("A", {m}), output("B", {n})});
  metadata.launches[0].variants[0].entry = "a";
  const LoadedKernel kernel = kernel_of(metadata, {{"a", record<'a'>}});
  EXPECT_EQ(call_error(kernel, {vector(4)}),
            "error[E-PROG-06]: f: B.shape[0] = n doesn't follow from the arguments\n"
            "  help: pass B explicitly");
  EXPECT_EQ(call_error(kernel, {vector(4), Tensor(memory_ + 4, {5})}), "no error");
}

class NoMemory : public Allocator {
 public:
  Tensor output(int, DType, const Shape&, Device) override { return {}; }
  void* workspace(int64_t, Device, Stream) override { return nullptr; }
  void release(void*, Device, Stream) override {}
};

TEST_F(Call, FailedAllocationsNameTheSize) {
  NoMemory allocator;
  const CallContext context{.allocator = &allocator};
  const LoadedKernel with_output =
      kernel_of(recorded({output("X", {m, 1024})}, {m}), {{"a", record<'a'>}});
  EXPECT_EQ(error_of([&] { call(with_output, {vector(4)}, context); }),
            "error[E-HOST-12]: f: no memory for output X f32 [4, 1024] (16 KiB)");
  const LoadedKernel with_workspace =
      kernel_of(recorded({workspace("W", {m, 1024})}, {m}), {{"a", record<'a'>}});
  EXPECT_EQ(error_of([&] { call(with_workspace, {vector(4)}, context); }),
            "error[E-HOST-12]: f: no memory for workspace W f32 [4, 1024] (16 KiB)");
  const LoadedKernel huge =
      kernel_of(recorded({output("X", {m, int64_t{1} << 62})}, {m}), {{"a", record<'a'>}});
  EXPECT_EQ(call_error(huge, {vector(4)}),
            "error[E-HOST-12]: f: no memory for output X f32 [4, 4611686018427387904] "
            "(9007199254740992 KiB)");
}

TEST_F(Call, ProvidesZeroedWorkspacesAndReusesThem) {
  KernelMetadata metadata = recorded({workspace("W", {m, 16})}, {1});
  metadata.params[1].zeroed = true;
  const LoadedKernel kernel = kernel_of(
      metadata,
      {{"a", [](const void* args, const int64_t*, int64_t, int64_t, void*, TwCpuCallbacks*) {
          const auto* slots = static_cast<const uint64_t*>(args);
          auto* w = reinterpret_cast<float*>(slots[1]);
          bool zero = slots[1] % 256 == 0;
          for (int i = 0; i < 64; ++i) zero = zero && w[i] == 0;
          for (int i = 0; i < 64; ++i) w[i] = 1;
          seen.slots.assign(slots, slots + 2);
          return zero ? 0 : 1;
        }}});
  call(kernel, {vector(4)});
  const uint64_t first = seen.slots[1];
  call(kernel, {vector(4)});
  EXPECT_EQ(seen.slots[1], first);
}

TEST_F(Call, PacksAddressesScalarsAndSymbols) {
  Param eps = tensor("eps", {});
  eps.kind = ParamKind::scalar;
  eps.dtype = bf16;
  Param count = eps;
  count.name = "count";
  count.dtype = i16;
  const LoadedKernel kernel = kernel_of(recorded({eps, count}, {1}), {{"a", record<'a'>}});
  call(kernel, {vector(7), 1.0f, -2});
  EXPECT_EQ(seen.slots,
            (std::vector<uint64_t>{reinterpret_cast<uintptr_t>(memory_), 0x3f80, 0xfffe, 7}));
}

TEST_F(Call, RunsTheFirstVariantWhoseGuardHolds) {
  KernelMetadata metadata = recorded({}, {1});
  const HostExpr aligned = HostExpr::binary(HostOp::eq, HostExpr::address_mod(0), 0);
  const HostExpr even = HostExpr::binary(HostOp::eq, HostExpr::binary(HostOp::floormod, m, 2), 0);
  metadata.launches = {{"main",
                        {{HostExpr::binary(HostOp::logical_and, aligned, even), "a", {1}, 0},
                         {even, "b", {m}, 0},
                         {1, "c", {1}, 0}},
                        {}}};
  const LoadedKernel kernel =
      kernel_of(metadata, {{"a", record<'a'>}, {"b", record<'b'>}, {"c", record<'c'>}});
  alignas(64) float data[16] = {};
  call(kernel, {Tensor(data, {8})});
  call(kernel, {Tensor(data + 1, {8})});
  call(kernel, {Tensor(data, {7})});
  EXPECT_EQ(seen.entries, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(seen.blocks, 1 + 8 + 1);
}

TEST_F(Call, RunsLaunchesInOrderAndSkipsEmptyGrids) {
  KernelMetadata metadata = recorded({}, {1});
  metadata.launches = {{"one", {{1, "a", {m}, 0}}, {}}, {"two", {{1, "b", {2, 3, 4}, 0}}, {}}};
  const LoadedKernel kernel = kernel_of(metadata, {{"a", record<'a'>}, {"b", record<'b'>}});
  call(kernel, {vector(0)});
  EXPECT_EQ(seen.entries, std::vector<std::string>{"b"});
  EXPECT_EQ(seen.blocks, 24);
  call(kernel, {vector(5)});
  EXPECT_EQ(seen.entries, (std::vector<std::string>{"b", "a", "b"}));
}

TEST_F(Call, MakesTheEntriesOfSeveralLaunchesReadyTogether) {
  struct Preparing : FunctionModule {
    using FunctionModule::FunctionModule;
    void prepare(std::span<const void* const> entries, Device) override {
      EXPECT_TRUE(seen.entries.empty());
      prepared.emplace_back(entries.begin(), entries.end());
    }
    std::vector<std::vector<const void*>> prepared;
  };
  KernelMetadata metadata = recorded({}, {1});
  const HostExpr even = HostExpr::binary(HostOp::eq, HostExpr::binary(HostOp::floormod, m, 2), 0);
  metadata.launches = {{"one", {{even, "a", {m}, 0}, {1, "b", {m}, 0}}, {}},
                       {"two", {{1, "c", {m - 7}, 0}}, {}},
                       {"three", {{1, "d", {1}, 0}}, {}}};
  const auto module = std::make_shared<Preparing>(std::map<std::string, TwCpuEntry*>{
      {"a", record<'a'>}, {"b", record<'b'>}, {"c", record<'c'>}, {"d", record<'d'>}});
  const LoadedKernel kernel(metadata, module);
  call(kernel, {vector(7)});  // launch "two" has no blocks
  call(kernel, {vector(8)});
  EXPECT_EQ(module->prepared,
            (std::vector<std::vector<const void*>>{{module->entry("b"), module->entry("d")}}));
  EXPECT_EQ(seen.entries, (std::vector<std::string>{"b", "d", "a", "c", "d"}));
}

TEST_F(Call, ChecksTheGrid) {
  KernelMetadata metadata = recorded({}, {m - 5, m});
  metadata.launches[0].grid_limit = {INT64_MAX, 65535, 65535};
  const LoadedKernel kernel = kernel_of(metadata, {{"a", record<'a'>}});
  EXPECT_EQ(call_error(kernel, {vector(3)}),
            "error[E-LAUNCH-05]: f: grid[0] of launch main is m - 5 = -2");
  EXPECT_EQ(call_error(kernel, {vector(65536)}),
            "error[E-HOST-10]: f: grid[1] of launch main is m = 65536, cpu takes at most 65535");
  const LoadedKernel huge = kernel_of(
      recorded({}, {m * (int64_t{1} << 40), m * (int64_t{1} << 40)}), {{"a", record<'a'>}});
  EXPECT_EQ(call_error(huge, {vector(1)}),
            "error[E-HOST-10]: f: launch main has 1099511627776 x 1099511627776 x 1 blocks, too "
            "many to count");
}

TEST_F(Call, ChecksThatClustersDivideTheGrid) {
  KernelMetadata metadata = recorded({}, {m});
  metadata.launches[0].variants[0].cluster = {2};
  const LoadedKernel kernel = kernel_of(metadata, {{"a", record<'a'>}});
  call(kernel, {vector(4)});
  EXPECT_EQ(call_error(kernel, {vector(3)}),
            "error[E-HOST-10]: f: grid[0] of launch main is 3, clusters need a multiple of 2");
}

TEST_F(Call, AMissingEntryIsFoundWhenTheKernelIsLoaded) {
  EXPECT_EQ(error_of([] { kernel_of(gemm_metadata(), {}); }), "no entry 'gemm_main'");
}

int32_t assert_entry(const void*, const int64_t*, int64_t first, int64_t last, void*,
                     TwCpuCallbacks* callbacks) {
  for (int64_t block = first; block < last; ++block) {
    const uint64_t values[] = {static_cast<uint64_t>(block) & 0xffffffff,
                               std::bit_cast<uint32_t>(0.5f)};
    if (block == 1) callbacks->print(callbacks, 0, block, values, 2);
    if (block == 4) {
      callbacks->fail(callbacks, 1, block, values, 1);
      return 1;
    }
  }
  return 0;
}

TEST_F(Call, PrintsAndReportsFailedAsserts) {
  KernelMetadata metadata = recorded({}, {3, 2});
  metadata.messages = {{"block {} has", {i32, f32}, ""},
                       {"x is {}, not positive", {i32}, "k.cpp:7"}};
  const LoadedKernel kernel = kernel_of(metadata, {{"a", assert_entry}});
  std::string printed;
  CallContext context;
  context.print_user = &printed;
  context.print = [](void* user, std::string_view line) {
    *static_cast<std::string*>(user) += line;
  };
  EXPECT_EQ(error_of([&] { call(kernel, {vector(1)}, context); }),
            "f: device assert failed: x is 4, not positive in block (1, 1, 0) at k.cpp:7");
  EXPECT_EQ(printed, "block 1 has 0.5");
}

TEST_F(Call, WorksFromSeveralThreads) {
  const LoadedKernel kernel = gemm();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&kernel, &wrong, t] {
      const int64_t rows = 1 + t * 5;
      std::vector<float> a(static_cast<size_t>(rows) * 2, 1), b(6, static_cast<float>(t)),
          c(static_cast<size_t>(rows) * 3);
      for (int i = 0; i < 100; ++i) {
        std::fill(c.begin(), c.end(), -1.0f);
        call(kernel,
             {Tensor(a.data(), {rows, 2}), Tensor(b.data(), {3, 2}), Tensor(c.data(), {rows, 3})});
        for (const float value : c) wrong += value != 2.0f * static_cast<float>(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tw::runtime::test
