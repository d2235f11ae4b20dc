#include "tilewright/sim/twin/memory.h"

#include <algorithm>
#include <cstring>

namespace tw::sim::twin {

Memory::Memory(int64_t bytes, std::byte poison)
    : own_(static_cast<size_t>(bytes), poison), data_(own_.data()), bytes_(bytes) {
  track_writes();
}

void Memory::zero() {
  std::fill(own_.begin(), own_.end(), std::byte{0});
  written_.clear();
}

bool Memory::was_written(int64_t byte, int64_t count) const {
  if (written_.empty()) return true;
  return std::memchr(written_.data() + byte, 0, static_cast<size_t>(count)) == nullptr;
}

void Memory::mark_written(int64_t byte, int64_t count) {
  if (!written_.empty()) std::fill_n(written_.begin() + byte, count, uint8_t{1});
}

void Memory::watch(int unit) {
  unit_ = unit;
  pages_.clear();
  pages_.resize(static_cast<size_t>((bytes_ / unit + kPage) / kPage));
}

Trace& Memory::trace(int64_t unit) {
  std::unique_ptr<Page>& page = pages_[static_cast<size_t>(unit / kPage)];
  if (page == nullptr) page = std::make_unique<Page>();
  return (*page)[static_cast<size_t>(unit % kPage)];
}

}  // namespace tw::sim::twin
