// The thread that waits for disks.
#include "transport/store_worker.h"

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace nekton {
namespace {

TEST(StoreWorkerTest, WorkIsDoneInOrderOnAThreadOfItsOwn) {
  StoreWorker worker;
  std::vector<int> done;
  std::thread::id where;
  std::promise<void> last;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(worker.Post([&, i] { done.push_back(i); }).ok());
  }
  ASSERT_TRUE(worker
                  .Post([&] {
                    where = std::this_thread::get_id();
                    last.set_value();
                  })
                  .ok());
  last.get_future().wait();
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(StoreWorkerTest, WhatWaitsIsBounded) {
  std::promise<void> begun, release;
  StoreWorker worker;
  ASSERT_TRUE(worker
                  .Post([&] {
                    begun.set_value();
                    release.get_future().wait();
                  })
                  .ok());
  begun.get_future().wait();
  for (std::size_t i = 0; i < StoreWorker::kWaitingMax; ++i) ASSERT_TRUE(worker.Post([] {}).ok());
  EXPECT_EQ(worker.Post([] {}).code(), absl::StatusCode::kResourceExhausted);
  release.set_value();
}

TEST(StoreWorkerTest, ItEndsAfterTheWorkThatIsBeingDoneAndDropsTheRest) {
  bool finished = false;
  auto dropped = std::make_shared<int>(0);
  const std::weak_ptr<int> seen = dropped;
  {
    std::promise<void> begun, release;
    StoreWorker worker;
    ASSERT_TRUE(worker
                    .Post([&] {
                      begun.set_value();
                      release.get_future().wait();
                      finished = true;
                    })
                    .ok());
    begun.get_future().wait();
    ASSERT_TRUE(worker.Post([dropped] { ++*dropped; }).ok());
    dropped.reset();
    std::thread([&release] { release.set_value(); }).join();
  }
  EXPECT_TRUE(finished);
  EXPECT_TRUE(seen.expired());
}

TEST(StoreWorkerTest, WorkMayEndItsOwnWorker) {
  std::promise<void> posted, gone;
  auto worker = std::make_unique<StoreWorker>();
  ASSERT_TRUE(worker
                  ->Post([&] {
                    posted.get_future().wait();
                    worker.reset();
                    gone.set_value();
                  })
                  .ok());
  posted.set_value();
  gone.get_future().wait();
}

}  // namespace
}  // namespace nekton
