// Between the thread that drives a node and those that use it: the snapshot, the events, who waits for what.
//
// The driving thread publishes and never waits for a callback. All callbacks of a node (handlers, log sink,
// completions) come from one dispatcher at a time: a thread that sits in Run(), or Dispatch() on the user's loop.
// All functions are thread-safe unless they say otherwise.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phi/time.h"
#include "swim/event.h"
#include "transport/log.h"
#include "transport/members_view.h"
#include "transport/subscription.h"

namespace nekton {

class Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  using Completion = std::function<void(const absl::Status&)>;

  struct Options {
    std::size_t bound = 0;  // events that may wait; 0: any number (Dispatch() empties the queue every turn)
    LogSink log;            // may be empty
    // WaitJoined waits for so many members that are ACTIVE, self included; 0: for another one that is ACTIVE or SUSPECT.
    std::uint32_t expect = 0;
    std::size_t completions = 8192;  // TakePlace() has so many
  };
  // Given back when the last copy of it dies.
  using Place = std::shared_ptr<void>;
  struct Losses {
    std::uint64_t events = 0;  // replaced by a kResync
    std::uint64_t resyncs = 0;
    std::uint64_t lines = 0;  // of the log
  };
  static constexpr std::size_t kLinesMax = 256;  // of the log that may wait
  static constexpr std::size_t kCompletionsMax = 1024;
  static constexpr std::size_t kJoinResultsMax = 64;  // remembered for WaitJoined's error

  explicit Delivery(Options options);

  // For the driving thread. The snapshot is swapped and the events are queued in one step. Empties `events`.
  void Publish(const MembersView* view, std::vector<Event>& events);
  void Log(LogLevel level, std::string line);
  void LeaveEnded(const absl::Status& status);  // the first call counts
  void Post(std::function<void()> completion);  // called after the events that were published before

  // What bounds completions: who promises one takes a place for it, and lets it go when it was called or is dropped. So
  // none is lost, and a call that would be one too many is refused: ResourceExhausted.
  absl::StatusOr<Place> TakePlace();

  // The dispatcher. Run() returns after Stop(). Dispatch() calls what is waiting and returns; who changes something
  // that it is to tell, on another thread than the loop's, sees to it that the loop takes a turn.
  void Run();
  void Dispatch();
  void DispatchHere();  // this thread is the dispatcher, until another dispatches
  bool OnDispatcher() const;

  // No callback begins after this; waits for the one that runs, unless it is the caller's own. Waiters are released.
  void Stop();
  bool stopped() const;

  MembersView view() const;
  Losses losses() const;
  Subscription Subscribe(EventHandler handler, SubscribeFrom from);  // null: nobody subscribes
  // `done` is called once the leave has ended. ResourceExhausted at kCompletionsMax; FailedPrecondition if stopped.
  absl::Status OnLeft(Completion done);
  // Both block: not for the dispatcher. Cancelled if stopped meanwhile; DeadlineExceeded.
  absl::Status WaitLeft(Duration timeout);
  absl::Status WaitJoined(Duration timeout);

 private:
  friend class Subscription;
  struct Subscriber {
    std::uint64_t id = 0;
    EventHandler handler;
    std::uint64_t after = 0;              // hears events with a higher number
    std::optional<MembersView> snapshot;  // to be told first
    bool cancelled = false;
  };
  struct Line {
    LogLevel level = LogLevel::kInfo;
    std::string text;
  };
  using Lock = std::unique_lock<std::mutex>;

  void Cancel(std::uint64_t id);
  std::function<void()> Leaver(Completion done);
  bool Pending() const;
  bool Next(Lock& lock);
  void Tell(Lock& lock, const std::shared_ptr<Subscriber>& subscriber, const Event& event);
  void TellSnapshot(Lock& lock, const std::shared_ptr<Subscriber>& subscriber);
  void TellEvent(Lock& lock);
  template <typename Call>
  void Outside(Lock& lock, std::uint64_t subscriber, Call call);
  template <typename Users>
  static void Free(Lock& lock, Users& users);
  void Queue(std::vector<Event>& events);
  void Remember(const Event& event);
  bool Joined() const;
  std::string JoinFailure(Duration timeout) const;

  const Options options_;
  // Of its own, as places may outlive us.
  const std::shared_ptr<std::atomic<std::size_t>> places_ = std::make_shared<std::atomic<std::size_t>>(0);
  mutable std::mutex mutex_;
  std::condition_variable work_;     // for Run()
  std::condition_variable idle_;     // a callback has returned
  std::condition_variable changed_;  // for the waiters
  bool stopped_ = false;
  MembersView view_;
  std::deque<Event> events_;
  std::uint64_t last_event_ = 0;  // number of the newest one
  std::deque<Line> lines_;
  std::deque<std::function<void()>> ready_;  // completions to be called
  std::vector<Completion> on_left_;          // those that wait for left_
  std::size_t leavers_ = 0;                  // the same, and those in ready_ that will be told
  std::optional<absl::Status> left_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
  std::uint64_t next_subscriber_ = 1;
  std::vector<std::pair<std::string, std::string>> join_results_;  // by address or seed, the newest last
  Losses losses_;
  // What runs now: the thread, and the subscriber whose handler it is (0: another callback).
  std::thread::id running_on_;
  std::uint64_t running_for_ = 0;
  std::thread::id dispatcher_;  // the thread that dispatches, or did last
};

}  // namespace nekton
