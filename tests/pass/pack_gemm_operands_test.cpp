// Packing keeps the meaning of a multiply: bit for bit here, since all sums are exact.
#include "tilewright/pass/pack_gemm_operands.h"

#include <cstring>
#include <random>

#include "tests/ir/ir_testing.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/guard_bounds.h"
#include "tilewright/pass/lower_parallel.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/sim/interpreter.h"

namespace tw::pass {
namespace {

std::string program_text(const std::string& a, const std::string& b, const std::string& c, bool ta,
                         bool tb) {
  const auto box = [](bool swap, const std::string& r, const std::string& q) {
    return "[" + (swap ? q + ", " + r : r + ", " + q) + "]";
  };
  const std::string flags = ta || tb ? std::string(" with ") + (ta ? "trans_a=true" : "") +
                                           (ta && tb ? ", " : "") + (tb ? "trans_b=true" : "")
                                     : "";
  return "tilewright ir 1\nprogram \"p\" {\n  input A: " + a + box(ta, "9", "20") +
         "\n  input B: " + b + box(tb, "20", "37") + "\n  output C: " + c +
         "[9, 37]\n  launch bx in 1 {\n    alloc a: " + a + box(ta, "9", "12") +
         " shared\n    alloc b: " + b + box(tb, "12", "37") + " shared\n    alloc c: " + c +
         "[9, 37] fragment\n    fill c = " + c + "(0)\n    for k in 0:2 pipelined {\n      copy A" +
         box(ta, "0 :+ 9", "k * 12 :+ 12") + " -> a\n      copy B" +
         box(tb, "k * 12 :+ 12", "0 :+ 37") + " -> b\n      gemm a, b -> c" + flags +
         "\n    }\n    copy c -> C\n  }\n}\n";
}

std::vector<uint8_t> result_of(const ir::Program& program) {
  std::vector<std::vector<uint8_t>> memory;
  std::vector<sim::Argument> arguments;
  std::mt19937 random(3);
  for (const ir::Param& param : program.params) {
    const DType dtype = param.buffer.dtype();
    const int64_t rows = param.buffer.extent(0), columns = param.buffer.extent(1);
    auto& bytes = memory.emplace_back(static_cast<size_t>(rows * columns * dtype.bits() / 8));
    for (int64_t i = 0; i < rows * columns; ++i) {
      const uint64_t bits = encode(
          static_cast<double>(static_cast<int>(random() % 9)) - (dtype.is_unsigned_int() ? 0 : 4),
          dtype);
      std::memcpy(bytes.data() + i * dtype.bits() / 8, &bits,
                  static_cast<size_t>(dtype.bits() / 8));
    }
    arguments.push_back(sim::Argument::tensor(bytes.data(), dtype, {rows, columns}));
  }
  for (const auto& finding : sim::interpret(program, arguments).findings) {
    ADD_FAILURE() << to_text(finding) << "\n" << ir::print(program);
  }
  return memory.back();
}

bool has_pairs(const ir::Program& program) {
  bool found = false;
  ir::for_each_stmt(program.launches[0], [&](const ir::Stmt& s) {
    const auto* gemm = s.try_as<ir::Gemm>();
    found = found || (gemm != nullptr && gemm->pairs != ir::PairFormat::none);
  });
  return found;
}

void expect_same(const std::string& a, const std::string& b, const std::string& c, bool dot,
                 bool pairs) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const ir::Program tile = ir::parse_program(program_text(a, b, c, ta, tb));
      const auto wanted = result_of(tile);
      const ir::Program packed = pack_gemm_operands(tile, dot);
      EXPECT_EQ(has_pairs(packed), pairs) << a << b;
      EXPECT_EQ(result_of(packed), wanted) << ir::print(packed);
      const ir::Program loops = lower_parallel(guard_bounds(lower_tile_ops(packed, {})), {});
      EXPECT_EQ(result_of(loops), wanted) << ir::print(loops);
    }
  }
}

TEST(PackGemmOperands, PairsBf16WhereTheTargetMultipliesPairs) {
  expect_same("bf16", "bf16", "f32", true, true);
}
TEST(PackGemmOperands, WidensBf16Elsewhere) { expect_same("bf16", "bf16", "f32", false, false); }
TEST(PackGemmOperands, PairsFp8AsBf16) { expect_same("e4m3", "e5m2", "f32", true, true); }
TEST(PackGemmOperands, WidensF16) { expect_same("f16", "f16", "f32", true, false); }
TEST(PackGemmOperands, PairsInt8AsI16) { expect_same("i8", "u8", "i32", false, true); }

TEST(PackGemmOperands, RoundsWhatIsStoredInAWidenedBuffer) {
  EXPECT_IR_EQ(pack_gemm_operands(ir::parse_program(R"(tilewright ir 1
program "p" {
  input X: f32[4, 4]
  launch b in 1 {
    alloc p: bf16[4, 4] fragment
    alloc v: bf16[4, 4] shared
    alloc c: f32[4, 4] fragment
    parallel i in 4, j in 4 { p[i, j] = cast(X[i, j], bf16) }
    copy X -> v
    gemm p, v -> c with clear=true
  }
})"),
                                  true),
               ir::parse_program(R"(tilewright ir 1
program "p" {
  input X: f32[4, 4]
  launch b in 1 {
    alloc p: f32[4, 4] fragment
    alloc v: f32[4, 4] shared
    alloc c: f32[4, 4] fragment
    parallel i in 4, j in 4 { p[i, j] = cast(cast(X[i, j], bf16), f32) }
    parallel i in 4, j in 4 { v[i, j] = cast(cast(X[i, j], bf16), f32) }
    gemm p, v -> c with clear=true
  }
})"));
}

}  // namespace
}  // namespace tw::pass
