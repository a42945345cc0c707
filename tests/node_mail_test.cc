// Messages and requests over real sockets: three nodes.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node_fixture.h"
#include "tests/uv_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using absl::StatusCode;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using Answer = absl::StatusOr<Bytes>;

Bytes ToBytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
std::string ToText(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
std::string Text(const absl::Status& status) { return std::string(status.message()); }

// Handlers wait at it until it is opened.
class Gate {
 public:
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void Wait() {
    ++waiting;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }
  std::atomic<int> waiting = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// Where a handler puts what it answers later.
class Shelf {
 public:
  RequestHandler Handler() {
    return [this](const Message&, Responder responder) {
      const std::lock_guard lock(mutex_);
      kept_.emplace_back(std::move(responder));
    };
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return kept_.size();
  }
  Responder& operator[](std::size_t i) {
    const std::lock_guard lock(mutex_);
    return kept_.at(i);
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Responder> kept_;
};

class NodeMailTest : public testing::Test {
 protected:
  void SetUp() override { Begin({}); }
  void Begin(NodeOptions of_beta) {
    alpha_.reset();
    beta_.reset();
    gamma_.reset();
    alpha_ = MustStart(FastConfig("alpha"));
    beta_ = MustStart(FastConfig("beta", {alpha_->local().ToString()}), std::move(of_beta));
    gamma_ = MustStart(FastConfig("gamma", {alpha_->local().ToString()}));
    for (Node* node : {alpha_.get(), beta_.get(), gamma_.get()}) {
      ASSERT_TRUE(WaitFor([&] { return node->Members().Alive().size() == 3; }));
    }
  }
  static RequestHandler Echo() {
    return [](const Message& request, Responder responder) {
      EXPECT_TRUE(responder.Answer(ToBytes(request.member + ": " + ToText(request.body))).ok());
    };
  }

  // Those that began first end first. (The thread sanitizer does not see libuv close a descriptor, and takes a number that
  // is used again by a thread older than its first use for a race.)
  std::unique_ptr<Node> gamma_;
  std::unique_ptr<Node> beta_;
  std::unique_ptr<Node> alpha_;
};

TEST_F(NodeMailTest, MessagesArriveAndRequestsAreAnswered) {
  std::mutex mutex;
  std::vector<std::string> heard;
  beta_->OnMessage([&](const Message& message) {
    const std::lock_guard lock(mutex);
    heard.push_back(message.member + ": " + ToText(message.body).substr(0, 5));
  });
  beta_->OnRequest(Echo());
  EXPECT_TRUE(alpha_->SendTo("beta", ToBytes("hello")).ok());
  EXPECT_TRUE(gamma_->SendReliable("beta", ToBytes(std::string(900'000, 'x')), {.budget = 60s}).ok());
  ASSERT_TRUE(WaitFor([&] {
    const std::lock_guard lock(mutex);
    return heard.size() == 2;
  }));
  EXPECT_THAT(heard, testing::UnorderedElementsAre("alpha: hello", "gamma: xxxxx"));

  const Answer small = alpha_->Request("beta", ToBytes("what?"), {.budget = 60s});
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(ToText(*small), "alpha: what?");
  const Answer large = gamma_->Request("beta", Bytes(1'000'000), {.budget = 60s});
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(large->size(), 1'000'007u);
  EXPECT_EQ(CounterOf(*beta_, "requests_served"), 2u);
}

TEST_F(NodeMailTest, ManyAtOnceFromManyThreads) {
  beta_->OnRequest(Echo());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string text = std::to_string(t) + "/" + std::to_string(i);
        Node& node = t % 2 == 0 ? *alpha_ : *gamma_;
        const Answer answer = node.Request("beta", ToBytes(text), {.budget = 60s});
        if (answer.ok() && ToText(*answer) == (t % 2 == 0 ? "alpha: " : "gamma: ") + text) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
  EXPECT_EQ(CounterOf(*beta_, "requests_served"), 200u);
}

TEST_F(NodeMailTest, AHandlerAnswersLaterAndFromAnotherThread) {
  std::thread worker;
  beta_->OnRequest([&](const Message&, Responder responder) {
    worker = std::thread([kept = std::make_shared<Responder>(std::move(responder))] {
      EXPECT_EQ(kept->member(), "alpha");
      EXPECT_FALSE(kept->cancelled());
      EXPECT_GT(kept->remaining(), 0ns);
      EXPECT_LE(kept->remaining(), 60s);
      EXPECT_EQ(kept->Fail(absl::OkStatus()).code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(Text(kept->Answer(Bytes(kMailBytesMax + 1))), HasSubstr("at most 1048576"));
      EXPECT_TRUE(kept->Fail(absl::NotFoundError("no such row")).ok());
      EXPECT_EQ(kept->Answer({}).code(), StatusCode::kFailedPrecondition);
    });
  });
  EXPECT_EQ(alpha_->Request("beta", {}, {.budget = 60s}).status(), absl::NotFoundError("no such row"));
  worker.join();
}

TEST_F(NodeMailTest, AResponderThatIsDroppedAnswersAllTheSame) {
  beta_->OnRequest([](const Message&, Responder) {});
  EXPECT_EQ(alpha_->Request("beta", {}, {.budget = 60s}).status().code(), StatusCode::kInternal);
}

TEST_F(NodeMailTest, WithoutAHandlerTheAnswerSaysSo) {
  EXPECT_EQ(alpha_->Request("beta", {}, {.budget = 60s}).status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(alpha_->SendReliable("beta", {}, {.budget = 60s}).code(), StatusCode::kUnimplemented);
  EXPECT_TRUE(alpha_->SendTo("beta", {}).ok());
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*beta_, "node_messages_unhandled") == 1; }));
}

TEST_F(NodeMailTest, MistakesAreTypedAndTheLimitIsNamed) {
  const absl::Status over = alpha_->SendTo("beta", Bytes(1360));
  EXPECT_EQ(over.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(over), HasSubstr("most 1359"));
  EXPECT_EQ(alpha_->SendTo("nobody", {}).code(), StatusCode::kNotFound);
  EXPECT_EQ(alpha_->SendTo("alpha", {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(alpha_->Request("nobody", {}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(alpha_->SendReliable("alpha", {}).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(alpha_->SendReliable("beta", Bytes(kMailBytesMax + 1))), HasSubstr("at most 1048576"));
  EXPECT_THAT(Text(alpha_->Request("beta", {}, {.budget = 0s}).status()), HasSubstr("budget"));
  EXPECT_THAT(Text(alpha_->RequestAsync("beta", {}, {.budget = 2h}, nullptr).status()), HasSubstr("budget"));
  EXPECT_EQ(alpha_->CancelRequest(12345).code(), StatusCode::kNotFound);
  NodeOptions none;
  none.mail_queue = 0;
  EXPECT_THAT(Text(Node::Start(FastConfig("delta"), std::move(none)).status()), HasSubstr("mail_queue"));
}

TEST_F(NodeMailTest, ADeadlineReachesTheHandlerAndEndsTheRequest) {
  Shelf shelf;
  std::atomic<int> cancels = 0;
  beta_->OnRequest([&](const Message& message, Responder responder) {
    responder.OnCancel([&] { ++cancels; });
    shelf.Handler()(message, std::move(responder));
  });
  // On a slow machine it may take more than one to arrive in time.
  for (Duration budget = 100ms; shelf.size() == 0; budget *= 2) {
    ASSERT_LT(budget, 100s);
    EXPECT_EQ(alpha_->Request("beta", {}, {.budget = budget}).status().code(), StatusCode::kDeadlineExceeded);
  }
  ASSERT_EQ(shelf.size(), 1u);
  ASSERT_TRUE(WaitFor([&] { return cancels == 1; }));
  EXPECT_TRUE(shelf[0].cancelled());
  // Who asked may have said that it is over before it is over here.
  EXPECT_TRUE(WaitFor([&] { return shelf[0].remaining() == 0ns; }));
  EXPECT_EQ(shelf[0].Answer({}).code(), StatusCode::kDeadlineExceeded);
  // Who asks to be told later is told.
  shelf[0].OnCancel([&] { ++cancels; });
  EXPECT_TRUE(WaitFor([&] { return cancels == 2; }));
  shelf.Clear();
}

TEST_F(NodeMailTest, ACancellationReachesTheHandler) {
  Shelf shelf;
  std::atomic<int> cancels = 0;
  beta_->OnRequest([&](const Message& message, Responder responder) {
    responder.OnCancel([&] { ++cancels; });
    shelf.Handler()(message, std::move(responder));
  });
  std::promise<absl::Status> ended;
  const auto id = alpha_->RequestAsync("beta", {}, {.budget = 10min},
                                       [&](const Answer& answer) { ended.set_value(answer.status()); });
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(WaitFor([&] { return shelf.size() == 1; }));
  EXPECT_FALSE(shelf[0].cancelled());
  ASSERT_TRUE(alpha_->CancelRequest(*id).ok());
  EXPECT_EQ(ended.get_future().get().code(), StatusCode::kCancelled);
  ASSERT_TRUE(WaitFor([&] { return cancels == 1; }));
  EXPECT_TRUE(shelf[0].cancelled());
  EXPECT_EQ(shelf[0].Answer({}).code(), StatusCode::kCancelled);
  EXPECT_EQ(alpha_->CancelRequest(*id).code(), StatusCode::kNotFound);
  shelf.Clear();
}

// alpha asks beta, which asks gamma for it: gamma has what is left of alpha's budget, whatever beta asks for.
TEST_F(NodeMailTest, ADeadlineAndACancellationGoOnToTheNextHop) {
  Shelf at_beta;
  Shelf at_gamma;
  std::atomic<int> nested_code = -1;
  beta_->OnRequest([&](const Message& message, Responder responder) {
    const auto asked =
        beta_->RequestAsync("gamma", message.body, {.budget = 1h, .deadline_of = &responder},
                            [&](const Answer& answer) { nested_code = static_cast<int>(answer.status().code()); });
    EXPECT_TRUE(asked.ok()) << asked.status();
    at_beta.Handler()(message, std::move(responder));
  });
  gamma_->OnRequest(at_gamma.Handler());
  const auto id = alpha_->RequestAsync("beta", {}, {.budget = 10min}, nullptr);
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(WaitFor([&] { return at_gamma.size() == 1; }));
  EXPECT_LE(at_gamma[0].remaining(), 10min);
  ASSERT_TRUE(alpha_->CancelRequest(*id).ok());
  EXPECT_TRUE(WaitFor([&] { return at_gamma[0].cancelled(); }));
  EXPECT_TRUE(WaitFor([&] { return nested_code == static_cast<int>(StatusCode::kCancelled); }));
  at_beta.Clear();
  at_gamma.Clear();
}

// Field failure: a call from a callback deadlocks. What can be done there is done, what cannot says so.
TEST_F(NodeMailTest, EverythingMayBeCalledInCallbacks) {
  std::atomic<int> done = 0;
  beta_->OnRequest(Echo());
  const auto in_callback = [&] {
    EXPECT_EQ(alpha_->Members().Alive().size(), 3u);
    EXPECT_TRUE(alpha_->SendTo("beta", ToBytes("x")).ok());
    EXPECT_EQ(alpha_->Request("beta", {}).status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(alpha_->SendReliable("beta", {}).code(), StatusCode::kFailedPrecondition);
    const auto id = alpha_->RequestAsync("beta", {}, {.budget = 60s}, [&](const Answer& answer) {
      EXPECT_TRUE(answer.ok()) << answer.status();
      EXPECT_EQ(alpha_->Request("beta", {}).status().code(), StatusCode::kFailedPrecondition);
      ++done;
    });
    EXPECT_TRUE(id.ok()) << id.status();
  };
  alpha_->OnMessage([&](const Message&) {
    in_callback();
    alpha_->OnMessage(nullptr);
  });
  alpha_->OnRequest([&](const Message&, Responder responder) {
    in_callback();
    EXPECT_TRUE(responder.Answer({}).ok());
    alpha_->OnRequest(nullptr);
  });
  EXPECT_TRUE(gamma_->SendTo("alpha", {}).ok());
  EXPECT_TRUE(gamma_->Request("alpha", {}, {.budget = 60s}).ok());
  EXPECT_TRUE(WaitFor([&] { return done == 2; }));
  EXPECT_EQ(gamma_->Request("alpha", {}, {.budget = 60s}).status().code(), StatusCode::kUnimplemented);
}

// Field failure: a slow consumer blocks the protocol. Here what it cannot take is refused or counted, and nobody is
// suspected for it.
TEST_F(NodeMailTest, ASlowHandlerHoldsUpNothingButItsMessages) {
  NodeOptions options;
  options.mail_queue = 10;
  ASSERT_NO_FATAL_FAILURE(Begin(std::move(options)));
  Gate gate;
  std::atomic<int> heard = 0;
  beta_->OnMessage([&](const Message&) {
    gate.Wait();
    ++heard;
  });
  beta_->OnRequest(Echo());
  EventLog log;
  const Subscription events = alpha_->Subscribe(log.Handler());
  const std::uint64_t rounds = CounterOf(*beta_, "probe_rounds");
  ASSERT_TRUE(WaitFor([&] {  // one is in the handler
    EXPECT_TRUE(alpha_->SendTo("beta", {}).ok());
    return gate.waiting == 1;
  }));
  ASSERT_TRUE(WaitFor([&] {  // ten wait, the others are dropped
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(alpha_->SendTo("beta", {}).ok());
    return CounterOf(*beta_, "node_messages_lost") >= 2000;
  }));
  const Answer refused = alpha_->Request("beta", {}, {.budget = 60s});
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(refused.status()), HasSubstr("mail_queue"));
  EXPECT_EQ(alpha_->SendReliable("beta", {}, {.budget = 60s}).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(CounterOf(*beta_, "node_requests_refused_full"), 2u);
  ASSERT_TRUE(WaitFor([&] { return CounterOf(*beta_, "probe_rounds") > rounds + 10; }));
  EXPECT_EQ(log.Count(EventKind::kFailed, "beta"), 0u) << log.text();
  gate.Open();
  ASSERT_TRUE(WaitFor([&] { return heard >= 11; }));
  const Answer answer = alpha_->Request("beta", ToBytes("again"), {.budget = 60s});
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_F(NodeMailTest, AHandlerThatIsReplacedIsNotRunningAnyMore) {
  Gate gate;
  std::atomic<bool> replaced = false;
  beta_->OnMessage([&](const Message&) {
    gate.Wait();
    EXPECT_FALSE(replaced);
  });
  EXPECT_TRUE(alpha_->SendReliable("beta", {}, {.budget = 60s}).ok());
  ASSERT_TRUE(WaitFor([&] { return gate.waiting == 1; }));
  std::thread other([&] {
    beta_->OnMessage(nullptr);
    replaced = true;
  });
  EXPECT_FALSE(WaitFor([&] { return replaced.load(); }, 0s));
  gate.Open();
  other.join();
  EXPECT_TRUE(replaced);
}

TEST_F(NodeMailTest, ARequestToAMemberThatDiesEndsWhenThatIsKnown) {
  Shelf shelf;
  alpha_->OnRequest(shelf.Handler());
  std::promise<absl::Status> ended;
  ASSERT_TRUE(gamma_
                  ->RequestAsync("alpha", {}, {.budget = 1h},
                                 [&](const Answer& answer) {
                                   EXPECT_FALSE(
                                       Has(*gamma_, "alpha", MemberStatus::kActive));  // the snapshot knows, too
                                   ended.set_value(answer.status());
                                 })
                  .ok());
  ASSERT_TRUE(WaitFor([&] { return shelf.size() == 1; }));
  alpha_->Stop();
  EXPECT_TRUE(shelf[0].cancelled());
  EXPECT_EQ(shelf[0].Answer({}).code(), StatusCode::kCancelled);
  EXPECT_EQ(ended.get_future().get().code(), StatusCode::kUnavailable);
  EXPECT_EQ(gamma_->SendTo("alpha", {}).code(), StatusCode::kUnavailable);
  alpha_ = nullptr;
  shelf.Clear();  // they outlive their node
}

TEST_F(NodeMailTest, StopDropsWhatIsOpenAndReleasesWhoWaits) {
  Shelf shelf;
  beta_->OnRequest(shelf.Handler());
  const auto token = std::make_shared<int>(0);
  std::atomic<bool> called = false;
  ASSERT_TRUE(
      alpha_->RequestAsync("beta", {}, {.budget = 1h}, [token, &called](const Answer&) { called = true; }).ok());
  std::thread waiter(
      [&] { EXPECT_EQ(alpha_->Request("beta", {}, {.budget = 1h}).status().code(), StatusCode::kCancelled); });
  ASSERT_TRUE(WaitFor([&] { return shelf.size() == 2; }));
  alpha_->Stop();
  waiter.join();
  EXPECT_EQ(token.use_count(), 1) << "the callback is gone";
  EXPECT_FALSE(called);
  EXPECT_EQ(alpha_->SendTo("beta", {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->Request("beta", {}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->SendReliableAsync("beta", {}, {}, nullptr).status().code(), StatusCode::kFailedPrecondition);
  alpha_->OnRequest(Echo());  // without effect
  shelf.Clear();
}

TEST_F(NodeMailTest, DestroyedInItsOwnHandler) {
  std::atomic<bool> gone = false;
  alpha_->OnRequest([&](const Message&, Responder responder) {
    alpha_.reset();
    EXPECT_TRUE(responder.cancelled());
    EXPECT_FALSE(responder.Answer({}).ok());
    gone = true;
  });
  ASSERT_TRUE(gamma_->RequestAsync("alpha", {}, {.budget = 60s}, nullptr).ok());
  EXPECT_TRUE(WaitFor([&] { return gone.load(); }));
}

// While requests come and go.
TEST_F(NodeMailTest, StopsAtAnyMoment) {
  for (int i = 0; i < Storm(10); ++i) {
    ASSERT_NO_FATAL_FAILURE(Begin({}));
    const RequestHandler echo = [](const Message& request, Responder responder) {
      responder.Answer(request.body).IgnoreError();
    };
    alpha_->OnRequest(echo);
    beta_->OnRequest(echo);
    std::atomic<bool> over = false;
    std::atomic<int> asked = 0;
    std::thread to_it([&] {
      for (; !over; ++asked) gamma_->Request("alpha", ToBytes("x"), {.budget = 10ms}).IgnoreError();
    });
    std::thread by_it([&] {
      for (; !over; ++asked) alpha_->Request("beta", Bytes(asked % 2 == 0 ? 10 : 5000), {.budget = 10s}).IgnoreError();
    });
    ASSERT_TRUE(WaitFor([&] { return asked > i; }));
    alpha_->Stop();
    over = true;
    to_it.join();
    by_it.join();
  }
}

class NodeMailAttachTest : public UvTest {};

TEST_F(NodeMailAttachTest, OnTheUsersLoop) {
  auto attached = Node::Attach(&loop_, FastConfig("alpha"));
  ASSERT_TRUE(attached.ok()) << attached.status();
  std::unique_ptr<Node> alpha = *std::move(attached);
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  const auto here = std::this_thread::get_id();
  ASSERT_TRUE(RunUntil([&] { return alpha->Members().Alive().size() == 2 && beta->Members().Alive().size() == 2; }));
  EXPECT_EQ(alpha->Request("beta", {}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha->SendReliable("beta", {}).code(), StatusCode::kFailedPrecondition);

  beta->OnRequest([](const Message&, Responder responder) { EXPECT_TRUE(responder.Answer(ToBytes("y")).ok()); });
  bool answered = false;
  ASSERT_TRUE(alpha
                  ->RequestAsync("beta", {}, {.budget = 60s},
                                 [&](const Answer& answer) {
                                   EXPECT_TRUE(answer.ok()) << answer.status();
                                   EXPECT_EQ(std::this_thread::get_id(), here);
                                   answered = true;
                                 })
                  .ok());
  EXPECT_FALSE(answered) << "later, not now";
  ASSERT_TRUE(RunUntil([&] { return answered; }));

  // The other way; it is cancelled, of which a callback that is registered on another thread hears, too.
  std::optional<Responder> kept;
  int cancels = 0;
  alpha->OnRequest([&](const Message&, Responder responder) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    kept.emplace(std::move(responder));
  });
  const auto id = beta->RequestAsync("alpha", {}, {.budget = 10min}, nullptr);
  ASSERT_TRUE(RunUntil([&] { return kept.has_value(); }));
  ASSERT_TRUE(beta->CancelRequest(*id).ok());
  ASSERT_TRUE(RunUntil([&] { return kept->cancelled(); }));
  std::thread([&] { kept->OnCancel([&] { ++cancels; }); }).join();
  ASSERT_TRUE(RunUntil([&] { return cancels == 1; }));
  kept.reset();
  alpha.reset();
}

}  // namespace
}  // namespace nekton
