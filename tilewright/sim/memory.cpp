#include "tilewright/sim/memory.h"

#include <algorithm>
#include <cstring>

#include "tilewright/base/format.h"

namespace tw::sim {
namespace {

/// Remembers an iteration among two; nothing is gained by a third.
void remember(std::array<int32_t, 2>* seen, int32_t iteration) {
  for (int32_t& slot : *seen) {
    if (slot == iteration) return;
    if (slot < 0) {
      slot = iteration;
      return;
    }
  }
}
/// One of those seen that is another iteration, or -1.
int32_t other_of(const std::array<int32_t, 2>& seen, int32_t iteration) {
  for (const int32_t slot : seen) {
    if (slot >= 0 && slot != iteration) return slot;
  }
  return -1;
}

}  // namespace

int32_t Mark::note(uint32_t epoch_now, int32_t iteration, Access access) {
  if (epoch != epoch_now) *this = Mark{epoch_now};
  int32_t other = writer >= 0 && writer != iteration ? writer : -1;
  if (other < 0 && access != Access::atomic) other = other_of(atomics, iteration);
  if (other < 0 && access != Access::read) other = other_of(readers, iteration);
  switch (access) {
    case Access::read:
      remember(&readers, iteration);
      break;
    case Access::write:
      writer = iteration;
      break;
    case Access::atomic:
      remember(&atomics, iteration);
      break;
  }
  return other;
}

Storage::Storage(int64_t bits, int unit_bits, std::byte poison)
    : own_(static_cast<size_t>((bits + 7) / 8), poison),
      data_(own_.data()),
      bits_(bits),
      unit_bits_(unit_bits) {}

void Storage::forget(std::byte poison) {
  std::fill(own_.begin(), own_.end(), poison);
  std::fill(written_.begin(), written_.end(), uint8_t{0});
}
void Storage::track_writes() {
  written_.assign(static_cast<size_t>((bits_ + unit_bits_ - 1) / unit_bits_), 0);
}
void Storage::zero() {
  std::fill(own_.begin(), own_.end(), std::byte{0});
  written_.clear();
}

uint64_t Storage::read(int64_t bit, int width) const {
  const int64_t at = bit + origin_;
  const std::byte* from = data_ + at / 8;
  if (width == 4) return (static_cast<uint64_t>(*from) >> (at % 8)) & 15;
  uint64_t value = 0;
  std::memcpy(&value, from, static_cast<size_t>(width / 8));
  return value;
}
void Storage::write(int64_t bit, int width, uint64_t value) {
  const int64_t at = bit + origin_;
  std::byte* to = data_ + at / 8;
  if (width == 4) {
    const auto shift = static_cast<int>(at % 8);
    const auto kept = static_cast<uint64_t>(*to) & ~(uint64_t{15} << shift);
    *to = static_cast<std::byte>(kept | ((value & 15) << shift));
  } else {
    std::memcpy(to, &value, static_cast<size_t>(width / 8));
  }
  if (written_.empty()) return;
  for (int64_t unit = at / unit_bits_; unit * unit_bits_ < at + width; ++unit) {
    written_[static_cast<size_t>(unit)] = 1;
  }
}
bool Storage::was_written(int64_t bit, int width) const {
  if (written_.empty()) return true;
  const int64_t at = bit + origin_;
  for (int64_t unit = at / unit_bits_; unit * unit_bits_ < at + width; ++unit) {
    if (written_[static_cast<size_t>(unit)] == 0) return false;
  }
  return true;
}
int32_t Storage::note(std::vector<Mark>* marks, int64_t bit, int width, uint32_t epoch,
                      int32_t iteration, Access access) {
  if (marks->empty()) marks->resize(static_cast<size_t>((bits_ + unit_bits_ - 1) / unit_bits_));
  const int64_t at = bit + origin_;
  int32_t other = -1;
  for (int64_t unit = at / unit_bits_; unit * unit_bits_ < at + width; ++unit) {
    const int32_t found = (*marks)[static_cast<size_t>(unit)].note(epoch, iteration, access);
    if (found >= 0) other = found;
  }
  return other;
}

std::string element_text(const std::string& name, const Index& index, int rank) {
  return name + to_text(std::vector<int64_t>(index.begin(), index.begin() + rank));
}

}  // namespace tw::sim
