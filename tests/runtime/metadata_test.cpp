#include "tilewright/runtime/metadata.h"

#include <gtest/gtest.h>

#include "tests/runtime/kernels.h"

namespace tw::runtime::test {
namespace {

// Uses every field.
KernelMetadata full() {
  const HostExpr m = HostExpr::symbol(0), row = HostExpr::symbol(1);
  KernelMetadata metadata;
  metadata.name = "norm";
  metadata.target = "cpu:x86-64-v4";
  metadata.index_bits = 32;
  metadata.symbols = {{"m"}, {"row", 16, 1, 65536}};
  Param a = tensor("A", {m, 1024});
  a.dtype = bf16;
  a.strides = {row, 1};
  a.align = 16;
  Param bias = tensor("bias", {1024});
  bias.kind = ParamKind::inout;
  bias.nullable = bias.no_restrict = true;
  Param eps = tensor("eps", {});
  eps.kind = ParamKind::scalar;
  Param table = eps;
  table.name = "table";
  table.kind = ParamKind::pointer;
  Param scratch = tensor("ws", {cdiv(m, 4), 2});
  scratch.kind = ParamKind::workspace;
  scratch.zeroed = true;
  Param y = tensor("Y", {m});
  y.kind = ParamKind::output;
  metadata.params = {a, bias, eps, table, scratch, y};
  const HostExpr aligned = HostExpr::binary(HostOp::eq, HostExpr::address_mod(0), 0);
  metadata.launches = {
      {"main",
       {{aligned, "norm_main_aligned", {cdiv(m, 8)}, 4096}, {1, "norm_main", {m, 2, 1}, 128}},
       {INT64_MAX, 65535, 65535}}};
  metadata.messages = {{"m is {}", {i64}, "norm.cpp:12"}};
  pack_all(metadata);
  return metadata;
}

TEST(Metadata, JsonIsReadBack) {
  EXPECT_EQ(metadata_from_json(to_json(full())), full());
  EXPECT_EQ(metadata_from_json(to_json(gemm_metadata())), gemm_metadata());
}

TEST(Metadata, PacksAddressesThenScalarsThenSymbols) {
  const KernelMetadata metadata = full();
  const auto offset = [&](PackedField::Kind kind, int index) {
    return packed_offset(metadata, kind, index);
  };
  EXPECT_EQ(offset(PackedField::Kind::address, 0), 0);
  EXPECT_EQ(offset(PackedField::Kind::address, 5), 32);
  EXPECT_EQ(offset(PackedField::Kind::scalar, 2), 40);
  EXPECT_EQ(offset(PackedField::Kind::symbol, 1), 56);
  EXPECT_EQ(metadata.packed_bytes, 64);
  EXPECT_EQ(offset(PackedField::Kind::address, 2), -1);
}

TEST(Metadata, PrintsForDumps) {
  EXPECT_EQ(to_text(full()),
            "kernel norm for cpu:x86-64-v4 (32-bit indices)\n"
            "  symbol m\n"
            "  symbol row multiple of 16 min 1 max 65536\n"
            "  input A bf16 [m, 1024] strides [row, 1] align 16\n"
            "  inout bias f32 [1024] nullable no_restrict\n"
            "  scalar eps f32\n"
            "  pointer table f32\n"
            "  workspace ws f32 [cdiv(m, 4), 2] zeroed\n"
            "  output Y f32 [m]\n"
            "  launch main\n"
            "    norm_main_aligned grid [cdiv(m, 8)] scratch 4096 bytes if A.address % 64 == 0\n"
            "    norm_main grid [m, 2, 1] scratch 128 bytes\n");
}

TEST(Metadata, ALaunchOnAGpuHasThreadsClustersAndSharedMemory) {
  KernelMetadata metadata = full();
  metadata.device = DeviceKind::cuda;
  metadata.launches[0].variants[0] = {.entry = "norm_aligned",
                                      .grid = {4},
                                      .threads = {128, 2},
                                      .cluster = {2},
                                      .shared_bytes = 65536,
                                      .cooperative = true,
                                      .dependent_launch = true,
                                      .maps = {{.param = 0, .box = {8, 64}, .swizzle = 128}}};
  metadata.launches[0].variants.resize(1);
  EXPECT_EQ(metadata_from_json(to_json(metadata)), metadata);
  const std::string text = to_text(metadata);
  EXPECT_TRUE(text.ends_with(
      "    norm_aligned grid [4] threads [128, 2] cluster [2] shared 65536 bytes cooperative "
      "dependent box [8, 64] of A swizzle 128\n"))
      << text;
}

// The text with one part replaced.
std::string edited(const std::string& from, const std::string& to) {
  std::string json = to_json(full());
  const size_t at = json.find(from);
  if (at == json.npos) return "'" + from + "' doesn't occur";
  return json.replace(at, from.size(), to);
}

std::string read_error(const std::string& json) {
  return error_of([&] { metadata_from_json(json); });
}

TEST(Metadata, AnotherVersionIsRefusedByName) {
  EXPECT_EQ(read_error(edited(R"("tilewright_kernel":4)", R"("tilewright_kernel":5)")),
            "metadata of a kernel has format version 5, this library reads version 4");
}

TEST(Metadata, TextThatIsNoMetadataIsAnError) {
  const std::string json = to_json(full());
  for (size_t size = 0; size < json.size(); size += 7) {
    EXPECT_TRUE(
        read_error(json.substr(0, size)).starts_with("metadata of a kernel can't be read: "))
        << size;
  }
  EXPECT_EQ(read_error("{}"),
            "metadata of a kernel can't be read: [json.exception.out_of_range.403] key "
            "'tilewright_kernel' not found");
  EXPECT_EQ(read_error(edited(R"("workspace")", R"("workspaces")")),
            "metadata of a kernel can't be read: unknown word 'workspaces'");
  EXPECT_EQ(read_error(edited("s0 8 cdiv", "s0 8 sdiv")), "host expression: unknown word 'sdiv'");
  EXPECT_EQ(read_error(edited(R"("cpu")", R"("tpu")")),
            "device: unknown kind 'tpu', it must be cpu, cuda or ascend");
}

// What a call relies on; a compiler that breaks it hears so when the kernel is loaded.
TEST(Metadata, IsVerified) {
  const auto broken = [](auto change) {
    KernelMetadata metadata = full();
    change(metadata);
    return error_of([&] { verify(metadata); });
  };
  const std::string prefix = "metadata of kernel 'norm': ";
  EXPECT_EQ(broken([](KernelMetadata& m) { m.index_bits = 16; }), prefix + "index_bits is 16");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.symbols.pop_back(); }),
            prefix + "parameter A: symbol 1 doesn't exist");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.symbols[1].multiple_of = 0; }),
            prefix + "symbol row: multiple_of is below 1");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.symbols.resize(65); }),
            prefix + "65 symbols, the most is 64");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.params.resize(65); }),
            prefix + "65 parameters, the most is 64");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.params[0].strides.pop_back(); }),
            prefix + "parameter A: 1 strides for rank 2");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.params[0].align = 24; }),
            prefix + "parameter A: alignment 24 is no power of two");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.params[2].dtype = f4_e2m1; }),
            prefix + "parameter eps: a scalar of dtype e2m1");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.params[5].shape = {HostExpr::scalar(2)}; }),
            prefix + "parameter Y: parameter 2 is no whole scalar");
  EXPECT_EQ(
      broken([](KernelMetadata& m) { m.launches[0].variants[1].grid = {HostExpr::extent(5, 1)}; }),
      prefix + "launch main: parameter 5 is no tensor with dimension 1");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.packed[0].index = 9; }),
            prefix + "packed field parameter 9 doesn't exist");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.packed[0].index = 2; }),
            prefix + "packed field of eps has the wrong kind");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.packed[0].offset = 60; }),
            prefix + "packed field at offset 60 of 64 bytes");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.packed_bytes = 1 << 20; }),
            prefix + "1048576 packed bytes, the most is 4096");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.launches.clear(); }), prefix + "it has no launch");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.launches[0].variants.clear(); }),
            prefix + "launch main: it has no variant");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.launches[0].variants.pop_back(); }),
            prefix + "launch main: the last variant has a guard");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.launches[0].variants[0].grid.clear(); }),
            prefix + "launch main: a grid of 0 extents");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.launches[0].grid_limit.pop_back(); }),
            prefix + "launch main: 2 grid limits");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.launches[0].variants[0].threads = {32, 33}; }),
            prefix + "launch main: [32, 33] threads");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.launches[0].variants[0].cluster = {0}; }),
            prefix + "launch main: 0 blocks in a cluster");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.launches[0].variants[0].shared_bytes = -1; }),
            prefix + "launch main: -1 bytes of shared memory");
  EXPECT_EQ(broken([](KernelMetadata& m) { m.device = DeviceKind::cuda; }),
            prefix + "launch main: no threads");
  EXPECT_EQ(broken([](KernelMetadata&) {}), "no error");
}

}  // namespace
}  // namespace tw::runtime::test
