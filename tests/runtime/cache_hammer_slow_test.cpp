// The long form of DiskCacheTest.WithstandsProcessesThatAreKilled.
#include <filesystem>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/runtime/cache_hammer.h"

namespace tw::runtime::test {
namespace {

TEST(CacheHammer, SixtyFourProcessesKilledAtRandomNeverReadAWrongEntry) {
  std::string folder = (std::filesystem::temp_directory_path() / "tw_hammer_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const Hammered result = hammer_cache(folder, 64, 3000, 2);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(result.wrong, 0);
  EXPECT_GT(result.hits, 1000);
  RecordProperty("hits", std::to_string(result.hits));
}

}  // namespace
}  // namespace tw::runtime::test
