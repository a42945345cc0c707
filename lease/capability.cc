#include "lease/capability.h"

#include <vector>

#include "swim/bytes.h"

namespace nekton {
namespace {

constexpr std::string_view kKind = "capability";

std::vector<std::byte> Statement(std::string_view label, const Capability& capability) {
  std::vector<std::byte> bytes(VarintSize(label.size()) + label.size() + capability.id.size() +
                               capability.object.bytes.size() + 1 + 8);
  ByteWriter writer(bytes.data());
  writer.Varint(label.size());
  writer.Text(label);
  writer.Bytes(capability.id.data(), capability.id.size());
  writer.Bytes(capability.object.bytes.data(), capability.object.bytes.size());
  writer.Fixed(capability.operations);
  writer.Fixed(static_cast<std::uint64_t>(capability.expires.time_since_epoch().count()));
  return bytes;
}

}  // namespace

std::string_view Name(Operation operation) { return operation == Operation::kStat ? "stat" : "commit"; }

Capability SignCapability(const SigningKey& authority, std::string_view label, Capability capability) {
  capability.signature = authority.Sign(kKind, Statement(label, capability));
  return capability;
}

absl::Status Check(const Capability& capability, const PublicKey& authority, std::string_view label,
                   const ObjectId& object, Operation operation, WallTime now) {
  if (!Verify(authority, kKind, Statement(label, capability), capability.signature)) {
    return absl::PermissionDeniedError("capability: the authority did not sign it");
  }
  if (capability.object != object) return absl::PermissionDeniedError("capability: it is for another object");
  if (!capability.Allows(operation)) return absl::PermissionDeniedError("capability: it does not allow this operation");
  if (now > capability.expires) return absl::PermissionDeniedError("capability: it has expired");
  return absl::OkStatus();
}

}  // namespace nekton
