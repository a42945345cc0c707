// An authority's room and one member's, joined by hand: what either says is heard by the other at once, unless a test
// changes it on the way. Other members are names that the authority is told are alive; they say what the test says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lease/lease_message.h"
#include "lease/lease_room.h"
#include "tests/cluster.h"

namespace nekton {

class TwoRooms {
 public:
  LeaseRoom root{ConfigOf("root"), EngineConfigOf("root"), At(1), View()};
  LeaseRoom beta{ConfigOf("beta"), EngineConfigOf("beta"), At(2), View()};
  Duration now = std::chrono::seconds(1000);
  std::map<std::string, LeasePeer> peers;                   // the failure detector's table, of both
  std::vector<std::size_t> fetched;                         // the sizes of the answers to beta's fetches
  std::vector<LeaseMessage> asked;                          // beta's fetches
  std::vector<Evidence> told;                               // by beta
  bool deaf = false;                                        // nothing reaches beta
  std::function<void(LeaseMessage&)> on_answer;             // what changes the authority's answers to beta
  std::function<void(std::vector<std::byte>&)> on_fetched;  // and views that beta fetches

  TwoRooms() {
    for (const char* name : {"root", "beta"}) peers[name] = {1, At(1), true};
    LeaseOutput out;
    EXPECT_TRUE(root.Begin(Now(), out).ok());
    Take(root, out);
  }

  static LeaseConfig ConfigOf(const std::string& name) {
    LeaseConfig config;
    config.authority = "root";
    config.key = ClusterKey().public_key();
    if (name == "root") config.signing = ClusterKey();
    return config;
  }
  static Config EngineConfigOf(const std::string& name) {
    Config config = Config::Lan();
    config.name = name;
    config.generation = 1;
    config.seed = 5;
    return config;
  }
  static Address At(int n) { return Address::V4(10, 0, 0, static_cast<std::uint8_t>(n), 7946); }
  static Mail MailOf(const std::string& from, const LeaseMessage& message) {
    Mail mail;
    mail.kind = MailKind::kMessage;
    mail.inner = true;
    mail.member = from;
    mail.generation = 1;
    mail.body = Encode(message);
    return mail;
  }
  Tick Now() const { return {Instant(now), RawInstant(now), WallTime(now)}; }
  std::optional<LeasePeer> Peer(std::string_view name) const {
    const auto at = peers.find(std::string(name));
    return at == peers.end() ? std::nullopt : std::optional(at->second);
  }

  void RunFor(Duration time) {
    for (const Duration end = now + time; now < end; now += std::chrono::milliseconds(10)) {
      for (LeaseRoom* room : {&root, &beta}) Turn(*room);
    }
  }
  void Turn(LeaseRoom& room) {
    LeaseOutput out;
    room.Turn(
        Now(), [this](std::string_view name) { return Peer(name); }, version_, out);
    Take(room, out);
  }
  void Hear(LeaseRoom& room, const Mail& mail) {
    LeaseOutput out;
    room.Hear(
        Now(), mail, [this](std::string_view name) { return Peer(name); }, out);
    Take(room, out);
  }
  // More members of the view, which say nothing more.
  void Admit(int from, int count) {
    for (int i = from; i < from + count; ++i) {
      const std::string name = absl::StrCat("member-", i);
      peers[name] = {1, At(i), true};
      LeaseMessage join;
      join.kind = LeaseMessage::Kind::kJoin;
      join.write = LeaseTerms().write;
      join.drift_ppm = LeaseTerms().drift_ppm;
      join.key = ClusterKey().public_key();
      Hear(root, MailOf(name, join));
    }
    ++version_;
  }
  void Kill(int i) {
    peers[absl::StrCat("member-", i)].alive = false;
    ++version_;
  }

 private:
  void Take(LeaseRoom& room, LeaseOutput& output) {
    LeaseOutput out = std::exchange(output, {});
    const bool is_root = &room == &root;
    if (!is_root) told.insert(told.end(), out.evidence.begin(), out.evidence.end());
    if (out.store.has_value()) {
      LeaseOutput next;
      const auto peer = [this](std::string_view name) { return Peer(name); };
      room.Stored(Now(), out.store->epoch(), absl::OkStatus(), peer, next);
      Take(room, next);
    }
    for (LeaseOutput::Letter& letter : out.letters) {
      const absl::StatusOr<LeaseMessage> read = DecodeLeaseMessage(letter.body);
      ASSERT_TRUE(read.ok());
      LeaseMessage message = *read;
      if (letter.to == "root" && !is_root && !deaf) Hear(root, MailOf("beta", message));
      if (letter.to != "beta" || !is_root || deaf) continue;
      if (message.kind == LeaseMessage::Kind::kAnswer && on_answer) on_answer(message);
      Hear(beta, MailOf("root", message));
    }
    for (LeaseOutput::Question& question : out.questions) Ask(question);
    for (LeaseOutput::Answer& answer : out.answers) answer_ = std::move(answer.body);
  }
  void Ask(const LeaseOutput::Question& question) {
    asked.push_back(*DecodeLeaseMessage(question.body));
    Mail mail = MailOf("beta", asked.back());
    mail.kind = MailKind::kRequest;
    mail.id = 77;
    answer_.reset();
    Hear(root, mail);
    Mail done;
    done.kind = MailKind::kDone;
    done.inner = true;
    done.id = question.id;
    done.status = answer_.has_value() && !answer_->empty() ? absl::OkStatus() : absl::NotFoundError("none");
    if (done.status.ok()) done.body = *answer_;
    if (done.status.ok() && on_fetched) on_fetched(done.body);
    fetched.push_back(done.body.size());
    Hear(beta, done);
  }

  std::uint64_t version_ = 1;
  std::optional<std::vector<std::byte>> answer_;
};

}  // namespace nekton
