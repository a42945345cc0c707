// A node on a loop that belongs to the program, beside the program's own timer.
#include <uv.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string_view>

#include "transport/node.h"

namespace {

// What the program does on its loop: a tick of its own, and two nodes of which one is attached.
struct Program {
  uv_loop_t* loop = uv_default_loop();
  uv_timer_t tick{};
  int ticks = 0;
  bool seen = false;
  std::unique_ptr<nekton::Node> attached;
  std::unique_ptr<nekton::Node> other;
  nekton::Subscription watch;
};

constexpr int kTicksMax = 1000;  // 10 s: nobody came

void OnTick(uv_timer_t* timer) {
  auto& program = *static_cast<Program*>(timer->data);
  ++program.ticks;
  if (!program.seen && program.ticks < kTicksMax) return;
  // The nodes go first; the loop ends by itself when their handles and ours are closed.
  program.attached.reset();
  program.other.reset();
  uv_close(reinterpret_cast<uv_handle_t*>(timer), nullptr);
}

absl::Status Begin(Program& program) {
  auto config = nekton::Config::Local();
  config.bind = "127.0.0.1:0";
  config.name = "attached";
  auto attached = nekton::Node::Attach(program.loop, config);
  if (!attached.ok()) return attached.status();
  program.attached = *std::move(attached);
  program.watch = program.attached->Subscribe([&program](const nekton::Event& event) {
    std::cout << event << '\n';  // on the loop's thread: no lock is needed
    program.seen = program.seen || event.kind == nekton::EventKind::kJoined;
  });
  config.name = "other";
  config.seeds = {program.attached->local().ToString()};
  auto other = nekton::Node::Start(config);  // this one has a thread and a loop of its own
  if (!other.ok()) return other.status();
  program.other = *std::move(other);
  uv_timer_init(program.loop, &program.tick);
  program.tick.data = &program;
  uv_timer_start(&program.tick, OnTick, 10, 10);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::cout << "embed_uv: a node on the program's own libuv loop; takes no arguments\n";
    return std::string_view(argv[1]) == "--help" ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  Program program;
  if (absl::Status status = Begin(program); !status.ok()) {
    std::cerr << status << '\n';
    program.attached.reset();
    uv_run(program.loop, UV_RUN_DEFAULT);
    return EXIT_FAILURE;
  }
  uv_run(program.loop, UV_RUN_DEFAULT);
  const int left = uv_loop_close(program.loop);
  std::cout << "embed_uv: " << (program.seen ? "a member joined" : "nobody came") << ", the program's timer ticked "
            << program.ticks << " times, the loop closed with " << left << '\n';
  return program.seen && left == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
