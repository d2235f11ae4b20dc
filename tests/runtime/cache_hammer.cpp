#include "tests/runtime/cache_hammer.h"

#include <atomic>
#include <new>
#include <random>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tilewright/base/error.h"
#include "tilewright/runtime/disk_cache.h"

namespace tw::runtime::test {
namespace {

constexpr int kKeys = 48;

// In memory that all processes share.
struct Counters {
  std::atomic<int64_t> hits, misses, wrong;
};

std::string key_of(int i) { return "key " + std::to_string(i) + std::string(500, 'k'); }

// The only content that the entry may ever have: all of it depends on the key, and
// differs in length.
CacheFiles files_of(int i) {
  std::minstd_rand random(static_cast<unsigned>(i) + 1);
  std::string code(static_cast<size_t>(1000 + i * 700), '\0');
  for (char& c : code) c = static_cast<char>(random());
  return {{"code.o", std::move(code)}, {"metadata.json", key_of(i)}};
}

void visit(const DiskCache& cache, int i, Counters& counters) {
  const auto hit = cache.find(key_of(i));
  if (!hit) {
    ++counters.misses;
    if (cache.publish(key_of(i), files_of(i))) ++counters.wrong;  // no warning is expected either
  } else {
    ++(*hit == files_of(i) ? counters.hits : counters.wrong);
  }
}

[[noreturn]] void work(const DiskCache& cache, uint64_t seed, Counters& counters) {
  if (nice(5) == -1) _exit(1);  // the process that kills shall come to its turn
  std::mt19937_64 random(seed);
  while (true) visit(cache, static_cast<int>(random() % kKeys), counters);
}

}  // namespace

Hammered hammer_cache(const std::string& folder, int processes, int kills, uint64_t seed) {
  void* memory =
      mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TW_CHECK(memory != MAP_FAILED, "no shared memory");
  auto& counters = *new (memory) Counters();
  const DiskCache cache({folder, false, 500'000});  // about half of all entries
  std::mt19937_64 random(seed);
  const auto start_one = [&] {
    const uint64_t own_seed = random();
    const pid_t child = fork();
    TW_CHECK(child >= 0, "fork failed");
    if (child == 0) work(cache, own_seed, counters);
    return child;
  };

  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) children.push_back(start_one());
  for (int i = 0; i < kills; ++i) {
    usleep(static_cast<useconds_t>(random() % 20'000));
    pid_t& victim = children[random() % children.size()];
    kill(victim, SIGKILL);
    victim = start_one();
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  while (wait(nullptr) > 0) {
  }
  Hammered result;
  for (int i = 0; i < kKeys; ++i) visit(cache, i, counters);
  result.hits = counters.hits;
  result.misses = counters.misses;
  result.wrong = counters.wrong;
  munmap(memory, sizeof(Counters));
  return result;
}

}  // namespace tw::runtime::test
