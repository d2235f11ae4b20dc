// Scans of the block in the twin, beside plain loops.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"
#include "tests/sim/text_run.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/enums.h"

namespace tw::pass {
namespace {

using ir::ScanKind;

struct Case {
  int64_t threads, rows, columns;
};

double step(ScanKind kind, double a, double b) {
  return kind == ScanKind::sum    ? a + b
         : kind == ScanKind::prod ? a * b
         : kind == ScanKind::max  ? std::fmax(a, b)
                                  : std::fmin(a, b);
}
double identity(ScanKind kind, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double most = dtype.is_float() ? kInfinity : std::numeric_limits<int32_t>::max();
  const double least = dtype.is_float() ? -kInfinity : std::numeric_limits<int32_t>::min();
  return kind == ScanKind::sum    ? 0
         : kind == ScanKind::prod ? 1
         : kind == ScanKind::max  ? least
                                  : most;
}

/// Small whole numbers; of products mostly 1, of extrema some that are none.
std::vector<double> numbers(ScanKind kind, DType dtype, int64_t count) {
  const bool is_extremum = kind == ScanKind::max || kind == ScanKind::min;
  std::vector<double> x;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t n = (i * 7919 + 13) % 1009;
    if (is_extremum && dtype.is_float() && i % 7 < 2) {
      x.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (kind != ScanKind::prod) {
      x.push_back(static_cast<double>(n % 15 - 7));
    } else {
      x.push_back(n % 16 == 0 ? -1 : n % 97 == 1 ? 2 : n % 97 == 2 ? 0.5 : 1);
    }
  }
  return x;
}

std::vector<double> scanned(ScanKind kind, DType dtype, std::vector<double> x, const Case& c,
                            int64_t dim, bool reverse, bool exclusive) {
  const int64_t length = dim == 0 ? c.rows : c.columns, lines = c.rows * c.columns / length;
  for (int64_t line = 0; line < lines; ++line) {
    double sum = identity(kind, dtype);
    for (int64_t k = 0; k < length; ++k) {
      const int64_t place = reverse ? length - 1 - k : k;
      double& element =
          x[static_cast<size_t>(dim == 0 ? place * c.columns + line : line * c.columns + place)];
      const double with = step(kind, sum, element);
      element = exclusive ? sum : with;
      sum = with;
    }
  }
  return x;
}

void expect_scan(ScanKind kind, DType dtype, const Case& c, int64_t dim, bool reverse,
                 bool exclusive) {
  const std::string name =
      format("{} of {} [{}, {}] along {}{}{}, {} threads", ir::enum_name(kind), dtype, c.rows,
             c.columns, dim, reverse ? ", reverse" : "", exclusive ? ", exclusive" : "", c.threads);
  const std::string text = format(
      R"( input X: {0}[{1}, {2}] output Y: {0}[{1}, {2}]
      launch b in 1 with threads=[{3}] {{
        alloc x: {0}[{1}, {2}] fragment
        copy X[0 :+ {1}, 0 :+ {2}] -> x
        scan {4} x -> x along {5}{6}
        copy x -> Y[0 :+ {1}, 0 :+ {2}]
      }})",
      dtype, c.rows, c.columns, c.threads, ir::enum_name(kind), dim,
      !reverse && !exclusive ? ""
                             : format(" with {}", reverse && exclusive ? "reverse, exclusive"
                                                  : reverse            ? "reverse"
                                                                       : "exclusive"));
  sim::TextRun run(text);
  const std::vector<double> x = numbers(kind, dtype, c.rows * c.columns);
  run.tensor("X", {c.rows, c.columns}, x).tensor("Y", {c.rows, c.columns});
  const ir::Program lowered = after(run.program(), "plan_shared");
  ASSERT_EQ(to_text(sim::run_twin(lowered, run.arguments()).findings), "") << name;
  EXPECT_EQ(run.memory("Y"), scanned(kind, dtype, x, c, dim, reverse, exclusive)) << name;
}

TEST(LowerBlockScan, AgreesWithPlainLoops) {
  const std::vector<Case> cases = {{128, 1, 1024}, {224, 1, 7000}, {64, 3, 512},  {96, 7, 100},
                                   {48, 2, 300},   {100, 5, 33},   {32, 64, 12},  {128, 64, 128},
                                   {256, 40, 8},   {16, 1, 70},    {128, 1, 1},   {64, 33, 1},
                                   {256, 9, 31},   {128, 1, 4099}, {128, 16, 136}};
  for (const Case& c : cases) {
    for (const int64_t dim : {0, 1}) {
      for (const bool reverse : {false, true}) {
        for (const bool exclusive : {false, true}) {
          expect_scan(ScanKind::sum, f32, c, dim, reverse, exclusive);
          expect_scan(ScanKind::sum, i32, c, dim, reverse, exclusive);
        }
      }
    }
  }
}

TEST(LowerBlockScan, HasAllOperatorsAndTypes) {
  for (const ScanKind kind : {ScanKind::sum, ScanKind::prod, ScanKind::max, ScanKind::min}) {
    for (const DType dtype : {f32, f64, f16, bf16}) {
      if (kind == ScanKind::sum && dtype.bits() == 16) continue;
      for (const bool exclusive : {false, true}) {
        expect_scan(kind, dtype, {128, 2, 516}, 1, false, exclusive);
        expect_scan(kind, dtype, {128, 2, 516}, 1, true, exclusive);
        expect_scan(kind, dtype, {64, 128, 2}, 1, false, exclusive);
      }
    }
    if (kind == ScanKind::prod) continue;
    expect_scan(kind, i32, {128, 2, 516}, 1, false, true);
    for (const DType dtype : {i64, i16, i8})
      expect_scan(kind, dtype, {128, 2, 516}, 1, true, false);
  }
}

}  // namespace
}  // namespace tw::pass
