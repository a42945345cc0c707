// Objects with homes among three members of one process: commits, a member that dies, and who takes its objects over.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "examples/objects/object_service.h"
#include "lease/capability.h"
#include "lease/object_id.h"
#include "lease/view_store.h"
#include "transport/node.h"

using namespace std::chrono_literals;

namespace {

constexpr auto kPatience = 60s;

struct Member {
  std::unique_ptr<nekton::Node> node;
  std::unique_ptr<nekton::ObjectService> objects;
};

int Fail(const absl::Status& status) {
  std::cerr << status << '\n';
  return EXIT_FAILURE;
}

// Waits until `done()`; false: for too long.
template <typename Done>
bool Wait(Done done) {
  for (const auto end = std::chrono::steady_clock::now() + kPatience; !done();) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

std::string Commit(Member& member, const nekton::Capability& right, const std::string& value) {
  std::promise<nekton::ObjectService::Result> result;
  member.objects->Commit(right, value, [&](const nekton::ObjectService::Result& r) { result.set_value(r); });
  const nekton::ObjectService::Result got = result.get_future().get();
  std::cout << nekton::Row({{}, got.evidence}) << '\n';
  return got.evidence.status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::cout << "objects: objects with homes among three members of one process; takes no arguments\n";
    return std::string_view(argv[1]) == "--help" ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  // The authority's key. A real one comes from a file that was made once, of random bytes: nekton keygen.
  const nekton::SigningKey key(std::array<std::byte, 32>{std::byte{42}});
  nekton::LeaseConfig leases;
  leases.authority = "alpha";
  leases.key = key.public_key();
  leases.terms.write = 1s;

  auto config = nekton::Config::Local();
  config.bind = "127.0.0.1:0";
  std::vector<Member> members;
  for (const char* name : {"alpha", "beta", "gamma"}) {
    config.name = name;
    if (!members.empty()) config.seeds = {members[0].node->local().ToString()};
    nekton::NodeOptions options;
    options.leases = leases;
    if (members.empty()) {
      options.leases.signing = key;
      options.view_store = std::make_shared<nekton::MemoryViewStore>();  // a real one: SqliteViewStore
    }
    options.evidence = [name](const nekton::Evidence& e) { std::cout << name + (": " + nekton::Row(e) + '\n'); };
    auto node = nekton::Node::Start(config, options);
    if (!node.ok()) return Fail(node.status());
    Member member{*std::move(node), nullptr};
    member.objects = std::make_unique<nekton::ObjectService>(*member.node);
    members.push_back(std::move(member));
  }
  Member& alpha = members[0];
  const auto all_in = [&](std::size_t count) {
    for (const Member& member : members) {
      if (member.node->view()->view.members.size() != count) return false;
    }
    return true;
  };
  if (!Wait([&] { return all_in(3); })) return Fail(absl::DeadlineExceededError("the members do not join the view"));

  // An object that is at home at gamma, and the right to use it.
  nekton::Capability right;
  int number = 0;
  do {
    right.object = nekton::ObjectNamed("object " + std::to_string(++number));
  } while (alpha.node->HomeOf(right.object) != "gamma");
  right.operations = nekton::OperationBit(nekton::Operation::kStat) | nekton::OperationBit(nekton::Operation::kCommit);
  right.expires = nekton::WallTime(std::chrono::system_clock::now().time_since_epoch() + 1h);
  right = nekton::SignCapability(key, config.label, right);
  // A member that is new in a view commits once nobody can any more under the view before.
  if (!Wait([&] { return Commit(alpha, right, "first") == "served"; })) return EXIT_FAILURE;

  std::cout << "objects: gamma dies\n";
  members.pop_back();
  if (!Wait([&] { return all_in(2); })) return Fail(absl::DeadlineExceededError("gamma is not removed"));
  const std::string home = alpha.node->HomeOf(right.object);
  if (!Wait([&] { return Commit(alpha, right, "second") == "served"; })) return EXIT_FAILURE;
  std::cout << "objects: " << home << " took over from gamma\n";
}
