// The authority's word that an object has another home than the view says: a move between two members of the view of
// its epoch. The next view supersedes it. A value; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lease/object_id.h"
#include "lease/signature.h"

namespace nekton {

struct LeaseMove {
  ObjectId object;
  std::uint64_t epoch = 0;  // of the view in which it holds
  std::string from;
  std::string to;
  Signature signature;
  friend bool operator==(const LeaseMove&, const LeaseMove&) = default;
};

LeaseMove SignMove(const SigningKey& authority, std::string_view label, LeaseMove move);
bool VerifyMove(const PublicKey& authority, std::string_view label, const LeaseMove& move);

}  // namespace nekton
