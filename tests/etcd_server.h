// etcd on loopback, one or several nodes of one cluster, for tests that start it, kill it and start it again.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lease/register.h"
#include "transport/store_etcd_register.h"

namespace nekton {

class EtcdCluster {
 public:
  static bool Installed() { return std::filesystem::exists("/usr/bin/etcd"); }

  EtcdCluster(std::size_t nodes, std::string dir) : dir_(std::move(dir)) {
    std::filesystem::create_directories(dir_);
    std::vector<int> sockets;  // all at once, so that no two are the same
    for (std::size_t i = 0; i < nodes; ++i) {
      nodes_.push_back({.client = FreePort(sockets), .peer = FreePort(sockets), .pid = -1});
    }
    for (const int socket : sockets) close(socket);
    for (std::size_t i = 0; i < nodes; ++i) Start(i);
  }
  ~EtcdCluster() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) Kill(i);
  }

  std::vector<std::string> Endpoints() const {
    std::vector<std::string> all;
    for (const Node& node : nodes_) all.push_back(absl::StrCat("http://127.0.0.1:", node.client));
    return all;
  }
  void Start(std::size_t i) {
    std::vector<std::string> words = {"etcd", "--name", absl::StrCat("n", i), "--data-dir",
                                      absl::StrCat(dir_, "/n", i)};
    const auto add = [&words](const char* flag, std::string value) {
      words.emplace_back(flag);
      words.push_back(std::move(value));
    };
    const std::string client = absl::StrCat("http://127.0.0.1:", nodes_[i].client);
    const std::string peer = absl::StrCat("http://127.0.0.1:", nodes_[i].peer);
    add("--listen-client-urls", client);
    add("--advertise-client-urls", client);
    add("--listen-peer-urls", peer);
    add("--initial-advertise-peer-urls", peer);
    std::string cluster;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      absl::StrAppend(&cluster, k == 0 ? "" : ",", "n", k, "=http://127.0.0.1:", nodes_[k].peer);
    }
    add("--initial-cluster", cluster);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string log = absl::StrCat(dir_, "/n", i, ".log");
    nodes_[i].pid = fork();
    if (nodes_[i].pid != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it does not outlive the test, however that ends
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(out, 1);
    dup2(out, 2);
    execv("/usr/bin/etcd", argv.data());
    _exit(127);
  }
  // kill -9, and gone when this returns.
  void Kill(std::size_t i) {
    if (nodes_[i].pid <= 0) return;
    kill(nodes_[i].pid, SIGKILL);
    waitpid(nodes_[i].pid, nullptr, 0);
    nodes_[i].pid = -1;
  }
  // False if nothing is written within half a minute.
  bool WaitReady() const {
    EtcdOptions options;
    options.endpoints = Endpoints();
    const std::unique_ptr<Register> probe = *OpenEtcdRegister(options);
    for (int i = 0; i < 60; ++i) {
      auto answer = std::make_shared<std::promise<RegisterAnswer>>();
      auto result = answer->get_future();
      probe->CompareAndSet(absl::StrCat("probe", getpid(), "-", i), kAbsent, "x",
                           [answer](RegisterAnswer there) { answer->set_value(std::move(there)); });
      if (result.get().verdict == RegisterVerdict::kYes) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    return false;
  }

 private:
  struct Node {
    std::uint16_t client = 0;
    std::uint16_t peer = 0;
    pid_t pid = -1;
  };
  static std::uint16_t FreePort(std::vector<int>& sockets) {
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(s, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        getsockname(s, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    sockets.push_back(s);
    return ntohs(address.sin_port);
  }
  std::string dir_;
  std::vector<Node> nodes_;
};

}  // namespace nekton
