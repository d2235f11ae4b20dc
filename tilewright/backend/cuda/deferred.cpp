#include "tilewright/backend/cuda/deferred.h"

#include <algorithm>

#include "tilewright/backend/backend.h"
#include "tilewright/backend/cuda/emit/emit.h"
#include "tilewright/backend/cuda/toolchain/toolchain.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/disk_cache.h"

namespace tw::cuda {
namespace {

/// The words of the first line of a text, which is taken off.
std::vector<std::string> take_line(std::string_view& text) {
  std::vector<std::string> words;
  const size_t end = text.find('\n');
  TW_REQUIRE(end != text.npos, "deferred code without a line's end");
  for (size_t at = 0; at < end;) {
    const size_t space = std::min(text.find(' ', at), end);
    if (space > at) words.emplace_back(text.substr(at, space - at));
    at = space + 1;
  }
  text.remove_prefix(end + 1);
  return words;
}

std::string cached(const Translation& t, const Target& target) {
  static const runtime::DiskCache cache(runtime::DiskCacheOptions::from_environment());
  const std::string key =
      format("cuda part\nbuild {}\n{}\ntarget {}\nflags {}\n{}", backend::build_id(),
             toolchain_identity(), target.full_name(), join(t.flags, " "), t.source);
  if (auto files = cache.find(key); files && files->contains("code")) return files->at("code");
  std::string code = translate(t, target).cubin;
  cache.publish(key, {{"code", code}});
  return code;
}

}  // namespace

std::string to_text(const Deferred& deferred) {
  return format("{}\n{}\n{}", join(deferred.entries, " "), join(deferred.flags, " "),
                deferred.source);
}

Deferred deferred_from_text(std::string_view text) {
  Deferred deferred;
  deferred.entries = take_line(text);
  deferred.flags = take_line(text);
  deferred.source = text;
  return deferred;
}

bool Deferred::contains(std::string_view entry) const {
  return std::ranges::count(entries, entry) > 0;
}

std::string compile_deferred(const Deferred& deferred, const std::string& entry,
                             const std::string& name, const Target& target, bool stands_in) {
  const auto part = 1 + (std::ranges::find(deferred.entries, entry) - deferred.entries.begin());
  std::vector<std::string> flags = deferred.flags;
  flags.push_back(format("-D{}={}", kPart, part));
  try {
    return cached({.name = name, .source = deferred.source, .flags = std::move(flags)}, target);
  } catch (Error& error) {
    if (stands_in) {
      error.note(
          "{}: these sizes, strides or addresses (not all multiples of 16 bytes, say) take '{}', "
          "which is compiled when it is first needed",
          name, entry);
    }
    throw;
  }
}

std::string whole_code(const runtime::Artifact& artifact) {
  if (artifact.deferred.empty()) return artifact.code;
  Deferred deferred = deferred_from_text(artifact.deferred);
  return cached({.name = artifact.metadata.name,
                 .source = std::move(deferred.source),
                 .flags = std::move(deferred.flags)},
                target_named(artifact.metadata.target));
}

}  // namespace tw::cuda
