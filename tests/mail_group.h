// A group in the simulator whose members send each other messages and requests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cluster.h"

namespace nekton {

inline std::vector<std::byte> ToBytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
inline std::string ToText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class MailGroup {
 public:
  struct Seen {
    Duration at{};
    SimId who = kNobody;
    Mail mail;
  };

  explicit MailGroup(ClusterOptions options = {}) : c(options) {
    c.sim().SetMailHandler([this](SimId who, const Mail& mail) {
      seen.push_back({c.now(), who, mail});
      const bool asks = mail.kind == MailKind::kRequest || (mail.kind == MailKind::kMessage && mail.id != 0);
      if (asks && serve) serve(who, mail);
    });
    EXPECT_TRUE(c.Converge());
  }

  nekton::Request For(SimId to, std::string_view body, Duration budget) {
    nekton::Request request;
    request.id = ++last_id;
    request.member = c.sim().name(to);
    request.body = ToBytes(body);
    request.budget = budget;
    return request;
  }
  // Its id.
  std::uint64_t Ask(SimId from, const nekton::Request& request) {
    const absl::Status status = c.sim().Order(from, request);
    EXPECT_TRUE(status.ok()) << status;
    return request.id;
  }
  std::uint64_t Ask(SimId from, SimId to, std::string_view body, Duration budget) {
    return Ask(from, For(to, body, budget));
  }
  absl::Status Respond(SimId who, std::uint64_t id, std::string_view body) {
    return c.sim().Order(who, nekton::Respond{.id = id, .status = {}, .body = ToBytes(body)});
  }
  // A handler that answers what it is asked after so long with "re: " and the body.
  void AnswerAfter(Duration time) {
    serve = [this, time](SimId who, const Mail& mail) {
      const auto answer = [this, who, id = mail.id, body = "re: " + ToText(mail.body)] {
        Respond(who, id, body).IgnoreError();
      };
      c.sim().At(c.now() + time, answer);
    };
  }

  std::vector<Seen> All(MailKind kind, SimId who = kNobody) const {
    std::vector<Seen> found;
    for (const Seen& s : seen) {
      if (s.mail.kind == kind && (who == kNobody || s.who == who)) found.push_back(s);
    }
    return found;
  }
  // How the request ended; null: it has not. It ends once.
  const Seen* Done(std::uint64_t id) const {
    const Seen* found = nullptr;
    for (const Seen& s : seen) {
      if (s.mail.kind != MailKind::kDone || s.mail.id != id) continue;
      EXPECT_EQ(found, nullptr) << "request " << id << " ended twice";
      found = &s;
    }
    return found;
  }
  absl::StatusCode CodeOf(std::uint64_t id) const {
    const Seen* done = Done(id);
    EXPECT_NE(done, nullptr) << "request " << id << " has not ended";
    return done == nullptr ? absl::StatusCode::kUnknown : done->mail.status.code();
  }

  Cluster c;
  std::vector<Seen> seen;
  std::function<void(SimId, const Mail&)> serve;
  std::uint64_t last_id = 0;
};

}  // namespace nekton
