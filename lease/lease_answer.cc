#include "lease/lease_answer.h"

#include <vector>

#include "swim/bytes.h"

namespace nekton {
namespace {

constexpr std::string_view kKind = "lease answer";

std::vector<std::byte> Statement(std::string_view label, const AnswerTo& to, const LeaseMessage& answer) {
  std::size_t size = 6 * 8 + 1;
  for (const std::string_view text : {label, to.name, std::string_view(answer.text)}) {
    size += VarintSize(text.size()) + text.size();
  }
  std::vector<std::byte> bytes(size);
  ByteWriter writer(bytes.data());
  for (const std::string_view text : {label, to.name, std::string_view(answer.text)}) {
    writer.Varint(text.size());
    writer.Text(text);
  }
  writer.Fixed(to.generation);
  writer.Fixed(static_cast<std::uint64_t>(to.write.count()));
  writer.Fixed(static_cast<std::uint64_t>(to.drift_ppm));
  writer.Fixed(answer.nonce);
  writer.Fixed(answer.epoch);
  writer.Fixed(answer.settled);
  writer.Fixed(static_cast<std::uint8_t>(answer.result));
  return bytes;
}

}  // namespace

Signature SignAnswer(const SigningKey& authority, std::string_view label, const AnswerTo& to,
                     const LeaseMessage& answer) {
  return authority.Sign(kKind, Statement(label, to, answer));
}

bool VerifyAnswer(const PublicKey& authority, std::string_view label, const AnswerTo& to, const LeaseMessage& answer) {
  return Verify(authority, kKind, Statement(label, to, answer), answer.signature);
}

}  // namespace nekton
