// Two members in one process talk: tags, a keyed broadcast, a message, and a request that is answered within its budget.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/node.h"

using namespace std::chrono_literals;

namespace {

int Fail(const absl::Status& status) {
  std::cerr << status << '\n';
  return EXIT_FAILURE;
}

std::vector<std::byte> Bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
std::string Text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Callbacks come on a thread of each node, so they take turns at the terminal.
void Say(const std::string& line) {
  static std::mutex turn;
  const std::lock_guard lock(turn);
  std::cout << line << '\n';
}

// Who can shout? It is a tag of that member, and everybody knows it.
std::string FindShouter(const nekton::Node& node) {
  for (const auto& member : node.Members().Alive()) {
    if (const auto role = member->tags.find("role"); role != member->tags.end() && role->second == "shouter") {
      return member->name;
    }
  }
  return "";
}

// What beta does for others.
void Serve(nekton::Node& node) {
  node.OnMessage(
      [](const nekton::Message& message) { Say("beta hears from " + message.member + ": " + Text(message.body)); });
  node.OnRequest([](const nekton::Message& request, nekton::Responder responder) {
    std::string text = Text(request.body);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    // A handler may keep the responder and answer later, on any thread; here there is nothing to wait for.
    if (!responder.cancelled()) responder.Answer(Bytes(text)).IgnoreError();
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::cout << "chat: two members in one process talk; takes no arguments\n";
    return std::string_view(argv[1]) == "--help" ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  auto config = nekton::Config::Local();
  config.name = "alpha";
  config.bind = "127.0.0.1:0";
  const auto alpha = nekton::Node::Start(config);
  if (!alpha.ok()) return Fail(alpha.status());

  // Whatever changes is an event: here alpha waits for beta's tag, and for the topic that beta sets.
  std::promise<void> found;
  std::promise<std::string> topic;
  const auto watch = (*alpha)->Subscribe([&, waits = true](const nekton::Event& event) mutable {
    if (event.kind == nekton::EventKind::kBroadcast) topic.set_value(event.broadcast->bytes);
    if (waits && FindShouter(**alpha) != "") {
      waits = false;
      found.set_value();
    }
  });

  config.name = "beta";
  config.seeds = {(*alpha)->local().ToString()};
  const auto beta = nekton::Node::Start(config);
  if (!beta.ok()) return Fail(beta.status());
  Serve(**beta);
  if (auto joined = (*beta)->WaitJoined(10s); !joined.ok()) return Fail(joined);
  if (auto set = (*beta)->SetTag("role", "shouter"); !set.ok()) return Fail(set);
  found.get_future().wait();
  const std::string shouter = FindShouter(**alpha);
  Say("alpha knows who shouts: " + shouter);

  if (auto said = (*beta)->Broadcast("topic", "plankton"); !said.ok()) return Fail(said);
  Say("the topic is " + topic.get_future().get());

  if (auto sent = (*alpha)->SendReliable(shouter, Bytes("hello"), {.budget = 10s}); !sent.ok()) return Fail(sent);
  const auto answer = (*alpha)->Request(shouter, Bytes("quiet words"), {.budget = 10s});
  if (!answer.ok()) return Fail(answer.status());
  Say("alpha is answered: " + Text(*answer));
  if (auto left = (*beta)->Leave(5s); !left.ok()) return Fail(left);
  Say("chat: everything arrived");
}
