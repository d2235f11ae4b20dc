#include "tilewright/sim/twin/memory.h"

#include <algorithm>
#include <bit>

namespace tw::sim::twin {

Memory::Memory(int64_t bytes, std::byte poison)
    : own_(static_cast<size_t>(bytes), poison), data_(own_.data()), bytes_(bytes) {
  track_writes();
}

void Memory::zero() {
  std::fill(own_.begin(), own_.end(), std::byte{0});
  written_.clear();
}

void Memory::mark_written(int64_t byte, int64_t count) {
  if (!written_.empty()) std::fill_n(written_.begin() + byte, count, uint8_t{1});
}

void Memory::watch(int unit) {
  shift_ = std::countr_zero(static_cast<unsigned>(unit));
  pages_.clear();
  pages_.resize(static_cast<size_t>((bytes_ / unit + kPage) / kPage));
}

Trace& Memory::new_trace(int64_t unit) {
  std::unique_ptr<Page>& page = pages_[static_cast<size_t>(unit / kPage)];
  page = std::make_unique<Page>();
  return (*page)[static_cast<size_t>(unit % kPage)];
}

}  // namespace tw::sim::twin
