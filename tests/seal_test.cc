// Seals talking to each other: who is heard, who is challenged, who is refused, and how it is counted.
#include "transport/seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/wire.h"
#include "tests/seal_net.h"

namespace nekton {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Seal, TheFirstFrameIsChallengedAndArrivesAllTheSameOnce) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  auto& b = net.Add(2, RingOf({1}));
  a.Say(b.at, "ping");
  net.Deliver();
  EXPECT_THAT(b.texts(), ElementsAre("ping"));
  EXPECT_EQ(net.recorded.size(), 3U) << "data, challenge, data";
  b.Say(a.at, "ack");
  net.Deliver();
  EXPECT_THAT(a.texts(), ElementsAre("ack"));
  EXPECT_EQ(net.recorded.size(), 4U) << "the ping brought what the ack needs";
  for (int i = 0; i < 10; ++i) a.Say(b.at, "more");
  net.Deliver();
  EXPECT_EQ(net.recorded.size(), 14U);
  EXPECT_EQ(b.datagrams.size(), 11U);
  for (const auto& packet : net.recorded) {
    EXPECT_EQ(Text(packet.bytes).find("ping"), std::string::npos) << "it must not be readable";
  }
}

TEST(Seal, NoSealedDatagramIsLargerThanStated) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  auto& b = net.Add(2, RingOf({1}));
  const std::string large(1400 - kSealOverhead, 'x');
  for (int i = 0; i < 3; ++i) a.Say(b.at, large);
  net.Deliver();
  b.Say(a.at, large);
  net.Deliver();
  std::size_t largest = 0;
  for (const auto& packet : net.recorded) largest = std::max(largest, packet.bytes.size());
  EXPECT_EQ(largest, 1400U);
  EXPECT_EQ(b.datagrams.size(), 3U);
}

// What was recorded counts nowhere and never again.
TEST(Seal, WhatWasRecordedCountsAtNoMemberAtNoTime) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  auto& b = net.Add(2, RingOf({1}));
  auto& c = net.Add(3, RingOf({1}));
  for (int i = 0; i < 50; ++i) {
    a.Say(b.at, "to b");
    a.Say(c.at, "to c");
    b.Say(a.at, "to a");
    c.Say(b.at, "c to b");
    net.Deliver();
  }
  const std::vector<SealNet::Packet> record = net.recorded;
  const std::size_t before = a.datagrams.size() + b.datagrams.size() + c.datagrams.size();
  const auto replay = [&] {
    for (const auto& packet : record) {
      for (auto& [address, end] : net.ends) end->Take(packet.from, packet.bytes);
    }
    net.Deliver();
  };
  replay();
  EXPECT_EQ(a.datagrams.size() + b.datagrams.size() + c.datagrams.size(), before);
  EXPECT_GT(b.count(SealCounter::kRefusedRepeated), 0U);
  EXPECT_GT(c.count(SealCounter::kRefusedUnproved), 0U);
  // A new life of each, of the same generation or a higher one.
  for (const std::uint64_t generation : {1U, 2U}) {
    auto& anew_a = net.Add(1, RingOf({1}), Sealing::kRequire, generation);
    auto& anew_b = net.Add(2, RingOf({1}), Sealing::kRequire, generation);
    auto& anew_c = net.Add(3, RingOf({1}), Sealing::kRequire, generation);
    net.now += std::chrono::hours(24 * 365);
    replay();
    EXPECT_THAT(anew_a.texts(), IsEmpty());
    EXPECT_THAT(anew_b.texts(), IsEmpty());
    EXPECT_THAT(anew_c.texts(), IsEmpty());
    // And they still talk to each other.
    anew_a.Say(anew_b.at, "hello");
    net.Deliver();
    EXPECT_THAT(anew_b.texts(), ElementsAre("hello"));
  }
}

TEST(Seal, AfterARestartOfEitherSideOneMoreChallengeAndAllGoesOn) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  net.Add(2, RingOf({1}));
  const Address to = Address::V4(10, 0, 0, 2, 7946);
  a.Say(to, "one");
  net.Deliver();
  auto& b = net.Add(2, RingOf({1}), Sealing::kRequire, 2);
  a.Say(to, "lost");  // a is not heard by the new life, which tells it so
  net.Deliver();
  a.Say(to, "two");
  net.Deliver();
  EXPECT_THAT(b.texts(), Contains("two"));
  EXPECT_EQ(b.datagrams.size() + b.count(SealCounter::kRefusedUnproved), 3U);
}

// A higher generation that has proved itself voids the sessions of a lower one; recorded frames of that one stay out,
// also those that never arrived. Who lives proves itself anew.
TEST(Seal, AnOlderLifeIsRefusedUntilItProvesItselfAnew) {
  SealNet net;
  auto& old_a = net.Add(1, RingOf({1}), Sealing::kRequire, 5);
  auto& b = net.Add(2, RingOf({1}));
  old_a.Say(b.at, "first");
  net.Deliver();
  old_a.Say(b.at, "held back");
  const SealNet::Packet held = net.wire.front();
  net.wire.clear();
  std::unique_ptr<SealNet::End> still_there = std::move(net.ends[old_a.at]);
  auto& new_a = net.Add(1, RingOf({1}), Sealing::kRequire, 6);
  new_a.Say(b.at, "second");
  net.Deliver();
  EXPECT_THAT(b.texts(), ElementsAre("first", "second"));
  b.Take(held.from, held.bytes);
  net.Deliver();
  EXPECT_THAT(b.texts(), ElementsAre("first", "second"));
  EXPECT_EQ(b.count(SealCounter::kRefusedOldLife), 1U);
  // A second process of one name (its clock was set back, or it is another one): the seal keeps nobody out who lives,
  // for the engine has to tell them apart.
  std::swap(net.ends[old_a.at], still_there);
  net.ends[old_a.at]->Say(b.at, "older, and alive");
  net.Deliver();
  net.ends[old_a.at]->Say(b.at, "older, and alive");
  net.Deliver();
  EXPECT_THAT(b.texts(), Contains("older, and alive"));
}

TEST(Seal, WithoutAKeyOneCanDoNothingButBeCounted) {
  SealNet net;
  auto& b = net.Add(2, RingOf({1}));
  auto& wrong = net.Add(3, RingOf({7}));
  auto& none = net.Add(4, {}, Sealing::kOff);
  auto& other = net.Add(5, RingOf({1}), Sealing::kRequire, 1, "other cluster");
  wrong.Say(b.at, "x");
  none.Say(b.at, "y");
  other.Say(b.at, "z");
  none.Say(b.at, "\xe1\x10 and so on");
  net.Deliver();
  EXPECT_THAT(b.texts(), IsEmpty());
  EXPECT_EQ(net.recorded.size(), 4U) << "nobody was answered";
  EXPECT_EQ(b.count(SealCounter::kRefusedKey), 1U);
  EXPECT_EQ(b.count(SealCounter::kRefusedPlain), 1U);
  EXPECT_EQ(b.count(SealCounter::kRefusedLabel), 1U);
  EXPECT_EQ(b.count(SealCounter::kRefusedShort), 1U);
  EXPECT_THAT(b.complaints, Contains(HasSubstr("which is not in our ring")));
  EXPECT_THAT(b.complaints, Contains(HasSubstr("does not seal its frames")));
  // By hosts, of which 32 are told apart.
  EXPECT_EQ(b.seal->refused().hosts().size(), 3U);
  const std::vector<std::byte> garbage = Bytes("garbage");
  for (int i = 0; i < 1000; ++i) {
    b.Take(Address::V4(11, 0, static_cast<std::uint8_t>(i / 250), static_cast<std::uint8_t>(i % 250), 1), garbage);
  }
  EXPECT_EQ(b.seal->refused().hosts().size(), SourceTally::kHostsMax);
  EXPECT_EQ(b.seal->refused().others(), 1000U - (SourceTally::kHostsMax - 3));
}

// The label is authenticated whole, not only its four bytes on the wire.
TEST(Seal, EveryChangedBitIsNoticed) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  auto& b = net.Add(2, RingOf({1}));
  a.Say(b.at, "first");
  net.Deliver();
  a.Say(b.at, "second");
  const SealNet::Packet packet = net.wire.front();
  net.wire.clear();
  const auto sum = [&] {
    std::uint64_t refused = 0;
    for (auto c = SealCounter::kRefusedPlain; c <= SealCounter::kRefusedStream;
         c = static_cast<SealCounter>(static_cast<int>(c) + 1)) {
      refused += b.count(c);
    }
    return refused;
  };
  const std::uint64_t before = sum();
  for (std::size_t i = 0; i < packet.bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bytes = packet.bytes;
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      b.Take(packet.from, bytes);
    }
    auto cut = packet.bytes;
    cut.resize(i);
    b.Take(packet.from, cut);
  }
  EXPECT_THAT(b.texts(), ElementsAre("first"));
  EXPECT_EQ(sum() - before, 9 * packet.bytes.size()) << "each counted once";
  b.Take(packet.from, packet.bytes);
  EXPECT_THAT(b.texts(), ElementsAre("first", "second"));
}

TEST(Seal, AChallengeThatAnswersNothingOfOursChangesNothing) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  auto& b = net.Add(2, RingOf({1}));
  a.Say(b.at, "ping");
  net.Deliver();
  const SealNet::Packet challenge = net.recorded[1];
  ASSERT_EQ(challenge.to, a.at);
  a.Take(challenge.from, challenge.bytes);
  a.Take(Address::V4(10, 0, 0, 9, 1), challenge.bytes);
  EXPECT_EQ(a.count(SealCounter::kRefusedChallenge), 2U);
  a.Say(b.at, "more");
  net.Deliver();
  EXPECT_THAT(b.texts(), ElementsAre("ping", "more"));
}

TEST(Seal, AFloodOfRecordedFramesGetsFewAnswers) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  auto& b = net.Add(2, RingOf({1}));
  a.Say(b.at, "ping");
  net.Deliver();
  const SealNet::Packet first = net.recorded[0];
  const std::size_t before = net.recorded.size();
  for (int i = 0; i < 100'000; ++i) {
    b.Take(Address::V4(11, static_cast<std::uint8_t>(i >> 16), static_cast<std::uint8_t>(i >> 8),
                       static_cast<std::uint8_t>(i), 1),
           first.bytes);
    net.now += std::chrono::microseconds(100);  // 10 s in all
  }
  EXPECT_LE(net.recorded.size() - before, 1024U + 2500U);
  EXPECT_GT(b.count(SealCounter::kChallengesHeld), 90'000U);
  a.Say(b.at, "still heard");
  net.wire.clear();
  a.Say(b.at, "still heard");
  net.Deliver();
  EXPECT_THAT(b.texts(), ElementsAre("ping", "still heard"));
}

// Bounded tables: beyond them one is challenged again, and that is all.
TEST(Seal, WhoIsForgottenIsOnlyChallengedAgain) {
  SealNet net;
  auto& b = net.Add(200, RingOf({1}), Sealing::kRequire, 1, "", 16);
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i <= 60; ++i) {
      if (round == 0) net.Add(i, RingOf({1}));
      net.ends.at(Address::V4(10, 0, 0, static_cast<std::uint8_t>(i), 7946))->Say(b.at, "x");
      net.Deliver();
      EXPECT_LE(b.seal->sessions(), 16U);
    }
  }
  // In later rounds the token is not known any more: that frame is lost, its sender told.
  EXPECT_EQ(b.count(SealCounter::kRefusedUnproved), 180U);
  EXPECT_GE(b.datagrams.size(), 60U);
  EXPECT_GT(b.count(SealCounter::kForgotten), 0U);
}

// ---- keys

TEST(Seal, KeysAreChangedWithoutLosingAFrame) {
  SealNet net;
  std::vector<SealNet::End*> ends;
  for (int i = 1; i <= 4; ++i) ends.push_back(&net.Add(i, RingOf({1})));
  std::size_t said = 0;
  const auto talk = [&] {
    for (auto* from : ends) {
      for (auto* to : ends) {
        if (from == to) continue;
        from->Say(to->at, "x");
        from->Ask(++said, to->at, "y");
      }
    }
    net.Deliver();
  };
  talk();
  for (auto* end : ends) {
    ASSERT_TRUE(end->seal->AddKey(KeyOf(2)).ok());
    talk();
  }
  for (auto* end : ends) {
    ASSERT_TRUE(end->seal->UseKey(KeyOf(2).id()).ok());
    talk();
  }
  for (auto* end : ends) {
    ASSERT_TRUE(end->seal->RemoveKey(KeyOf(1).id()).ok());
    talk();
  }
  std::size_t heard = 0;
  for (auto* end : ends) {
    heard += end->datagrams.size();
    EXPECT_EQ(end->count(SealCounter::kRefusedKey), 0U);
    EXPECT_EQ(end->count(SealCounter::kRefusedForged), 0U);
    for (const auto& answer : end->answers) EXPECT_TRUE(answer.status.ok()) << answer.status;
  }
  EXPECT_EQ(heard, said);
  EXPECT_EQ(ends[0]->seal->RemoveKey(KeyOf(2).id()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ends[0]->seal->UseKey(KeyOf(1).id()).code(), absl::StatusCode::kNotFound);
}

// Two steps: everybody accepts, then everybody requires. At no moment is anybody not heard.
TEST(Seal, IsTurnedOnInTwoStepsWithoutLosingAFrame) {
  SealNet net;
  std::vector<Address> at;
  for (int i = 1; i <= 4; ++i) at.push_back(net.Add(i, {}, Sealing::kOff).at);
  std::map<Address, std::set<std::string>> heard;
  int number = 0;
  std::size_t said = 0;
  ExchangeId id = 0;
  const auto talk = [&] {
    for (const Address& from : at) {
      for (const Address& to : at) {
        if (from == to) continue;
        // What is sealed arrives once; what was plain may come twice, as datagrams may.
        net.ends[from]->Say(to, "p" + std::to_string(++number));
        ++said;
        net.Deliver();
        net.ends[from]->Ask(++id, to, "q");
        EXPECT_TRUE(net.ends[from]->answers.back().status.ok()) << net.ends[from]->answers.back().status;
      }
    }
    for (const Address& address : at) {
      for (const std::string& text : net.ends[address]->texts()) {
        if (text.substr(0, 1) == "p") heard[address].insert(text);
      }
    }
  };
  talk();
  std::uint64_t generation = 1;
  for (std::size_t i = 0; i < at.size(); ++i) {  // a restart each
    net.Add(static_cast<int>(i) + 1, RingOf({1}), Sealing::kAccept, ++generation);
    talk();
  }
  for (const Address& address : at) {
    net.ends[address]->seal->SetMode(Sealing::kRequire);
    talk();
  }
  std::size_t all = 0;
  for (const auto& [address, texts] : heard) all += texts.size();
  EXPECT_EQ(all, said);
  const std::uint64_t plain = net.ends[at[0]]->count(SealCounter::kPlainSent);
  talk();
  EXPECT_EQ(net.ends[at[0]]->count(SealCounter::kPlainSent), plain) << "now all is sealed";
}

// The same where those who still accept have never met those who require.
TEST(Seal, WhoRequiresTellsWhoAccepts) {
  SealNet net;
  auto& accepts = net.Add(1, RingOf({1}), Sealing::kAccept);
  auto& requires_it = net.Add(2, RingOf({1}), Sealing::kRequire);
  accepts.Say(requires_it.at, "ping");
  net.Deliver();
  EXPECT_THAT(requires_it.texts(), ElementsAre("ping"));
  auto& fresh = net.Add(3, RingOf({1}), Sealing::kAccept);
  fresh.Ask(1, requires_it.at, "join");
  // Its answer to a plain request that is no frame of nekton closes the stream; a real one is told in words (below).
  EXPECT_FALSE(fresh.answers.back().status.ok());
}

// ---- streams

TEST(Seal, ARequestIsChallengedOnceAndAnswered) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  auto& b = net.Add(2, RingOf({1}));
  const std::string large(200'000, 'x');
  b.answer_with = std::string(300'000, 'y');
  a.Ask(1, b.at, large);
  ASSERT_EQ(a.answers.size(), 1U);
  EXPECT_TRUE(a.answers[0].status.ok()) << a.answers[0].status;
  EXPECT_EQ(a.answers[0].bytes, b.answer_with);
  EXPECT_EQ(b.requests.back().bytes, large);
  EXPECT_EQ(a.exchanges, 2U);
  a.Ask(2, b.at, "");
  EXPECT_EQ(a.exchanges, 3U);
  EXPECT_EQ(b.Recorder::requests.back().bytes, "");
}

TEST(Seal, RecordedRequestsAndAnswersCountOnce) {
  SealNet net;
  auto& a = net.Add(1, RingOf({1}));
  auto& b = net.Add(2, RingOf({1}));
  auto& c = net.Add(3, RingOf({1}));
  a.Ask(1, b.at, "one");
  const std::vector<std::byte> first_answer = net.replies.rbegin()->second;
  const auto record = net.requests;
  const std::size_t served = b.Recorder::requests.size();
  for (const auto& request : record) {
    b.seal->OnRequest(net.now, a.at, 5000, request.bytes, false, b, b);
    c.seal->OnRequest(net.now, a.at, 5001, request.bytes, false, c, c);
  }
  EXPECT_EQ(b.Recorder::requests.size(), served);
  EXPECT_THAT(c.Recorder::requests, IsEmpty());
  // The answer to one request as that to another.
  net.spoil = [&](std::vector<std::byte>& answer) { answer = first_answer; };
  a.Ask(2, b.at, "two");
  EXPECT_EQ(a.answers.back().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(a.count(SealCounter::kRefusedStream), 1U);
}

TEST(Seal, CutReorderedOrRepeatedRecordsEndAStream) {
  const SealKey key = KeyOf(1);
  SealHeader header;
  header.kind = SealKind::kRequest;
  header.key = key.id();
  const std::vector<std::byte> plain(3 * kSealRecord + 100, std::byte{7});
  const std::vector<std::byte> sealed = SealStream(header, key, "l", {}, plain);
  ASSERT_EQ(sealed.size(), SealedStreamSize(plain.size()));
  std::vector<std::byte> opened;
  ASSERT_TRUE(OpenStream(sealed, key, "l", {}, &opened));
  EXPECT_EQ(opened, plain);
  const std::size_t record = kSealRecord + kSealTagSize;
  const auto at = [&](std::size_t i) {
    return sealed.begin() + static_cast<std::ptrdiff_t>(kSealHeaderSize + i * record);
  };
  // Cut after each record, and anywhere.
  for (const std::size_t size :
       {kSealHeaderSize + record, kSealHeaderSize + 2 * record, kSealHeaderSize + 3 * record,
        kSealHeaderSize + record + 1, sealed.size() - 1, kSealHeaderSize, kSealHeaderSize - 1}) {
    EXPECT_FALSE(OpenStream(std::span(sealed).first(size), key, "l", {}, &opened)) << size;
    EXPECT_THAT(opened, IsEmpty());
  }
  auto swapped = sealed;
  std::swap_ranges(swapped.begin() + kSealHeaderSize,
                   swapped.begin() + static_cast<std::ptrdiff_t>(kSealHeaderSize + record),
                   swapped.begin() + static_cast<std::ptrdiff_t>(kSealHeaderSize + record));
  EXPECT_FALSE(OpenStream(swapped, key, "l", {}, &opened));
  auto repeated = sealed;
  repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(kSealHeaderSize), at(0), at(1));
  EXPECT_FALSE(OpenStream(repeated, key, "l", {}, &opened));
  auto dropped = sealed;
  dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(kSealHeaderSize),
                dropped.begin() + static_cast<std::ptrdiff_t>(kSealHeaderSize + record));
  EXPECT_FALSE(OpenStream(dropped, key, "l", {}, &opened));
  EXPECT_FALSE(OpenStream(sealed, key, "another label", {}, &opened));
  EXPECT_FALSE(OpenStream(sealed, key, "l", std::span(sealed).first(kSealHeaderSize), &opened));
  EXPECT_FALSE(OpenStream(sealed, KeyOf(2), "l", {}, &opened));
}

TEST(Seal, AJoinWithoutTheKeyIsRefusedInWordsOnBothSides) {
  SealNet net;
  auto& b = net.Add(2, RingOf({1}));
  auto& wrong = net.Add(3, RingOf({7}));
  wrong.Ask(1, b.at, "join");
  EXPECT_EQ(wrong.answers.back().status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(wrong.answers.back().status.message(), HasSubstr("does not have our key"));
  EXPECT_THAT(b.complaints, Contains(HasSubstr("which is not in our ring")));

  auto& other = net.Add(5, RingOf({1}), Sealing::kRequire, 1, "other cluster");
  other.Ask(1, b.at, "join");
  EXPECT_THAT(other.answers.back().status.message(), HasSubstr("another cluster"));

  // A member without a seal: its frame is answered with one that it understands.
  auto& none = net.Add(4, {}, Sealing::kOff);
  Frame sync;
  sync.type = FrameType::kSync;
  sync.label = LabelTag("");
  sync.sequence = 77;
  sync.version_min = sync.version_max = 1;
  std::vector<std::byte> bytes;
  FrameWriter(sync, kFixedMax, bytes).Finish();
  none.Exchange(1, b.at, std::chrono::seconds(5), bytes);
  const std::vector<std::byte> told = Bytes(none.answers.back().bytes);
  Frame refusal;
  ASSERT_EQ(DecodeStream(told, LabelTag(""), &refusal), Fault::kNone);
  EXPECT_EQ(refusal.refusal, Refusal::kSealed);
  EXPECT_EQ(refusal.sequence, 77U);
  EXPECT_EQ(refusal.text, "this group seals its frames: its key is needed");
  // One that accepts goes on sealed at once.
  auto& accepts = net.Add(6, RingOf({1}), Sealing::kAccept);
  accepts.seal->Exchange(net.now, 9, b.at, std::chrono::seconds(5), bytes, accepts);
  EXPECT_TRUE(accepts.answers.back().status.ok()) << accepts.answers.back().status;
  // And the reverse: we require, the other has never heard of it.
  b.Ask(3, none.at, "join");
  EXPECT_EQ(b.answers.back().status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(b.answers.back().status.message(), HasSubstr("answers without sealing"));
}

}  // namespace
}  // namespace nekton
