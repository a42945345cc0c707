// Our own tags, changed while we run. They travel with our row, so what spreads them is what spreads news of members.
#include <map>
#include <string>
#include <utility>

#include "swim/engine_impl.h"
#include "swim/tags.h"

namespace nekton {

absl::Status Engine::Impl::TakeTag(Outbox& out, const SetTag& order) {
  std::map<std::string, std::string> tags = OwnTags();
  tags[order.key] = order.value;
  return TakeTags(out, std::move(tags));
}

absl::Status Engine::Impl::TakeTag(Outbox& out, const EraseTag& order) {
  std::map<std::string, std::string> tags = OwnTags();
  tags.erase(order.key);
  return TakeTags(out, std::move(tags));
}

std::map<std::string, std::string> Engine::Impl::OwnTags() const {
  return *DecodeTags(table_[kSelf].who->tags);  // we encoded them
}

absl::Status Engine::Impl::TakeTags(Outbox& out, std::map<std::string, std::string> tags) {
  if (phase_ == Phase::kLeaving) return absl::FailedPreconditionError("the member is leaving");
  Config check = config_;  // sound, so that the mistakes are those of these tags
  check.tags = std::move(tags);
  if (absl::Status status = check.Validate(); !status.ok()) return status;
  const std::string encoded = *EncodeTags(check.tags);
  const Row& self = table_[kSelf];
  if (encoded == self.who->tags) return absl::OkStatus();
  table_.SetDetails(kSelf, encoded, kProtocolVersion, kProtocolVersion);
  if (!OnProbation()) {  // else it would be a refutation; the one that ends the wait will tell it
    table_.SetKey(kSelf, {self.key.generation, self.key.incarnation + 1});
    news_.Put(kSelf);
  }
  Emit(out, EventKind::kUpdated, kSelf, MemberStatus::kActive, {});
  return absl::OkStatus();
}

}  // namespace nekton
