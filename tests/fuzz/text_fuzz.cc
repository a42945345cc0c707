// Any text where a user writes one: addresses, seeds, names, labels, tags, key files. Taken, or refused in words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "swim/address.h"
#include "swim/config.h"
#include "transport/seal_key.h"

namespace {

using namespace nekton;

void Require(bool condition) {
  if (!condition) std::abort();
}

// What a message repeats of a text must be fit to print.
void RequirePrintable(absl::string_view text) {
  for (const char c : text) Require(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
}

void CheckAddress(std::string_view text) {
  for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{7946}}) {
    const auto address = Address::Parse(text, port);
    if (!address.ok()) {
      Require(!address.status().message().empty());
      RequirePrintable(address.status().message());
      continue;
    }
    const auto again = Address::Parse(address->ToString());
    Require(again.ok() && *again == *address);
  }
}

void CheckConfig(std::string_view text) {
  std::vector<std::string> parts(8);
  std::size_t part = 0;
  for (const char c : text) {
    if (c == '\n') {
      part = (part + 1) % parts.size();
    } else {
      parts[part] += c;
    }
  }
  Config config = text.size() % 2 == 0 ? Config::Lan() : Config::Mesh();
  config.name = parts[0];
  config.bind = parts[1];
  config.advertise = parts[2];
  config.seeds = {parts[3], parts[4]};
  config.label = parts[5];
  config.tags = {{parts[6], parts[7]}};
  config.key_file = parts[7];
  config.sealing = text.size() % 3 == 0 ? Sealing::kOff : Sealing::kRequire;
  const absl::Status status = config.Validate();
  Require(status.ok() || !status.message().empty());
  RequirePrintable(status.message());
}

void CheckKeys(std::string_view text) {
  const auto ring = ParseKeyring(text);
  if (!ring.ok()) {
    Require(!ring.status().message().empty());
    return RequirePrintable(ring.status().message());
  }
  Require(!ring->empty() && ring->keys().size() <= Keyring::kMax);
  std::string written;
  for (const SealKey& key : ring->keys()) written += key.ToHex() + '\n';
  const auto again = ParseKeyring(written);
  Require(again.ok() && again->ids() == ring->ids());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckAddress(text);
  CheckConfig(text);
  CheckKeys(text);
  (void)ParseKeyId(text).ok();
  return 0;
}
