#include "tilewright/runtime/disk_cache.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/cache_hammer.h"
#include "tilewright/runtime/hash.h"

namespace tw::runtime {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest() {
    std::string folder = (fs::temp_directory_path() / "tw_cache_XXXXXX").string();
    folder_ = mkdtemp(folder.data());
  }
  ~DiskCacheTest() override { fs::remove_all(folder_); }

  DiskCache cache(int64_t max_bytes = INT64_MAX, bool read_only = false) const {
    return DiskCache({folder_, read_only, max_bytes});
  }
  fs::path entry(const std::string& key) const {
    return fs::path(folder_) / "entries" / hash_text(key);
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  int64_t staged() const {
    return std::distance(fs::directory_iterator(fs::path(folder_) / "staging"), {});
  }

  std::string folder_;
  const CacheFiles files_ = {
      {"code.o", std::string("\0\x7f\n1", 4)}, {"empty", ""}, {"meta", "{}"}};
};

TEST_F(DiskCacheTest, ReturnsWhatWasPublished) {
  EXPECT_EQ(cache().find("k"), std::nullopt);
  EXPECT_EQ(cache().publish("k", files_), std::nullopt);
  EXPECT_EQ(cache().find("k"), files_);
  EXPECT_EQ(cache().find("k2"), std::nullopt);
  EXPECT_EQ(staged(), 0);
}

TEST_F(DiskCacheTest, TheFirstWriterWins) {
  EXPECT_EQ(cache().publish("k", files_), std::nullopt);
  EXPECT_EQ(cache().publish("k", {{"other", "x"}}), std::nullopt);
  EXPECT_EQ(cache().find("k"), files_);
  EXPECT_EQ(staged(), 0);
}

// Every file cut to lengths, and bytes changed, all over it (removing folders takes
// most of the time).
TEST_F(DiskCacheTest, ADamagedEntryIsAMissAndIsRemoved) {
  int damages = 0;
  const auto expect_miss = [&](const std::string& what) {
    ++damages;
    EXPECT_EQ(cache().find("k"), std::nullopt) << what;
    EXPECT_FALSE(fs::exists(entry("k"))) << what;
    EXPECT_EQ(cache().publish("k", files_), std::nullopt);
  };
  cache().publish("k", files_);
  for (const std::string name : {"code.o", "empty", "meta", "key", "manifest"}) {
    const std::string content = read(entry("k") / name);
    for (size_t i = 0; i < content.size(); i += 1 + content.size() / 16) {
      write(entry("k") / name, content.substr(0, i));
      expect_miss(name + " cut to " + std::to_string(i));
      std::string changed = content;
      changed[i] ^= 1;
      write(entry("k") / name, changed);
      expect_miss(name + " changed at " + std::to_string(i));
    }
    write(entry("k") / name, content + "x");
    expect_miss(name + " longer");
    fs::remove(entry("k") / name);
    expect_miss(name + " missing");
  }
  EXPECT_GT(damages, 50);
  fs::remove_all(entry("k"));
  write(entry("k"), "a file in place of the folder");
  expect_miss("no folder");
  EXPECT_EQ(cache().find("k"), files_);
}

TEST_F(DiskCacheTest, AHitComparesTheWholeKey) {
  cache().publish("k", files_);
  fs::rename(entry("k"), entry("another key"));  // as if both had the same hash
  EXPECT_EQ(cache().find("another key"), std::nullopt);
  EXPECT_TRUE(fs::exists(entry("another key")));  // it is sound, and somebody's
}

TEST_F(DiskCacheTest, ReadOnlyChangesNothing) {
  EXPECT_EQ(cache(INT64_MAX, true).publish("k", files_), std::nullopt);
  EXPECT_FALSE(fs::exists(entry("k")));
  cache().publish("k", files_);
  EXPECT_EQ(cache(INT64_MAX, true).find("k"), files_);
  write(entry("k") / "meta", "");
  EXPECT_EQ(cache(INT64_MAX, true).find("k"), std::nullopt);
  EXPECT_TRUE(fs::exists(entry("k")));
}

TEST_F(DiskCacheTest, WithoutAFolderNothingIsCached) {
  const DiskCache none({});
  EXPECT_EQ(none.publish("k", files_), std::nullopt);
  EXPECT_EQ(none.find("k"), std::nullopt);
  EXPECT_EQ(none.usage().entries, 0);
}

TEST_F(DiskCacheTest, KeepsTheEntriesUsedLast) {
  const std::string content(10'000, 'x');
  const DiskCache small = cache(100'000);
  small.publish("first", {{"f", content}});
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(small.find("first"));  // used all the time, so never the oldest
    small.publish("k" + std::to_string(i), {{"f", content}});
    ASSERT_LE(small.usage().bytes, 120'000);
  }
  EXPECT_TRUE(small.find("k59"));
  EXPECT_FALSE(small.find("k0"));
  EXPECT_GE(small.usage().entries, 6);
}

TEST_F(DiskCacheTest, ClearRemovesAllEntries) {
  for (int i = 0; i < 5; ++i) cache().publish("k" + std::to_string(i), files_);
  EXPECT_EQ(cache().usage().entries, 5);
  cache().clear();
  EXPECT_EQ(cache().usage().entries, 0);
  EXPECT_EQ(staged(), 0);
}

TEST_F(DiskCacheTest, RemovesWhatKilledWritersLeftAnHourAgo) {
  cache().publish("k", files_);
  const fs::path staging = fs::path(folder_) / "staging";
  for (const std::string name : {"old", "new"}) {
    fs::create_directory(staging / name);
    write(staging / name / "code.o", "half");
  }
  timespec hour_ago[2];
  clock_gettime(CLOCK_REALTIME, &hour_ago[0]);
  hour_ago[0].tv_sec -= 3601;
  hour_ago[1] = hour_ago[0];
  ASSERT_EQ(utimensat(AT_FDCWD, (staging / "old").c_str(), hour_ago, 0), 0);
  cache().publish("k2", files_);
  EXPECT_FALSE(fs::exists(staging / "old"));
  EXPECT_TRUE(fs::exists(staging / "new"));
}

TEST_F(DiskCacheTest, AnUnusableFolderIsAWarning) {
  const std::string file = folder_ + "/file";
  write(file, "");
  const DiskCache broken({file, false, INT64_MAX});
  EXPECT_EQ(broken.find("k"), std::nullopt);
  EXPECT_EQ(broken.publish("k", files_), "disk cache: can't write " + file +
                                             "/entries: Not a directory; the kernel isn't cached");
}

// A limit on the size of files stands for the full disk: both fail in the middle of a write.
TEST_F(DiskCacheTest, AFullDiskIsAWarningAndLeavesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto warning = cache().publish("k", {{"code.o", std::string(5000, 'x')}});
    const bool good = warning &&
                      warning->ends_with("/code.o: File too large; the kernel isn't cached") &&
                      !cache().find("k") && staged() == 0;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(DiskCacheTest, WorksFromSeveralThreads) {
  const DiskCache shared = cache(20'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&shared, t] {
      for (int i = 0; i < 60; ++i) {
        const std::string key = "k" + std::to_string((i * (t + 1)) % 20);
        const CacheFiles files = {{"f", key + std::string(1000, 'x')}};
        EXPECT_EQ(shared.find(key).value_or(files), files);
        EXPECT_EQ(shared.publish(key, files), std::nullopt);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DiskCacheTest, WithstandsProcessesThatAreKilled) {
  const test::Hammered result = test::hammer_cache(folder_, 64, 60, 1);
  EXPECT_EQ(result.wrong, 0);
  EXPECT_GT(result.hits, 0);
}

TEST(Hash, IsXxh3Of128Bits) {  // test vectors of xxHash: XXH3_128bits without seed
  EXPECT_EQ(hash_text(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(hash_text("a"), hash_text("b"));
}

}  // namespace
}  // namespace tw::runtime
