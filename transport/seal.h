// Sealing: what stands between a member and its transport so that only who has a key of the group is heard. Pure: bytes
// in, bytes out; randomness is given. The same code runs over sockets (transport/seal_transport.h) and in the simulator.
//
// A frame counts only if it opens with a key of the ring, bears the *token* that we chose at random for its sender, and
// was not seen before. Who has no token yet, or one from before a restart of either side, is *challenged*: it gets a token
// in a frame that echoes random bytes of its own, and sends again. No clock decides, so what was recorded counts at no
// later time: not here (seen), not at another member (another token), not after a restart of either (the token is gone).
//
//   A -> B  data, no token               does not count
//   B -> A  challenge: token b
//   A -> B  data, token b, offer: a      counts
//   B -> A  data, token a                counts
//
// A life of a higher generation that has proved itself voids what a lower one of the same name had; that must prove itself
// anew, too, which a recording cannot.
//
// What a member with the key can do: say anything in anybody's name, for the key is the group's. Without a key: be
// counted (SealCounter). Traffic analysis (who talks to whom, when, how much) is not hidden; nor can sealing keep anybody
// from dropping or delaying frames.
//
// Not thread-safe. Bounded: `peers_max` addresses and as many senders; who was not heard lately is forgotten first, which
// costs it a challenge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/config.h"
#include "swim/outbox.h"
#include "transport/recent_map.h"
#include "transport/seal_counters.h"
#include "transport/seal_frame.h"
#include "transport/seal_key.h"
#include "transport/seal_window.h"
#include "transport/source_tally.h"
#include "transport/transport.h"

namespace nekton {

struct SealOptions {
  std::string label;  // the cluster's
  std::string name;   // our own
  std::uint64_t generation = 1;
  Sealing mode = Sealing::kRequire;  // kAccept or kRequire
  Keyring keys;                      // not empty
  // Fills with random bytes that nobody can guess. In a simulation: with those of a seed.
  std::function<void(std::span<std::byte>)> random;
  // Told of those who are refused, in words; as often as they come. May be empty.
  std::function<void(const Address& from, std::string_view what)> on_refused = {};
  std::size_t peers_max = 16384;
};

class Seal {
 public:
  // What is below: a transport, or the simulator's network.
  class Below {
   public:
    virtual void Send(const Address& to, std::span<const std::byte> bytes) = 0;
    virtual void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) = 0;
    virtual void Reply(ExchangeId id, std::vector<std::byte> answer) = 0;

   protected:
    ~Below() = default;
  };

  explicit Seal(SealOptions options);
  Seal(const Seal&) = delete;
  Seal& operator=(const Seal&) = delete;

  // From above; the same as Transport's. An exchange may need two of those below, within its limit. A request that does not
  // fit sealed is passed on as it is too large, for the transport below to refuse.
  void Send(const Address& to, std::span<const std::byte> plain, Below& below);
  void Exchange(Instant now, ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> plain,
                Below& below);
  void Reply(ExchangeId id, std::vector<std::byte> plain, Below& below);

  // From below; `above` is told what counts.
  void OnDatagram(Instant now, const Address& from, std::span<const std::byte> bytes, Below& below,
                  Transport::Receiver& above);
  void OnRequest(Instant now, const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy,
                 Below& below, Transport::Receiver& above);
  // A status of ours: FailedPrecondition: the other side has not our key, seals nothing, or is of another cluster;
  // Unavailable: what came was no answer to our request.
  void OnAnswer(Instant now, ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes, Below& below,
                Transport::Receiver& above);

  // Keys change while it runs: add the new one everywhere, then use it everywhere, then remove the old one everywhere.
  // Until the last step everybody opens what anybody seals.
  absl::Status AddKey(const SealKey& key) { return options_.keys.Add(key); }
  absl::Status UseKey(SealKey::Id id) { return options_.keys.Use(id); }
  absl::Status RemoveKey(SealKey::Id id) { return options_.keys.Remove(id); }
  void SetKeys(Keyring keys) { options_.keys = std::move(keys); }  // not empty
  const Keyring& keys() const { return options_.keys; }
  // From accepting to requiring, once all members accept; and back.
  void SetMode(Sealing mode) { options_.mode = mode; }
  Sealing mode() const { return options_.mode; }

  const SealCounters& counters() const { return counters_; }
  const SourceTally& refused() const { return refused_; }  // whose frames did not count
  std::size_t sessions() const { return sessions_.size(); }

 private:
  // The last frames to one address: what a challenge echoes, and may ask for again.
  struct Sent {
    std::array<std::byte, kSealTokenSize> echo{};
    bool open = false;
    std::vector<std::byte> plain;
  };
  static constexpr std::size_t kSentMax = 4;
  // An address that we send to.
  struct Peer {
    std::uint64_t token = 0;  // that it gave us; 0: none yet
    std::uint64_t counter = 0;
    std::uint64_t offer = 0;  // that we give it
    bool seals = false;
    bool heard = false;  // with a token of ours
    std::uint8_t plain_until_knock = 0;
    std::uint8_t next = 0;
    std::array<Sent, kSentMax> sent;
  };
  // A token of ours that has proved its bearer.
  struct Session {
    std::uint64_t sender = 0;
    std::uint64_t generation = 0;
    ReplayWindow window;
  };
  // An exchange of ours that is under way.
  struct Open {
    Address to;
    Instant deadline{};
    bool sealed = false;
    std::uint32_t challenges = 0;
    std::array<std::byte, kSealHeaderSize> header{};
    std::vector<std::byte> plain;
  };
  using Bound = std::array<std::byte, kSealHeaderSize>;

  SealHeader Header(SealKind kind, Peer& peer);
  std::uint64_t NewToken();
  std::uint64_t OfferTo(const Address& to);
  void SendSealed(const Address& to, std::span<const std::byte> plain, std::uint8_t flags, Below& below);
  bool OpenHeader(const Address& from, std::span<const std::byte> bytes, SealHeader* header, const SealKey** key);
  void OnData(Instant now, const Address& from, const SealHeader& header, Below& below, Transport::Receiver& above);
  void OnChallenge(const Address& from, const SealHeader& header, Below& below);
  bool Proves(const SealHeader& header);
  bool MayChallenge(Instant now);
  void Challenge(Instant now, const Address& to, const SealHeader& header, Below& below);
  void ServePlain(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy, Below& below,
                  Transport::Receiver& above);
  void Begin(Instant now, ExchangeId id, Open& open, Below& below);
  void OnPlainAnswer(Instant now, ExchangeId id, std::span<const std::byte> bytes, Below& below,
                     Transport::Receiver& above);
  bool OnStreamChallenge(Instant now, ExchangeId id, Open& open, std::span<const std::byte> bytes, const SealKey& key,
                         Below& below);
  void Finish(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes, Transport::Receiver& above);
  void Refuse(SealCounter why, const Address& from, std::string_view what);
  absl::Status RefusedBy(const Address& to, SealRefusal code) const;
  void Count(SealCounter counter);

  SealOptions options_;
  const std::uint32_t label_;
  const std::uint64_t self_;
  SealCounters counters_;
  SourceTally refused_;
  Address from_;  // whose frame is in hand
  RecentMap<Address, Peer> peers_;
  RecentMap<std::uint64_t, bool> offers_;           // tokens that nobody has used yet
  RecentMap<std::uint64_t, Session> sessions_;      // by token
  RecentMap<std::uint64_t, std::uint64_t> newest_;  // highest generation that has proved itself, by sender
  std::map<ExchangeId, Open> open_;                 // of ours; as many as the transport below has
  RecentMap<ExchangeId, Bound> served_;             // requests of others that wait for our answer
  std::int64_t challenges_left_;
  Instant challenges_at_{};
  std::vector<std::byte> sealed_;  // of the frame in hand
  std::vector<std::byte> opened_;
};

}  // namespace nekton
