// Keyrings in files.
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "transport/seal_key.h"

namespace nekton {
namespace {

constexpr std::size_t kFileMax = 65536;

absl::Status FileError(std::string_view what, const std::string& path, int error) {
  const std::string text = absl::StrCat("key file ", path, ": cannot ", absl::string_view(what.data(), what.size()),
                                        " it: ", std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::FailedPreconditionError(text);
}

bool WriteAll(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return fsync(fd) == 0;
}

}  // namespace

absl::StatusOr<Keyring> LoadKeyring(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError("open", path, errno);
  const absl::Cleanup closer = [fd] { close(fd); };
  struct stat about {};
  if (fstat(fd, &about) != 0) return FileError("look at", path, errno);
  if (!S_ISREG(about.st_mode)) return absl::FailedPreconditionError(absl::StrCat("key file ", path, ": is no file"));
  if ((about.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("key file ", path, ": others than its owner may read or write it; chmod 600"));
  }
  std::string text(kFileMax + 1, '\0');
  const absl::Cleanup wiper = [&text] { sodium_memzero(text.data(), text.size()); };
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kFileMax) {
    return absl::InvalidArgumentError(absl::StrCat("key file ", path, ": is larger than ", kFileMax, " bytes"));
  }
  absl::StatusOr<Keyring> ring = ParseKeyring(std::string_view(text).substr(0, size));
  if (ring.ok()) return ring;
  return absl::InvalidArgumentError(absl::StrCat("key file ", path, ": ", ring.status().message()));
}

absl::Status SaveKeyring(const std::string& path, const Keyring& ring) {
  std::string text;
  text.reserve(128 + Keyring::kMax * (2 * SealKey::kSize + 1));  // so that no copy is left behind
  const absl::Cleanup wiper = [&text] { sodium_memzero(text.data(), text.capacity()); };
  text = "# Keys of a nekton group, one a line; the first seals, all open.\n";
  for (const SealKey& key : ring.keys()) {
    std::string hex = key.ToHex();
    text += hex;
    text += '\n';
    sodium_memzero(hex.data(), hex.size());
  }
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);  // mode 600
  if (fd < 0) return FileError("write", path, errno);
  const bool written = WriteAll(fd, text);
  int error = written ? 0 : errno;
  close(fd);
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(temporary.c_str());
  return FileError("write", path, error);
}

}  // namespace nekton
