#include "tilewright/layout/conversion.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/layout/owner.h"
#include "tilewright/layout/parse.h"

namespace tw::layout {
namespace {

using test::for_each;

// Fragments of one 16 x 16 box.
std::vector<Fragment> fragments() {
  std::vector<Fragment> all;
  for (const char* text : {
           "accumulator(mma_c_16x8, 16, 16, 1, 1)",
           "accumulator(mma_c_16x8, 16, 16, 1, 2)",
           "mma_a_16x16",
           "operand_a(mma_a_16x8, 16, 16, 1, 2)",
           "operand_b(mma_b_16x8, 16, 16, 1, 1)",
           "operand_b(mma_b_16x8, 16, 16, 2, 2)",
           "accumulator(matrix_8x8, 16, 16, 2, 2)",
           "[16, 16] -> 64 threads, 4 slots: i * 4 + j / 4, j % 4",
           "[16, 16] -> 64 threads from 64, 4 slots: i * 4 + j / 4, j % 4",
           "[16, 16] -> 64 threads, 4 slots: i * 4 + j / 4, (j ^ i % 4)",
           "[16, 16] -> 32 threads, 8 slots: i * 2 + j / 8, j % 8",
           "[16, 16] x 2 -> 32 threads, 16 slots: i + r * 16, j",
           "[16, 16] x 2 -> 32 threads, 16 slots: i * 2 + r, j",
           "[16, 16] x 8 -> 128 threads, 16 slots: i * 2 + r % 2 + r / 2 * 32, j",
           "[16, 16] -> 48 threads, 6 slots: i / 3 + j / 2 % 8 * 6, i % 3 * 2 + j % 2",
           "replicated(16, 16, 64)",
       }) {
    all.push_back(parse_fragment(text));
  }
  return all;
}

Exchange by_definition(const Fragment& from, const Fragment& to) {
  Exchange worst = Exchange::none;
  for_each(to.shape(), [&](const Coords& x) {
    for (int64_t r = 0; r < to.replicas(); ++r) {
      Exchange best = Exchange::shared;
      for (int64_t s = 0; s < from.replicas(); ++s) {
        const int64_t owner = from.thread(x, s), thread = to.thread(x, r);
        Exchange way = Exchange::shared;
        if (owner / 32 == thread / 32) way = Exchange::shuffle;
        if (owner == thread) way = Exchange::registers;
        if (owner == thread && from.slot(x, s) == to.slot(x, r)) way = Exchange::none;
        best = std::min(best, way);
      }
      worst = std::max(worst, best);
    }
  });
  return worst;
}

TEST(Conversion, IsTheCheapestByDefinition) {
  std::map<Exchange, int> kinds;
  for (const Fragment& from : fragments()) {
    for (const Fragment& to : fragments()) {
      const Exchange exchange = convert(from, to).exchange;
      ASSERT_EQ(exchange, by_definition(from, to)) << to_text(from) << "\nto " << to_text(to);
      ++kinds[exchange];
    }
  }
  EXPECT_EQ(kinds.size(), 4u);
}

TEST(Conversion, SourceHoldsTheElement) {
  int found = 0;
  for (const Fragment& from : fragments()) {
    for (const Fragment& to : fragments()) {
      const Conversion conversion = convert(from, to);
      if (!conversion.source) continue;
      ++found;
      const Fragment f = condense(from);
      Exchange worst = Exchange::none;
      std::map<int64_t, std::set<int64_t>> choices;  // slots of the source, by slot of the target
      for_each(to.shape(), [&](const Coords& x) {
        for (int64_t r = 0; r < to.replicas(); ++r) {
          const int64_t thread = to.thread(x, r), slot = to.slot(x, r);
          const Coords at = conversion.source->apply({thread - to.first_thread(), slot});
          const int64_t owner = at[0] + from.first_thread();
          bool holds = false;
          for (int64_t s = 0; s < f.replicas(); ++s) {
            holds = holds || (f.thread(x, s) == owner && f.slot(x, s) == at[1]);
          }
          ASSERT_TRUE(holds) << to_text(from) << "\nto " << to_text(to) << " at " << to_text(x);
          choices[slot].insert(at[1]);
          worst = std::max(worst, owner == thread
                                      ? (at[1] == slot ? Exchange::none : Exchange::registers)
                                  : owner / 32 == thread / 32 ? Exchange::shuffle
                                                              : Exchange::shared);
        }
      });
      ASSERT_EQ(worst, conversion.exchange) << to_text(from) << "\nto " << to_text(to);
      size_t most = 0;
      for (const auto& [slot, slots] : choices) most = std::max(most, slots.size());
      ASSERT_EQ(conversion.choices, static_cast<int64_t>(most))
          << to_text(from) << "\nto " << to_text(to);
    }
  }
  EXPECT_GT(found, 100);
}

TEST(Conversion, ChainedMultipliesNeedNoExchange) {
  // 16 bits: nothing. 8 bits: lanes exchange.
  EXPECT_EQ(convert(parse_fragment("accumulator(mma_c_16x8, 64, 64, 4, 1)"),
                    parse_fragment("operand_a(mma_a_16x16, 64, 64, 4, 1)"))
                .exchange,
            Exchange::none);
  EXPECT_EQ(convert(parse_fragment("accumulator(mma_c_16x8, 64, 64, 4, 1)"),
                    parse_fragment("operand_a(mma_a_16x32, 64, 64, 4, 1)"))
                .exchange,
            Exchange::shuffle);
}

TEST(Conversion, OfABroadcastStaysInTheThread) {
  const Fragment c = parse_fragment("accumulator(mma_c_16x8, 64, 64, 2, 2)");
  const Fragment sum = *reduce(c, 1);
  const Conversion conversion = convert(fully_replicated({64}, 128), sum);
  EXPECT_EQ(conversion.exchange, Exchange::registers);
  EXPECT_EQ(conversion.choices, 16);  // 8 values of a lane's g, 2 of the row part
}

}  // namespace
}  // namespace tw::layout
