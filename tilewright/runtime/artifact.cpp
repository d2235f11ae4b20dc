#include "tilewright/runtime/artifact.h"

#include <charconv>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

#include "tilewright/base/error.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/hash.h"

namespace tw::runtime {
namespace {

// The footer, of 96 characters: "tilewright kernel", version, size of the code and of the metadata,
// the checksum of both, and a line's end.
constexpr std::string_view kMark = "tilewright kernel ";
constexpr int kVersion = 1;
constexpr size_t kFooterSize = 96;

std::string footer_of(int64_t code_bytes, int64_t metadata_bytes, const std::string& hash) {
  return format("{}{:4} {:19} {:19} {}\n", kMark, kVersion, code_bytes, metadata_bytes, hash);
}

struct Footer {
  int64_t version, code_bytes, metadata_bytes;
  std::string_view hash;
};

// Takes a number off the front of `text`, with the spaces before it and one behind.
std::optional<int64_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return value;
}

std::optional<Footer> parse_footer(std::string_view text) {
  if (!text.starts_with(kMark)) return std::nullopt;
  text.remove_prefix(kMark.size());
  const auto version = take_number(text), code = take_number(text), metadata = take_number(text);
  if (!version || !code || !metadata) return std::nullopt;
  return Footer{*version, *code, *metadata, text.substr(0, 32)};
}

}  // namespace

void write_artifact(const std::string& path, const KernelMetadata& metadata,
                    std::string_view code) {
  verify(metadata);
  std::string content(code);
  const std::string json = to_json(metadata);
  content += json;
  content += footer_of(static_cast<int64_t>(code.size()), static_cast<int64_t>(json.size()),
                       hash_text(content));
  const std::string temporary = format("{}.{}.tmp", path, getpid());
  const bool written = write_file_at(AT_FDCWD, temporary, content) &&
                       std::rename(temporary.c_str(), path.c_str()) == 0;
  if (written) return;
  const std::string reason = system_reason();
  unlink(temporary.c_str());
  throw Error(Code{}, {}, "export: can't write {}: {}", path, reason);
}

Artifact read_artifact(const std::string& path) {
  const auto content = read_file_at(AT_FDCWD, path);
  TW_REQUIRE(content.has_value(), "load: can't read {}: {}", path, system_reason());
  std::string_view bytes = *content;
  std::optional<Footer> footer;
  if (bytes.size() >= kFooterSize) footer = parse_footer(bytes.substr(bytes.size() - kFooterSize));
  TW_REQUIRE(footer.has_value(), "load: {} is no kernel exported by tilewright, or was cut", path);
  TW_REQUIRE(footer->version == kVersion,
             "load: {} has format version {}, this library reads version {}; export it again", path,
             footer->version, kVersion);
  bytes.remove_suffix(kFooterSize);
  const auto size = static_cast<int64_t>(bytes.size());
  TW_REQUIRE(footer->code_bytes <= size && footer->metadata_bytes == size - footer->code_bytes &&
                 footer->hash == hash_text(bytes),
             "load: {} is damaged; export it again", path);
  const auto code_bytes = static_cast<size_t>(footer->code_bytes);
  return {metadata_from_json(bytes.substr(code_bytes)), std::string(bytes.substr(0, code_bytes))};
}

std::unique_ptr<LoadedKernel> load_cpu_artifact(const std::string& path) {
  Artifact artifact = read_artifact(path);
  TW_REQUIRE(artifact.metadata.device == DeviceKind::cpu, "load: {} is for {}, not for the CPU",
             path, artifact.metadata.target);
  return std::make_unique<LoadedKernel>(std::move(artifact.metadata), open_shared_object(path));
}

}  // namespace tw::runtime
