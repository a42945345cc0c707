#include "transport/hub.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/message.h"

namespace nekton {
namespace {

constexpr std::size_t kOpenMax = 1024;  // exchanges of one transport

}  // namespace

bool Hub::State::Post(const Address& to, Item item) {
  const auto found = endpoints.find(to);
  const bool datagram = item.what == What::kDatagram;
  if (found == endpoints.end() || (datagram && found->second.datagrams >= kInboxMax)) {
    dropped += datagram ? 1 : 0;
    return false;
  }
  found->second.datagrams += datagram ? 1 : 0;
  found->second.inbox.push_back(std::move(item));
  if (found->second.wake) found->second.wake();
  return true;
}

absl::StatusOr<std::unique_ptr<HubTransport>> Hub::Attach(Address bind, std::function<void()> wake,
                                                          std::function<Instant()> clock) {
  if (bind.is_unspecified()) bind = Address::V4(127, 0, 0, 1, bind.port);
  const std::lock_guard lock(state_->mutex);
  if (bind.port == 0) {
    do {
      bind.port = ++state_->next_port;
    } while (bind.port == 0 || state_->endpoints.contains(bind));
  }
  if (state_->endpoints.contains(bind)) {
    return absl::AlreadyExistsError(absl::StrCat("address in use: ", bind.ToString()));
  }
  state_->endpoints[bind].wake = wake;
  return std::unique_ptr<HubTransport>(new HubTransport(state_, bind, std::move(wake), std::move(clock)));
}

std::uint64_t Hub::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

HubTransport::~HubTransport() { Detach(); }

void HubTransport::Open(Receiver* receiver) {
  if (!closed_) receiver_ = receiver;
}

void HubTransport::Send(const Address& to, std::span<const std::byte> bytes) {
  if (closed_) return;
  if (bytes.size() > mtu()) {
    Hub::Item trouble{Hub::What::kTrouble, to, static_cast<ExchangeId>(Trouble::kTooBig), {}, {}};
    return Later(std::move(trouble));
  }
  const std::lock_guard lock(state_->mutex);
  state_->Post(to, {Hub::What::kDatagram, local_, 0, {}, {bytes.begin(), bytes.end()}});
}

// To ourselves, for the next turn: no callback comes from inside a call.
void HubTransport::Later(Hub::Item item) {
  const std::lock_guard lock(state_->mutex);
  state_->Post(local_, std::move(item));
}

void HubTransport::Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) {
  if (closed_) return;
  const auto fail = [&](absl::Status status) {
    open_[id] = kNever;
    Later({Hub::What::kAnswer, to, id, std::move(status), {}});
  };
  if (open_.size() >= kOpenMax) {
    return fail(absl::ResourceExhaustedError(absl::StrCat("more than ", kOpenMax, " exchanges")));
  }
  if (request.empty() || request.size() > kSyncBytesMax) {
    return fail(absl::ResourceExhaustedError(
        absl::StrCat("a request of ", request.size(), " bytes; allowed are 1 to ", kSyncBytesMax)));
  }
  bool there = false;
  {
    const std::lock_guard lock(state_->mutex);
    const ExchangeId ticket = state_->next++;
    there = state_->Post(to, {Hub::What::kRequest, local_, ticket, {}, std::move(request)});
    if (there) state_->asked[ticket] = {local_, to, id};
  }
  if (there) {
    open_[id] = clock_() + std::max(limit, Duration::zero());
    if (wake_) wake_();  // NextTurn() may have changed
    return;
  }
  Later({Hub::What::kTrouble, to, static_cast<ExchangeId>(Trouble::kRefused), {}, {}});
  fail(absl::UnavailableError(absl::StrCat(to.ToString(), ": connection refused")));
}

void HubTransport::Reply(ExchangeId id, std::vector<std::byte> answer) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->asked.find(id);
  if (found == state_->asked.end() || found->second.server != local_) return;
  const Hub::Asked asked = found->second;
  state_->asked.erase(found);
  absl::Status status;
  if (answer.empty() || answer.size() > kSyncBytesMax) {
    status = absl::UnavailableError(absl::StrCat(local_.ToString(), ": closed without an answer"));
    answer.clear();
  }
  state_->Post(asked.client, {Hub::What::kAnswer, local_, asked.id, std::move(status), std::move(answer)});
}

void HubTransport::Turn() {
  if (closed_) {
    if (const auto done = std::exchange(done_, {})) done();
    return;
  }
  if (receiver_ == nullptr) return;
  std::deque<Hub::Item> items;
  {
    const std::lock_guard lock(state_->mutex);
    Hub::Endpoint& own = state_->endpoints[local_];
    items.swap(own.inbox);
    own.datagrams = 0;
  }
  for (Hub::Item& item : items) {
    Hand(item);
    if (closed_) return;
  }
  const Instant now = clock_();
  for (;;) {
    const auto late = std::find_if(open_.begin(), open_.end(), [now](const auto& o) { return o.second <= now; });
    if (late == open_.end() || closed_) return;
    const ExchangeId id = late->first;
    open_.erase(late);
    receiver_->OnAnswer(id, absl::DeadlineExceededError("no answer in time"), {});
  }
}

void HubTransport::Hand(Hub::Item& item) {
  switch (item.what) {
    case Hub::What::kDatagram:
      return receiver_->OnDatagram(item.from, item.bytes);
    case Hub::What::kRequest:
      return receiver_->OnRequest(item.from, item.id, item.bytes, false);
    case Hub::What::kTrouble:
      return receiver_->OnTrouble(item.from, static_cast<Trouble>(item.id));
    case Hub::What::kAnswer:
      if (open_.erase(item.id) != 0) receiver_->OnAnswer(item.id, item.status, item.bytes);
      return;
  }
}

Instant HubTransport::NextTurn() const {
  Instant next = kNever;
  for (const auto& [id, overdue] : open_) next = std::min(next, overdue);
  return next;
}

void HubTransport::Close(std::function<void()> done) {
  if (closed_) return;
  Detach();
  done_ = std::move(done);
  if (wake_) wake_();
}

// Who waits for our answer hears that there will be none.
void HubTransport::Detach() {
  if (std::exchange(closed_, true)) return;
  receiver_ = nullptr;
  const std::lock_guard lock(state_->mutex);
  for (auto it = state_->asked.begin(); it != state_->asked.end();) {
    if (it->second.server == local_) {
      const Hub::Asked asked = it->second;
      const absl::Status status = absl::UnavailableError(absl::StrCat(local_.ToString(), ": connection reset"));
      state_->Post(asked.client, {Hub::What::kAnswer, local_, asked.id, status, {}});
    }
    it = it->second.server == local_ || it->second.client == local_ ? state_->asked.erase(it) : std::next(it);
  }
  state_->endpoints.erase(local_);
}

}  // namespace nekton
