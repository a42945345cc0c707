// What every register must keep, whatever it is kept in. A test program names the backends (RegisterKind) and
// instantiates the suite.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lease/register.h"
#include "tests/linearizable.h"

namespace nekton {

inline RegisterAnswer ReadNow(Register& from, const std::string& key) {
  auto answer = std::make_shared<std::promise<RegisterAnswer>>();
  std::future<RegisterAnswer> result = answer->get_future();
  from.Read(key, [answer](RegisterAnswer there) { answer->set_value(std::move(there)); });
  return result.get();
}

inline RegisterAnswer WriteNow(Register& to, const std::string& key, std::uint64_t expected,
                               std::optional<std::string> value) {
  auto answer = std::make_shared<std::promise<RegisterAnswer>>();
  std::future<RegisterAnswer> result = answer->get_future();
  to.CompareAndSet(key, expected, std::move(value),
                   [answer](RegisterAnswer there) { answer->set_value(std::move(there)); });
  return result.get();
}

struct RegisterKind {
  std::string name;
  // A new store, and how to open it, as often as one likes, as from several processes.
  std::function<std::function<std::unique_ptr<Register>()>()> fresh;
};
inline void PrintTo(const RegisterKind& kind, std::ostream* out) { *out << kind.name; }

class RegisterConformance : public testing::TestWithParam<RegisterKind> {
 protected:
  void SetUp() override {
    open_ = GetParam().fresh();
    if (!open_) GTEST_SKIP() << GetParam().name << " is not installed";
    register_ = open_();
    ASSERT_NE(register_, nullptr);
  }
  std::function<std::unique_ptr<Register>()> open_;
  std::unique_ptr<Register> register_;
};

TEST_P(RegisterConformance, AWriteNeedsTheVersionThatIsThere) {
  Register& r = *register_;
  EXPECT_EQ(ReadNow(r, "k").version, kAbsent);
  const RegisterAnswer made = WriteNow(r, "k", kAbsent, "one");
  ASSERT_EQ(made.verdict, RegisterVerdict::kYes) << made.why;
  EXPECT_GT(made.version, kAbsent);
  const RegisterAnswer again = WriteNow(r, "k", kAbsent, "two");
  EXPECT_EQ(again.verdict, RegisterVerdict::kNo);
  EXPECT_EQ(again.version, made.version);
  EXPECT_EQ(again.value, "one");
  EXPECT_EQ(WriteNow(r, "k", made.version + 1, "two").verdict, RegisterVerdict::kNo);
  const RegisterAnswer changed = WriteNow(r, "k", made.version, std::string("t\0wo", 4));
  ASSERT_EQ(changed.verdict, RegisterVerdict::kYes);
  EXPECT_GT(changed.version, made.version);
  const RegisterAnswer read = ReadNow(r, "k");
  EXPECT_EQ(read.verdict, RegisterVerdict::kYes);
  EXPECT_EQ(read.version, changed.version);
  EXPECT_EQ(read.value, std::string("t\0wo", 4));
  EXPECT_EQ(ReadNow(r, "other").version, kAbsent);
  const RegisterAnswer empty = WriteNow(r, "empty", kAbsent, "");
  ASSERT_EQ(empty.verdict, RegisterVerdict::kYes);
  EXPECT_EQ(ReadNow(r, "empty").version, empty.version) << "an empty value is there";
}

TEST_P(RegisterConformance, NoVersionIsGivenTwiceAlsoAfterADelete) {
  std::set<std::uint64_t> seen;
  std::uint64_t version = kAbsent;
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const RegisterAnswer made = WriteNow(*register_, "k", version, absl::StrCat("v", i));
    ASSERT_EQ(made.verdict, RegisterVerdict::kYes) << made.why;
    EXPECT_TRUE(seen.insert(made.version).second);
    EXPECT_GT(made.version, last);
    last = version = made.version;
    if (i % 3 != 0) continue;
    EXPECT_EQ(WriteNow(*register_, "k", version + 7, std::nullopt).verdict, RegisterVerdict::kNo)
        << "a delete compares, too";
    const RegisterAnswer deleted = WriteNow(*register_, "k", version, std::nullopt);
    ASSERT_EQ(deleted.verdict, RegisterVerdict::kYes);
    EXPECT_EQ(ReadNow(*register_, "k").version, kAbsent);
    EXPECT_EQ(WriteNow(*register_, "k", version, "x").verdict, RegisterVerdict::kNo) << "what was deleted is not there";
    version = kAbsent;
    if (i == 9) register_ = open_();  // nor does it depend on who remembers
  }
}

TEST_P(RegisterConformance, BadRequestsAreNotTakenOnAndSayWhy) {
  Register& r = *register_;
  const RegisterAnswer empty = ReadNow(r, "");
  EXPECT_EQ(empty.verdict, RegisterVerdict::kUnknown);
  EXPECT_EQ(empty.why, "key: it is empty");
  EXPECT_EQ(WriteNow(r, "k", kAbsent, std::string(kRegisterValueMax + 1, 'x')).verdict, RegisterVerdict::kUnknown);
  EXPECT_EQ(WriteNow(r, "k", kAbsent, std::nullopt).verdict, RegisterVerdict::kUnknown);
  EXPECT_EQ(WriteNow(r, std::string(kRegisterKeyMax, 'k'), kAbsent, std::string(kRegisterValueMax, 'x')).verdict,
            RegisterVerdict::kYes);
}

// Four writers on connections of their own, and readers: each write expects what was last seen.
TEST_P(RegisterConformance, ItIsLinearizableUnderConcurrentWriters) {
  RegisterHistory history;
  std::atomic<std::int64_t> clock{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::unique_ptr<Register> mine = open_();
      ASSERT_NE(mine, nullptr);
      std::uint64_t version = kAbsent;
      for (int i = 0; i < 60; ++i) {
        RegisterOperation o;
        o.write = (i + t) % 3 != 0;
        o.expected = version;
        o.value = absl::StrCat(t, ":", i);
        o.began = clock++;
        o.answer = o.write ? WriteNow(*mine, "k", version, o.value) : ReadNow(*mine, "k");
        o.ended = clock++;
        version = o.answer.verdict == RegisterVerdict::kUnknown ? version : o.answer.version;
        history.Add(std::move(o));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<RegisterOperation> all = history.Take();
  const auto done = std::count_if(all.begin(), all.end(), [](const RegisterOperation& o) {
    return o.write && o.answer.verdict == RegisterVerdict::kYes;
  });
  EXPECT_GT(done, 20);
  EXPECT_EQ(NotLinearizable(std::move(all)), "");
}

// Two add to one number, and every third answer is thrown away, as by a network. The record keeps the nonce of each one's
// last write, so whoever got no answer knows by reading again whether it was done.
TEST_P(RegisterConformance, AnUnknownIsSettledByReadingAgainAndComparingTheNonce) {
  constexpr int kEach = 25;
  std::array<std::atomic<int>, 2> unknown{};
  const auto add = [&](unsigned t) {
    const std::unique_ptr<Register> mine = open_();
    int done = 0;
    for (int i = 1; done < kEach; ++i) {
      const RegisterAnswer before = ReadNow(*mine, "n");
      std::array<int, 3> record{};  // the number, and two nonces
      if (before.version != kAbsent) std::sscanf(before.value.c_str(), "%d %d %d", &record[0], &record[1], &record[2]);
      ++record[0];
      record[1 + t] = i;
      const RegisterAnswer answer =
          WriteNow(*mine, "n", before.version, absl::StrCat(record[0], " ", record[1], " ", record[2]));
      bool was_done = answer.verdict == RegisterVerdict::kYes;
      if (i % 3 == 0) {  // lost
        ++unknown[t];
        std::array<int, 3> now{};
        std::sscanf(ReadNow(*mine, "n").value.c_str(), "%d %d %d", &now[0], &now[1], &now[2]);
        EXPECT_EQ(now[1 + t] == i, was_done);
        was_done = now[1 + t] == i;
      }
      done += was_done ? 1 : 0;
    }
  };
  std::thread other([&] { add(1); });
  add(0);
  other.join();
  EXPECT_GT(unknown[0] + unknown[1], 10);
  EXPECT_EQ(std::stoi(ReadNow(*register_, "n").value), 2 * kEach);
}

TEST_P(RegisterConformance, AWatchTellsWhatIsThereAndWhatBecomesOfIt) {
  Register& r = *register_;
  const std::unique_ptr<Register> other = open_();
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<RegisterAnswer> seen;
  const auto wait_for = [&](auto what) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&] { return !seen.empty() && what(seen.back()); });
  };
  const std::uint64_t watch = r.Watch("k", [&](const RegisterAnswer& there) {
    const std::lock_guard lock(mutex);
    seen.push_back(there);
    changed.notify_all();
  });
  ASSERT_NE(watch, 0u);
  EXPECT_TRUE(wait_for([](const RegisterAnswer& a) { return a.version == kAbsent; }));
  const RegisterAnswer made = WriteNow(*other, "k", kAbsent, "one");
  EXPECT_TRUE(wait_for([&](const RegisterAnswer& a) { return a.version == made.version && a.value == "one"; }));
  const RegisterAnswer own = WriteNow(r, "k", made.version, "two");
  EXPECT_TRUE(wait_for([&](const RegisterAnswer& a) { return a.version == own.version && a.value == "two"; }));
  WriteNow(*other, "unrelated", kAbsent, "x");
  WriteNow(*other, "k", own.version, std::nullopt);
  EXPECT_TRUE(wait_for([](const RegisterAnswer& a) { return a.version == kAbsent; }));
  for (const RegisterAnswer& a : seen) EXPECT_EQ(a.verdict, RegisterVerdict::kYes);
  r.Unwatch(watch);
}

TEST_P(RegisterConformance, CallbacksMayCallTheRegisterAndAllAreAnsweredAtTheEnd) {
  std::atomic<int> answers{0};
  std::promise<void> chained;
  register_->Read("k", [&](const RegisterAnswer&) {
    register_->CompareAndSet("k", kAbsent, "from a callback", [&](const RegisterAnswer& a) {
      EXPECT_EQ(a.verdict, RegisterVerdict::kYes);
      chained.set_value();
    });
  });
  chained.get_future().get();
  for (int i = 0; i < 50; ++i) register_->Read("k", [&](const RegisterAnswer&) { ++answers; });
  register_.reset();
  EXPECT_EQ(answers, 50);
}

}  // namespace nekton
