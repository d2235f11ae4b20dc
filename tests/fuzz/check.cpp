#include "tests/fuzz/check.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/generator.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/text.h"
#include "tilewright/sim/shrink.h"

namespace tw::fuzz {
namespace {

sim::RunResult run(const ir::Program& program, Case& one, uint64_t order_seed) {
  sim::RunOptions options;
  options.seed = order_seed;
  options.check_overflow = true;
  options.max_steps = 10'000'000;
  return sim::interpret(program, one.arguments(), options);
}

std::string value_text(uint64_t bits, DType dtype) {
  return format("{} (0x{:x})", decode(bits, dtype), bits);
}

/// The first difference of one parameter. Takes the elements that agree out of `got`'s memory.
std::string difference(const std::string& name, const ParamValue& wanted, ParamValue got) {
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const uint64_t a = wanted.get(i), b = got.get(i);
    const bool same =
        wanted.tolerance.is_exact()
            ? same_value(a, b, wanted.dtype)
            : wanted.tolerance.accepts(decode(b, wanted.dtype), decode(a, wanted.dtype));
    if (!same) {
      return format("{}: element {} of {} is {}, the interpreter has {}", name, i, wanted.shape,
                    value_text(b, wanted.dtype), value_text(a, wanted.dtype));
    }
    got.set(i, a);
  }
  return wanted.memory == got.memory ? "" : name + ": bytes outside of its elements were written";
}

/// How a disagreement begins, which tells a compiler's error from a crash and from wrong values.
std::string kind_of(const std::string& disagreement) {
  return disagreement.substr(0, disagreement.find_first_of(":[ "));
}

}  // namespace

Executor interpreter(uint64_t order_seed) {
  return [order_seed](const ir::Program& program, Case& one) {
    const sim::RunResult result = run(program, one, order_seed);
    if (!result.findings.empty()) throw std::runtime_error(sim::to_text(result.findings));
  };
}

bool is_of_values(const ir::Program& program, const std::string& disagreement) {
  return std::any_of(program.params.begin(), program.params.end(), [&](const ir::Param& param) {
    return param.buffer && param.buffer.name() == kind_of(disagreement);
  });
}

bool is_legal(const ir::Program& program, const Case& one) {
  try {
    Case copy = one.for_program(program);
    return run(program, copy, 0).findings.empty();
  } catch (const std::exception&) {
    return false;
  }
}

std::string difference(const Case& wanted, const Case& got) {
  for (size_t p = 0; p < wanted.values.size(); ++p) {
    if (wanted.values[p].is_scalar || !wanted.values[p].points_to.empty()) continue;
    const std::string name = wanted.program.params[p].buffer.name();
    const std::string text = difference(name, wanted.values[p], got.values[p]);
    if (!text.empty()) return text;
  }
  return "";
}

std::string disagreement(const ir::Program& program, const Case& one, const Executor& executor) {
  Case wanted = one.for_program(program), got = wanted;
  try {
    interpreter()(program, wanted);
  } catch (const std::exception& error) {
    return format("the interpreter: {}", error.what());
  }
  try {
    executor(program, got);
  } catch (const std::exception& error) {
    return error.what();
  }
  return difference(wanted, got);
}

// Shrinks to a program that fails as the whole one does: parts of a legal program may well be
// refused with an error.
std::string report(const Case& one, const std::string& difference, const Executor& executor,
                   int most_trials) {
  const auto fails = [&](const ir::Program& program) {
    if (!is_legal(program, one)) return false;
    const std::string text = disagreement(program, one, executor);
    return !text.empty() && (kind_of(text) == "error") == (kind_of(difference) == "error");
  };
  const ir::Program smallest = sim::shrink(one.program, fails, ir::Level::tile, most_trials);
  return format("seed {}: {}\nsmallest program that shows a difference: {}\n{}", one.seed,
                difference, disagreement(smallest, one, executor), ir::print(smallest));
}

void expect_agreement(const Executor& executor, uint64_t first_seed, int64_t count) {
  std::atomic<int64_t> next{0};
  std::atomic<int> failures{0};
  std::mutex reporting;
  const auto work = [&] {
    for (int64_t i = next++; i < count && failures < kMostFailures; i = next++) {
      const uint64_t seed = first_seed + static_cast<uint64_t>(i);
      const Case one = generate(seed);
      const std::string text = disagreement(one.program, one, executor);
      if (text.empty() || failures++ >= kMostFailures) continue;
      const std::lock_guard lock(reporting);
      ADD_FAILURE() << report(one, text, executor);
    }
  };
  // Tables that are made at first use are there before anything forks beside another thread.
  Case first = generate(first_seed);
  interpreter()(first.program, first);
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tw::fuzz
