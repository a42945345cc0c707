// Two members in one process find each other, and one says goodbye.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "transport/node.h"

using namespace std::chrono_literals;

namespace {

int Fail(const absl::Status& status) {
  std::cerr << status << '\n';
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::cout << "hello: two members in one process find each other; takes no arguments\n";
    return std::string_view(argv[1]) == "--help" ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  auto config = nekton::Config::Local();
  config.name = "alpha";
  config.bind = "127.0.0.1:0";
  auto alpha = nekton::Node::Start(config);
  if (!alpha.ok()) return Fail(alpha.status());
  auto watch = (*alpha)->Subscribe([](const nekton::Event& e) { std::cout << "alpha hears: " << e << '\n'; });

  config.name = "beta";
  config.seeds = {(*alpha)->local().ToString()};
  auto beta = nekton::Node::Start(config);
  if (!beta.ok()) return Fail(beta.status());
  if (auto joined = (*beta)->WaitJoined(10s); !joined.ok()) return Fail(joined);
  for (const auto& m : (*beta)->Members().Alive()) std::cout << "beta knows: " << m->name << '\n';
  if (auto left = (*beta)->Leave(5s); !left.ok()) return Fail(left);  // says goodbye, returns when it has been heard
  std::cout << "hello: joined and left\n";
}
