// Memory that a process and its children see.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/mman.h>

#include "tilewright/base/error.h"

namespace tw::fuzz {

/// Zeros at first. Children that are forked while it lives share it.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes) : bytes_(bytes) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TW_CHECK(memory != MAP_FAILED, "mmap of {} bytes: {}", bytes_, std::strerror(errno));
    data_ = static_cast<char*>(memory);
  }
  ~SharedMemory() { munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  char* data() const { return data_; }

 private:
  size_t bytes_;
  char* data_;
};

}  // namespace tw::fuzz
