// What a user's first program may be: one member that starts.
#include <iostream>
#include <utility>

#include "swim/engine.h"

int main() {
  nekton::Config config = nekton::Config::Lan();
  config.name = "alpha";
  config.generation = 1;
  const auto self = nekton::Address::Parse("127.0.0.1:7946");
  if (!self.ok()) {
    std::cerr << self.status().ToString() << '\n';
    return 1;
  }
  auto engine = nekton::Engine::Create(config, *self);
  if (!engine.ok()) {
    std::cerr << engine.status().ToString() << '\n';
    return 1;
  }
  nekton::Outbox out;
  engine->Wake(nekton::Tick{}, out);
  std::cout << "members alive: " << engine->alive() << '\n';
  return engine->alive() == 1 ? 0 : 1;
}
