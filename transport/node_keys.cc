// The keys that seal a node's frames, changed while it runs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/node_impl.h"

namespace nekton {
namespace {

absl::Status Unsealed() { return absl::FailedPreconditionError("sealing = off: this node has no keys"); }

// Changes the ring and, where it is kept in a file, the file: both or none.
absl::Status ChangeKeys(NodeCore& core, const std::function<absl::Status(Keyring&)>& change) {
  if (core.seal() == nullptr) return Unsealed();
  Seal& seal = core.seal()->seal();
  Keyring ring = seal.keys();
  if (absl::Status status = change(ring); !status.ok()) return status;
  if (const std::string& path = core.config().key_file; !path.empty()) {
    if (absl::Status status = SaveKeyring(path, ring); !status.ok()) return status;
  }
  seal.SetKeys(std::move(ring));
  return absl::OkStatus();
}

}  // namespace

absl::Status Node::Impl::ChangeRing(std::string_view what, Duration timeout,
                                    std::function<absl::Status(Keyring&)> change) {
  const auto result = std::make_shared<absl::Status>();
  const absl::Status asked = Ask(what, timeout, [result, change = std::move(change), raw = core.get()](Driver&) {
    *result = ChangeKeys(*raw, change);
  });
  return asked.ok() ? *result : asked;
}

absl::Status Node::AddKey(const SealKey& key, Duration timeout) {
  return impl_->ChangeRing("AddKey()", timeout, [key](Keyring& ring) { return ring.Add(key); });
}

absl::Status Node::UseKey(SealKey::Id id, Duration timeout) {
  return impl_->ChangeRing("UseKey()", timeout, [id](Keyring& ring) { return ring.Use(id); });
}

absl::Status Node::RemoveKey(SealKey::Id id, Duration timeout) {
  return impl_->ChangeRing("RemoveKey()", timeout, [id](Keyring& ring) { return ring.Remove(id); });
}

absl::Status Node::AddKeyAsync(const SealKey& key, std::function<void(const absl::Status&)> done) {
  return impl_->AskAsync(std::move(done), [key, raw = impl_->core.get()](Driver&) {
    return ChangeKeys(*raw, [&key](Keyring& ring) { return ring.Add(key); });
  });
}

absl::Status Node::UseKeyAsync(SealKey::Id id, std::function<void(const absl::Status&)> done) {
  return impl_->AskAsync(std::move(done), [id, raw = impl_->core.get()](Driver&) {
    return ChangeKeys(*raw, [id](Keyring& ring) { return ring.Use(id); });
  });
}

absl::Status Node::RemoveKeyAsync(SealKey::Id id, std::function<void(const absl::Status&)> done) {
  return impl_->AskAsync(std::move(done), [id, raw = impl_->core.get()](Driver&) {
    return ChangeKeys(*raw, [id](Keyring& ring) { return ring.Remove(id); });
  });
}

absl::Status Node::KeysAsync(std::function<void(const absl::StatusOr<std::vector<SealKey::Id>>&)> done) {
  using Ids = absl::StatusOr<std::vector<SealKey::Id>>;
  return impl_->AskAsync<Ids>(std::move(done), [raw = impl_->core.get()](Driver&) -> Ids {
    if (raw->seal() == nullptr) return Unsealed();
    return raw->seal()->seal().keys().ids();
  });
}

absl::StatusOr<std::vector<SealKey::Id>> Node::Keys(Duration timeout) {
  const auto result = std::make_shared<absl::StatusOr<std::vector<SealKey::Id>>>(Unsealed());
  const absl::Status asked = impl_->Ask("Keys()", timeout, [result, raw = impl_->core.get()](Driver&) {
    if (raw->seal() != nullptr) *result = raw->seal()->seal().keys().ids();
  });
  if (!asked.ok()) return asked;
  return *result;
}

absl::Status Node::SetSealing(Sealing mode, Duration timeout) {
  if (mode != Sealing::kAccept && mode != Sealing::kRequire) {
    return absl::InvalidArgumentError("sealing: a node that runs goes from accept to require, and back");
  }
  const auto result = std::make_shared<absl::Status>(Unsealed());
  const absl::Status asked = impl_->Ask("SetSealing()", timeout, [result, mode, raw = impl_->core.get()](Driver&) {
    if (raw->seal() == nullptr) return;
    raw->seal()->seal().SetMode(mode);
    *result = absl::OkStatus();
  });
  return asked.ok() ? *result : asked;
}

}  // namespace nekton
