// Compares an executor with the interpreter on random programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/fuzz/case.h"

namespace tw::fuzz {

/// Runs a program on the case's memory: `program` is the case's, or what passes or the shrinker
/// made of it. Throws when it can't.
using Executor = std::function<void(const ir::Program& program, Case& one)>;

/// The interpreter; with a seed other than 0 in another order. Throws at findings.
Executor interpreter(uint64_t order_seed = 0);

/// Whether the program is legal: the interpreter finds nothing wrong with it.
bool is_legal(const ir::Program& program, const Case& one);

/// Where the memory of two runs of one program differs: which element, both values. Empty when they
/// agree. Bytes around a tensor and between its elements must be untouched.
std::string difference(const Case& wanted, const Case& got);

/// How the executor's results for `program` differ from the interpreter's, or what it threw. Empty
/// when they agree.
std::string disagreement(const ir::Program& program, const Case& one, const Executor& executor);

/// Whether the disagreement is a difference of values, and not something that was thrown.
bool is_of_values(const ir::Program& program, const std::string& disagreement);

/// The message for a case that disagrees: its seed, the difference, and the smallest program that
/// still shows one and is found in so many trials.
std::string report(const Case& one, const std::string& difference, const Executor& executor,
                   int most_trials = 5000);

/// A test stops after so many cases that disagree.
inline constexpr int kMostFailures = 3;

/// Runs `count` cases from `first_seed` on, on all cores, and fails the current test for those that
/// disagree with a report.
void expect_agreement(const Executor& executor, uint64_t first_seed, int64_t count);

}  // namespace tw::fuzz
