#include "tilewright/sim/machine.h"

#include <numeric>

#include "tilewright/base/format.h"

namespace tw::sim {

Index point_of(int64_t number, const std::vector<int64_t>& extents) {
  Index index{};
  for (size_t dim = extents.size(); dim-- > 0;) {
    index[dim] = number % extents[dim];
    number /= extents[dim];
  }
  return index;
}

int64_t points_in(const std::vector<int64_t>& extents) {
  int64_t points = 1;
  for (const int64_t extent : extents) points *= extent < 0 ? 0 : extent;
  return points;
}

void Machine::report(FindingKind kind, const void* place, SourceLoc where,
                     const std::function<std::string()>& text) {
  const auto [it, is_new] = known_.emplace(std::pair(place, kind), result.findings.size());
  if (is_new) {
    result.findings.push_back({kind, where, text()});
  } else {
    ++result.findings[it->second].count;
  }
}

bool Machine::locate(const Place& place, const Index& index, int64_t* bit) {
  const View& view = views[static_cast<size_t>(place.view)];
  if (!view.inside(index)) {
    if (!place.in_tensor || place.unchecked) {
      report(FindingKind::out_of_bounds, &place, place.where, [&] {
        return format("{} is outside {} {}", element_text(place.name, index, view.rank), place.name,
                      view.extents());
      });
    }
    return false;
  }
  *bit = view.bit_of(index);
  if (view.storage != nullptr && view.storage->holds(*bit, view.width)) return true;
  report(FindingKind::outside_storage, &place, place.where, [&] {
    return format("{} lies outside its memory", element_text(place.name, index, view.rank));
  });
  return false;
}

void Machine::note(const Place& place, const Index& index, int64_t bit, Access access) {
  const View& view = views[static_cast<size_t>(place.view)];
  const auto conflict = [&](FindingKind kind, int32_t other, int32_t now, const char* who,
                            const std::vector<int64_t>& box) {
    const auto coordinates = [&](int32_t number) {
      const Index point = point_of(number, box);
      return std::vector<int64_t>(point.begin(), point.begin() + static_cast<int64_t>(box.size()));
    };
    const size_t before = result.findings.size();
    report(kind, &place, place.where, [&] {
      return format("{} {} and {} both access {}, and one of them writes it", who,
                    coordinates(other), coordinates(now),
                    element_text(place.name, index, view.rank));
    });
    if (result.findings.size() == before) return;
    result.findings.back().first = coordinates(other);
    result.findings.back().second = coordinates(now);
  };
  if (epoch_ != 0 && view.storage->private_to != epoch_) {
    const int32_t other = view.storage->note_iteration(bit, view.width, epoch_, iteration_, access);
    if (other >= 0) {
      conflict(FindingKind::iteration_conflict, other, iteration_, "iterations", box_);
    }
  }
  if (launch_ != 0 && place.in_tensor) {
    const int32_t other = view.storage->note_block(bit, view.width, launch_, block_, access);
    if (other >= 0) conflict(FindingKind::block_conflict, other, block_, "blocks", grid_);
  }
}

Bits Machine::load(const Place& place, const Index& index) {
  int64_t bit = 0;
  if (!locate(place, index, &bit)) return place.safe_value ? place.safe_value(*this) : 0;
  const View& view = views[static_cast<size_t>(place.view)];
  note(place, index, bit, Access::read);
  if (!view.storage->was_written(bit, view.width)) {
    report(FindingKind::uninitialized_read, &place, place.where, [&] {
      return format("{} is read before it is written", element_text(place.name, index, view.rank));
    });
  }
  const Bits value = view.storage->read(bit, view.width);
  return view.dtype.is_bool() ? Bits{value != 0} : value;
}

void Machine::store(const Place& place, const Index& index, Bits value) {
  int64_t bit = 0;
  if (!locate(place, index, &bit)) return;
  note(place, index, bit, Access::write);
  const View& view = views[static_cast<size_t>(place.view)];
  view.storage->write(bit, view.width, value);
}

Bits Machine::exchange(const Place& place, const Index& index, bool reads,
                       const std::function<Bits(Bits)>& update) {
  int64_t bit = 0;
  if (!locate(place, index, &bit)) return 0;
  note(place, index, bit, Access::atomic);
  const View& view = views[static_cast<size_t>(place.view)];
  if (reads && !view.storage->was_written(bit, view.width)) {
    report(FindingKind::uninitialized_read, &place, place.where, [&] {
      return format("{} is read before it is written", element_text(place.name, index, view.rank));
    });
  }
  const Bits old = view.storage->read(bit, view.width);
  view.storage->write(bit, view.width, update(old));
  return old;
}

Flow Machine::for_each(const std::vector<int64_t>& extents, bool watch,
                       const std::function<Flow(const Index&)>& body) {
  const int64_t points = points_in(extents);
  const uint32_t outer_epoch = epoch_;
  const int32_t outer_iteration = iteration_;
  std::vector<int64_t> outer_box;
  if (watch) {
    epoch_ = ++epochs_;
    outer_box = std::exchange(box_, extents);
  }
  const std::vector<int64_t> shuffled = order(points);
  Flow flow = Flow::next;
  for (int64_t n = 0; n < points && flow == Flow::next; ++n) {
    const int64_t number = shuffled.empty() ? n : shuffled[static_cast<size_t>(n)];
    if (watch) iteration_ = static_cast<int32_t>(number);
    flow = body(point_of(number, extents));
    if (flow == Flow::continue_loop) flow = Flow::next;
  }
  if (watch) {
    box_ = std::move(outer_box);
    epoch_ = outer_epoch;
    iteration_ = outer_iteration;
  }
  return flow;
}

void Machine::enter_block(int64_t block, std::vector<int64_t> grid) {
  block_ = static_cast<int32_t>(block);
  grid_ = std::move(grid);
}

bool Machine::step(const void* loop, SourceLoc where) {
  if (++steps_ <= options.max_steps) return true;
  report(FindingKind::endless_loop, loop, where,
         [&] { return format("the program ran more than {} iterations", options.max_steps); });
  return false;
}

std::vector<int64_t> Machine::order(int64_t n) {
  if (options.seed == 0 || n < 2) return {};
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  for (size_t i = numbers.size() - 1; i > 0; --i) {
    std::swap(numbers[i], numbers[next_random() % (i + 1)]);
  }
  return numbers;
}

uint64_t Machine::next_random() {  // splitmix64
  uint64_t z = random_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace tw::sim
