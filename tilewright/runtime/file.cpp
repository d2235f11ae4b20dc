#include "tilewright/runtime/file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tw::runtime {
namespace {

// Repeats a system call that a signal interrupted.
template <class Call>
auto retried(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Fd open_folder(const std::string& path) {
  return Fd(retried([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

std::optional<std::string> read_file_at(int folder, const std::string& name) {
  const Fd file(retried([&] { return openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC); }));
  struct stat status;
  if (!file.ok() || fstat(file.get(), &status) != 0) return std::nullopt;
  std::string content(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t count =
        retried([&] { return read(file.get(), content.data() + done, content.size() - done); });
    if (count <= 0) return std::nullopt;  // an error, or the file was cut meanwhile
    done += static_cast<size_t>(count);
  }
  return content;
}

bool write_file_at(int folder, const std::string& name, std::string_view content) {
  const Fd file(retried(
      [&] { return openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); }));
  if (!file.ok()) return false;
  while (!content.empty()) {
    const ssize_t count =
        retried([&] { return write(file.get(), content.data(), content.size()); });
    if (count < 0) return false;
    content.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

std::string system_reason() { return std::generic_category().message(errno); }

}  // namespace tw::runtime
