#include "lease/memory_register.h"

#include <algorithm>

namespace nekton {

RegisterAnswer MemoryTable::Read(const std::string& key) const {
  const auto found = entries_.find(key);
  const Entry& entry = found == entries_.end() ? unwritten_ : found->second;
  if (!entry.value) return {.verdict = RegisterVerdict::kYes, .version = kAbsent, .value = {}, .why = {}};
  return {.verdict = RegisterVerdict::kYes, .version = entry.version, .value = *entry.value, .why = {}};
}

RegisterAnswer MemoryTable::Do(const RegisterRequest& request) {
  RegisterAnswer there = Read(request.key);
  if (!request.write) return there;
  if (there.version != request.expected) {
    there.verdict = RegisterVerdict::kNo;
    return there;
  }
  ++revision_;  // a delete uses one up as well
  entries_[request.key] = {.value = request.value, .version = revision_};
  return {.verdict = RegisterVerdict::kYes, .version = request.value ? revision_ : kAbsent, .value = {}, .why = {}};
}

void MemoryTable::BeginAfterRestore(std::uint16_t era, Duration longest_lease) {
  revision_ = FirstRevisionOf(era);
  for (auto& [key, entry] : entries_) {
    if (entry.value) entry.value = AfterRestore(*entry.value, era, longest_lease);
    entry.version = ++revision_;
  }
  unwritten_ = {.value = AfterRestore("", era, longest_lease), .version = ++revision_};
}

Duration SimRegister::Delay() {
  const Duration range = faults_.delay_max - faults_.delay_min;
  if (range <= Duration::zero()) return faults_.delay_min;
  return faults_.delay_min + Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(range.count())));
}

void SimRegister::Submit(Client client, RegisterRequest request, Instant now) {
  if (Lost(faults_.lose_request_ppm)) {
    ++load_.lost;
    return;
  }
  Put(now + Delay(), {.client = client, .reply = false, .request = std::move(request), .answer = {}});
}

void SimRegister::Watch(Client client, const std::string& key, Instant now) {
  watches_[key].push_back(client);
  Put(now + Delay(), {.client = client, .reply = true, .request = {}, .answer = table_.Read(key)});
}

void SimRegister::Unwatch(Client client, const std::string& key) { std::erase(watches_[key], client); }

void SimRegister::Tell(const std::string& key, Instant when) {
  const auto found = watches_.find(key);
  if (found == watches_.end()) return;
  for (const Client client : found->second) {
    if (Lost(faults_.lose_reply_ppm)) continue;
    Put(when + Delay(), {.client = client, .reply = true, .request = {}, .answer = table_.Read(key)});
  }
}

void SimRegister::Arrive(Flight flight, Instant when) {
  ++load_.requests;
  load_.writes += flight.request.write ? 1U : 0U;
  if (flight.request.write && Lost(faults_.careless_ppm)) {
    flight.request.expected = table_.Read(flight.request.key).version;
  }
  flight.answer = table_.Do(flight.request);
  if (flight.request.write && flight.answer.verdict == RegisterVerdict::kYes) Tell(flight.request.key, when);
  if (Lost(faults_.lose_reply_ppm)) {
    ++load_.lost;
    return;
  }
  flight.reply = true;
  Put(when + Delay(), std::move(flight));
}

void SimRegister::Advance(Instant now, std::vector<Delivery>& out) {
  while (!flights_.empty() && flights_.begin()->first.first <= now) {
    auto node = flights_.extract(flights_.begin());
    const Instant when = node.key().first;
    Flight& flight = node.mapped();
    if (when < down_until_) {
      ++load_.lost;
      continue;
    }
    if (flight.reply) {
      out.push_back({.client = flight.client, .id = flight.request.id, .answer = std::move(flight.answer)});
    } else {
      Arrive(std::move(flight), when);
    }
  }
}

}  // namespace nekton
