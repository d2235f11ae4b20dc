#include "tilewright/ir/options.h"

#include <gtest/gtest.h>

namespace tw::ir {
namespace {

std::string message(std::string_view name, std::string_view value) {
  try {
    check_option(name, value, {"k.cpp", 4});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const char* const kNames =
    "fast_math, no_contract, allow_tf32, forbid_float_atomics, warp_specialize, bulk_copy, "
    "async_copy, wgmma, index_bits, vector_bits, safe_access, shared_reuse, auto_sync, unswitch, "
    "layout_cost, reducer_plan, check_init, check_race, check_bounds, check_assumptions, no_debug, "
    "ptxas_level, cpu_level, dump, line_info";

TEST(Options, NamesTheNearestOfAnUnknownName) {
  EXPECT_EQ(message("fast_maths", "on"),
            std::string("k.cpp:4: error[E-OPT-01]: options: there is no option 'fast_maths'\n"
                        "  help: did you mean fast_math?\n  note: the options are ") +
                kNames);
  EXPECT_EQ(message("x", "on"),
            std::string("k.cpp:4: error[E-OPT-01]: options: there is no option 'x'\n"
                        "  note: the options are ") +
                kNames);
}

TEST(Options, NamesTheLegalValues) {
  EXPECT_EQ(message("check_init", "loud"),
            "k.cpp:4: error[E-OPT-01]: options: check_init is 'loud', it must be one of warn, off, "
            "error");
  EXPECT_EQ(message("check_init", "error"), "");
  EXPECT_EQ(message("dump", "/some/where"), "");
}

TEST(Options, HaveDefaultsAndTheLastValueWins) {
  Program program;
  EXPECT_EQ(option(program, "check_init"), "warn");
  program = with_option(program, "check_init", "off");
  program = with_option(program, "check_init", "error");
  EXPECT_EQ(option(program, "check_init"), "error");
  EXPECT_EQ(program.options.size(), 1U);
}

TEST(Options, SpeltOutOrLeftAtTheirDefaultGiveOneText) {
  const Program plain;
  const Program spelt = with_option(plain, "wgmma", "on");
  EXPECT_EQ(options_text(plain), options_text(spelt));
  EXPECT_NE(options_text(plain), options_text(with_option(plain, "wgmma", "off")));
}

}  // namespace
}  // namespace tw::ir
