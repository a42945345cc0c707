#include "examples/agent/keys.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "examples/agent/arguments.h"
#include "examples/agent/words.h"
#include "examples/objects/object_wire.h"
#include "lease/capability.h"
#include "lease/object_id.h"
#include "swim/message.h"

namespace nekton {

const std::string_view kKeygenHelp = R"(usage: nekton keygen --out FILE

Makes the key of an authority: its secret goes into FILE, which must not be there yet and which only you can read; its
public key, 64 hexadecimal digits, is printed. All members are given the public key, the authority alone the file.

  --out FILE            where the secret goes
  --help                this text

Status: 0 done, 1 failed, 2 wrong arguments.
)";

const std::string_view kCapabilityHelp = R"(usage: nekton capability --key FILE --object NAME [option...]

Signs the right to use an object, and prints it: the name, a blank, 242 hexadecimal digits. Who has the line has the
right; agents are given it with --capability.

  --key FILE            the secret of the authority (nekton keygen)
  --object NAME         the object, 1-128 bytes without spaces
  --operations LIST     stat, commit or stat,commit (default stat,commit)
  --for TIME            how long it holds, by the clock of the object's home (default 24h)
  --label LABEL         name of the cluster, as its members have it
  --help                this text

Status: 0 done, 1 failed, 2 wrong arguments.
)";

namespace {

constexpr int kFailed = 1;
constexpr std::size_t kSeedSize = 32;

int Fail(absl::string_view command, absl::string_view what) {
  const std::string line = absl::StrCat("nekton ", command, ": ", what, "\n");
  std::fputs(line.c_str(), stderr);
  return kFailed;
}

int Print(const std::string& line) {
  return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : kFailed;
}

template <std::size_t kSize>
bool Randomize(std::array<std::byte, kSize>* bytes) {
  return getrandom(bytes->data(), kSize, 0) == static_cast<ssize_t>(kSize);
}

absl::string_view Chars(const std::byte* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::NotFoundError(absl::StrCat("key file ", Quoted(path), ": ", std::strerror(errno)));
  struct stat info {};
  std::string text(256, '\0');
  const bool told = fstat(fd, &info) == 0;
  const ssize_t size = read(fd, text.data(), text.size());
  close(fd);
  if (!told || size < 0) return absl::NotFoundError(absl::StrCat("key file ", Quoted(path), ": cannot be read"));
  if ((info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("key file ", Quoted(path), ": others can read it; chmod 600"));
  }
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

absl::StatusOr<SigningKey> ReadKeyFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadSecret(path);
  if (!text.ok()) return text.status();
  const std::string hex(absl::StripTrailingAsciiWhitespace(*text));
  bool digits = hex.size() == 2 * kSeedSize;
  for (const char c : hex) digits = digits && absl::ascii_isxdigit(static_cast<unsigned char>(c));
  if (!digits) {
    return absl::InvalidArgumentError(absl::StrCat("key file ", Quoted(path), ": must hold 64 hexadecimal digits"));
  }
  const std::string raw = absl::HexStringToBytes(hex);
  return SigningKey(std::as_bytes(std::span(raw)).first<kSeedSize>());
}

absl::StatusOr<KeygenOptions> ParseKeygenOptions(std::span<const char* const> given) {
  KeygenOptions options;
  Arguments arguments;
  arguments.Text("out", &options.out);
  if (absl::Status status = arguments.Parse(given); !status.ok()) return status;
  options.help = arguments.help();
  if (!options.help && options.out.empty()) return absl::InvalidArgumentError("--out is missing");
  return options;
}

int RunKeygen(const KeygenOptions& options) {
  std::array<std::byte, kSeedSize> seed;
  if (!Randomize(&seed)) return Fail("keygen", "the system gives no random bytes");
  const std::string secret = absl::StrCat(absl::BytesToHexString(Chars(seed.data(), seed.size())), "\n");
  // Never over another: that would be the end of a group.
  const int fd = open(options.out.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Fail("keygen", absl::StrCat(Quoted(options.out), ": ", std::strerror(errno)));
  const bool written = write(fd, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()) && fsync(fd) == 0;
  if (close(fd) != 0 || !written) return Fail("keygen", absl::StrCat(Quoted(options.out), ": cannot be written"));
  return Print(absl::StrCat(ToHex(SigningKey(seed).public_key()), "\n"));
}

absl::StatusOr<CapabilityOptions> ParseCapabilityOptions(std::span<const char* const> given) {
  CapabilityOptions options;
  std::string operations = "stat,commit";
  Arguments arguments;
  arguments.Text("key", &options.key);
  arguments.Text("label", &options.label);
  arguments.Text("object", &options.object);
  arguments.Text("operations", &operations);
  arguments.Time("for", &options.lasts);
  if (absl::Status status = arguments.Parse(given); !status.ok()) return status;
  options.help = arguments.help();
  if (options.help) return options;
  if (options.key.empty()) return absl::InvalidArgumentError("--key is missing");
  if (!IsName(options.object)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--object ", Quoted(options.object), ": must have 1-128 bytes, without spaces"));
  }
  for (const absl::string_view word : absl::StrSplit(operations, ',')) {
    if (word != "stat" && word != "commit") {
      return absl::InvalidArgumentError(
          absl::StrCat("--operations ", Quoted(operations), ": must be stat, commit or both"));
    }
    options.operations |= OperationBit(word == "stat" ? Operation::kStat : Operation::kCommit);
  }
  return options;
}

int RunCapability(const CapabilityOptions& options) {
  const absl::StatusOr<SigningKey> key = ReadKeyFile(options.key);
  if (!key.ok()) return Fail("capability", std::string(key.status().message()));
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  Capability capability;
  if (!Randomize(&capability.id)) return Fail("capability", "the system gives no random bytes");
  capability.object = ObjectNamed(options.object);
  capability.operations = options.operations;
  capability.expires = WallTime(std::chrono::seconds(now.tv_sec) + options.lasts);
  return Print(absl::StrCat(options.object, " ", ToHex(SignCapability(*key, options.label, capability)), "\n"));
}

}  // namespace nekton
