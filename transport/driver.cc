#include "transport/driver.h"

#include <iterator>
#include <utility>

namespace nekton {
namespace {

std::uint64_t Refused(const Counters& counters) {
  return counters[Counter::kBadShort] + counters[Counter::kBadLabel] + counters[Counter::kBadVersion] +
         counters[Counter::kBadChecksum] + counters[Counter::kBadType] + counters[Counter::kBadBody];
}

}  // namespace

Driver::Driver(Member member, Transport& transport, std::function<Tick()> clock)
    : member_(std::move(member)), transport_(transport), clock_(std::move(clock)) {}

void Driver::OnDatagram(const Address& from, std::span<const std::byte> bytes) {
  ++inputs_;
  const std::uint64_t before = Refused(member_.counters());
  member_.Receive(clock_(), from, bytes, out_);
  if (Refused(member_.counters()) != before) refused_.Add(from);
  Drain();
}

void Driver::OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) {
  ++inputs_;
  member_.Serve(clock_(), from, id, bytes, out_, busy);
  Drain();
}

void Driver::OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) {
  ++inputs_;
  member_.Answer(clock_(), id, status, bytes, out_);
  Drain();
}

void Driver::OnTrouble(const Address& about, Trouble trouble) {
  ++inputs_;
  member_.Report(clock_(), about, trouble, out_);
  Drain();
}

void Driver::Wake() {
  member_.Wake(clock_(), out_);
  Drain();
}

absl::Status Driver::Order(const Command& command) {
  absl::Status status = member_.Order(clock_(), command, out_);
  Drain();
  return status;
}

void Driver::Stored(StoreId id, const absl::Status& status) {
  member_.Stored(clock_(), id, status, out_);
  Drain();
}

void Driver::Answered(std::uint64_t id, const RegisterAnswer& answer) {
  member_.Answered(clock_(), id, answer, out_);
  Drain();
}

absl::Status Driver::Move(const ObjectId& object, std::string_view to) {
  absl::Status status = member_.Move(clock_(), object, to, out_);
  Drain();
  return status;
}

void Driver::Drain() {
  ++changes_;
  if (out_.empty()) return;
  // No callback comes from inside a call of the transport, so the outbox stays as it is meanwhile.
  for (const Outbox::Datagram& d : out_.datagrams()) transport_.Send(d.to, out_.bytes(d));
  for (Outbox::Request& r : out_.requests()) transport_.Exchange(r.id, r.to, r.limit, std::move(r.bytes));
  for (Outbox::Reply& r : out_.replies()) transport_.Reply(r.id, std::move(r.bytes));
  events_.insert(events_.end(), out_.events().begin(), out_.events().end());
  mail_.insert(mail_.end(), std::make_move_iterator(out_.mail().begin()), std::make_move_iterator(out_.mail().end()));
  stores_.insert(stores_.end(), std::make_move_iterator(out_.stores().begin()),
                 std::make_move_iterator(out_.stores().end()));
  out_.Clear();
}

void Driver::TakeEvents(std::vector<Event>& events) {
  events.insert(events.end(), std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end()));
  ClearLarge(events_);
}

void Driver::TakeMail(std::vector<Mail>& mail) {
  mail.insert(mail.end(), std::make_move_iterator(mail_.begin()), std::make_move_iterator(mail_.end()));
  ClearLarge(mail_);
}

void Driver::TakeStores(std::vector<Outbox::Store>& stores) {
  stores.insert(stores.end(), std::make_move_iterator(stores_.begin()), std::make_move_iterator(stores_.end()));
  stores_.clear();
}

void Driver::TakeEvidence(std::vector<Evidence>& evidence) {
  evidence.insert(evidence.end(), member_.evidence().begin(), member_.evidence().end());
  member_.ClearEvidence();
}

}  // namespace nekton
