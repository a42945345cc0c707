// Views, homes and leases of one member, above its failure detector: what it holds, asks of the authority, serves and
// refuses; and the authority itself where this member is it.
//
// - It installs the views of the authority alone: signed by it, of a higher epoch. Their heads come by an inner broadcast, by
//   pings and their answers; it fetches the view from the authority, or, where that does not answer, from another member:
//   as the difference from the view that it holds, where the other remembers that one (lease/view_history.h).
// - While it is in no view it asks to join one, and what is alive in SWIM owns nothing until it does. In one it pings the
//   authority every third of a write lease, and more often while it has no answer.
// - The authority is lost when the failure detector says so, or when the write lease has run out unrenewed: a member that
//   probes and hears nobody at all believes for long that it is deaf. It is there again with the first renewal after that.
//   Without it no commit passes, no epoch rises and no home moves here.
//
// Where the authority is one of several candidates (lease/candidacy.h) it is none by itself: Seat() makes it one, and whatever
// ends its mandate makes it a member as all others. Members ask the one that they believe in; who does not answer, or is
// dead, is followed by the next candidate that is alive, and whoever answers is it.
//
// Pure, as the engine (swim/engine.h): time and messages in, LeaseOutput out. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lease/evidence.h"
#include "lease/home_leases.h"
#include "lease/lease_config.h"
#include "lease/lease_counters.h"
#include "lease/lease_message.h"
#include "lease/lease_output.h"
#include "lease/lease_peers.h"
#include "lease/mandate.h"
#include "lease/object_gate.h"
#include "lease/route_cache.h"
#include "lease/view.h"
#include "lease/view_history.h"
#include "lease/view_root.h"
#include "phi/time.h"
#include "swim/config.h"
#include "swim/event.h"
#include "swim/mail.h"
#include "swim/random.h"

namespace nekton {

class LeaseRoom {
 public:
  static constexpr Duration kTickEvery = std::chrono::seconds(1);  // its clocks are read (lease/lease_clock.h)
  static constexpr Duration kFetchBudget = std::chrono::seconds(2);
  static constexpr Duration kFetchAgain = std::chrono::milliseconds(200);
  static constexpr Duration kFetchAgainMax = std::chrono::seconds(5);
  static constexpr Duration kSayAgain = std::chrono::seconds(1);

  // `config`: with name and generation, sound (ProblemsOf). `stored`: what the authority's store holds; of others nothing is
  // needed.
  LeaseRoom(const LeaseConfig& leases, const Config& config, const Address& self, View stored);
  LeaseRoom(const LeaseRoom&) = delete;
  LeaseRoom& operator=(const LeaseRoom&) = delete;

  // First. DataLoss: the stored view is none of this authority and group.
  absl::Status Begin(const Tick& now, LeaseOutput& out);
  // Inner mail of other members, and how our own requests ended.
  void Hear(const Tick& now, const Mail& mail, LeasePeers peers, LeaseOutput& out);
  void HearHead(const Tick& now, std::string_view bytes, LeasePeers peers, LeaseOutput& out);
  // What the failure detector told its user, for the evidence.
  void HearEvent(const Event& event, LeaseOutput& out);
  void Stored(const Tick& now, std::uint64_t epoch, const absl::Status& status, LeasePeers peers, LeaseOutput& out);
  // After each input. `version` is that of the table which `peers` shows.
  void Turn(const Tick& now, LeasePeers peers, std::uint64_t version, LeaseOutput& out);
  Instant NextWake() const { return wake_; }
  // The head could not be said; it is said later.
  void NotSaid(const Tick& now);
  // We took a higher generation, since another life of our name was known: what this life had ends, and it joins anew.
  void NewLife(const Tick& now, std::uint64_t generation);
  // We leave, were displaced or expelled: all leases end, and nothing more is asked for.
  void End();
  bool over() const { return over_; }

  // --- of a candidate (lease_room_seat.cc)
  // It is the authority now, and goes on from this view. DataLoss: it is none of this authority and group;
  // FailedPrecondition: after End().
  absl::Status Seat(const Tick& now, Mandate mandate, const View& view, LeaseOutput& out);
  void Unseat(const Tick& now, LeaseOutput& out);  // and now no longer; if it is none: nothing
  // Unseat() if its mandate does not stand now. Before every other input of the same instant.
  void CheckMandate(const Tick& now, LeaseOutput& out);
  bool HasMandate(const Tick& now) const { return mandate_.has_value() && mandate_->Stands(now); }
  // The register says that it is this one.
  void Believe(const Tick& now, std::string_view name);

  // --- what is held
  const View& view() const { return view_; }  // epoch 0: none yet
  std::uint64_t generation() const { return self_.generation; }
  const Homes& homes() const { return leases_.homes(); }
  const HomeLeases& leases() const { return leases_; }
  bool current() const { return leases_.authority(); }  // the authority is there
  AuthorityEvidence Standing(const Tick& now) const;
  const LeaseCounters& counters() const { return counters_; }
  CountersEvidence Totals() const;
  const ViewRoot* root() const { return root_.get(); }         // null: this member is not the authority
  const std::string& authority() const { return authority_; }  // whom it asks; of candidates the one it believes in

  // --- what is done with it
  Route Find(const ObjectId& object) { return routes_.Find(object); }
  bool Redirect(const ObjectId& object, std::string_view home, std::uint64_t home_epoch) {
    return routes_.Redirect(object, home, home_epoch);
  }
  const RouteCache& routes() const { return routes_; }
  // What is to be done with a request for an object (lease/object_gate.h), and how one that was to be served ended.
  Decision Decide(const Tick& now, const ObjectRequest& request);
  void Served(const ObjectRequest& request, std::span<const std::byte> answer) { gate_.Served(request, answer); }
  const GateCounters& gate_counters() const { return gate_.counters(); }
  // Authority::Move; FailedPrecondition: this member is not the authority.
  absl::Status Move(const Tick& now, const ObjectId& object, std::string_view to, LeaseOutput& out);

 private:
  struct OpenPing {
    std::uint64_t nonce = 0;
    Duration stamp{};
  };
  static constexpr std::size_t kPingsMax = 16;  // open ones; beyond, the oldest are forgotten

  static constexpr std::uint32_t kSilentMax = 2;  // questions to a candidate before the next one is asked

  bool InView() const;
  bool IsThere(std::string_view name, LeasePeers peers) const;
  std::string NextCandidate(LeasePeers peers) const;
  void Send(std::string_view to, const LeaseMessage& message, LeaseOutput& out);
  void Note(const Tick& now, Evidence::What what, LeaseOutput& out) {
    out.evidence.push_back({now.boot, std::move(what)});
  }
  void Ask(const Tick& now, LeasePeers peers, LeaseOutput& out);
  void Fetch(const Tick& now, LeasePeers peers, LeaseOutput& out);
  std::string FetchFrom(LeasePeers peers);
  void Want(const Tick& now, std::uint64_t epoch);
  void OnAnswer(const Tick& now, std::string_view from, const LeaseMessage& answer, LeaseOutput& out);
  void OnQuestion(const Tick& now, const Mail& mail, const LeaseMessage& question, LeasePeers peers, LeaseOutput& out);
  void OnMove(const Tick& now, const LeaseMove& move, LeaseOutput& out);
  std::vector<std::byte> Fetched(const LeaseMessage& question) const;
  void OnFetched(const Tick& now, const Mail& mail, LeaseOutput& out);
  void TakeHead(const Tick& now, const ViewHead& head, LeaseOutput& out);
  void Refuse(const Tick& now, RefusedViewEvidence::Reason reason, const ViewHead& head, LeaseOutput& out);
  void Install(const Tick& now, const View& view, LeaseOutput& out);
  void NoticeContact(const Tick& now, LeasePeers peers, LeaseOutput& out);
  void SetContact(const Tick& now, bool current, LeaseOutput& out);
  void Obey(const Tick& now, AuthorityOutput& authority, LeaseOutput& out);
  void Deliver(const Tick& now, const LeaseMove& move, LeaseOutput& out);
  void NoticeStore(const Tick& now, const ViewHead& seen, LeaseOutput& out);
  void Reschedule(const Tick& now);

  const LeaseConfig config_;
  const std::string label_;
  ViewMember self_;
  const Duration say_every_;  // before what was said is forgotten
  View stored_;
  View view_;
  ViewHistory history_;
  HomeLeases leases_;
  RouteCache routes_;
  ObjectGate gate_;
  std::string authority_;
  std::string answered_by_;  // the last that renewed our leases
  std::unique_ptr<ViewRoot> root_;
  std::optional<Mandate> mandate_;  // of a candidate that is it
  std::uint32_t silent_ = 0;        // questions that the candidate has not answered
  LeaseCounters counters_;
  Random random_;

  bool over_ = false;
  std::uint64_t version_ = ~std::uint64_t{0};  // of the table at the last turn
  bool alive_ = false;                         // the authority, by the table
  bool contact_lost_ = false;                  // and told so
  std::deque<OpenPing> pings_;
  Instant next_ask_ = Instant::min();
  bool answered_ = true;      // the last one
  bool asked_ = false;        // to join, and told so
  std::string refused_;       // why, when last told
  std::uint64_t wanted_ = 0;  // the highest epoch heard of
  std::uint64_t last_request_ = kInnerRequests;
  std::uint64_t fetching_ = 0;  // the id of the request under way; 0: none
  std::uint32_t fetch_failures_ = 0;
  bool fetch_whole_ = false;  // a difference was refused
  Instant next_fetch_ = Instant::min();
  Instant next_say_ = kNever;
  Instant next_tick_ = Instant::min();
  std::optional<ViewHead> refused_head_;  // that was told last
  std::optional<Verdict> last_replay_;
  Instant wake_ = Instant::min();
};

}  // namespace nekton
