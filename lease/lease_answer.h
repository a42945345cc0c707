// The authority's word on what a member asked of it: its answer to one ping or join, signed, so that nobody else can
// prolong a lease, or end one, in its name. The signature is over the group's label, who asked (name and generation), the
// question's nonce and terms, and all that the answer says. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "lease/lease_message.h"
#include "lease/lease_terms.h"
#include "lease/signature.h"

namespace nekton {

// To whom an answer is, and what was asked for.
struct AnswerTo {
  std::string_view name;
  std::uint64_t generation = 0;
  Duration write{};  // the terms that it asked with
  std::int64_t drift_ppm = 0;
};

Signature SignAnswer(const SigningKey& authority, std::string_view label, const AnswerTo& to,
                     const LeaseMessage& answer);
bool VerifyAnswer(const PublicKey& authority, std::string_view label, const AnswerTo& to, const LeaseMessage& answer);

}  // namespace nekton
