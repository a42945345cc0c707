// By what right a candidate is the authority: a hold of the lease, under one token. A value.
#pragma once

#include <memory>
#include <utility>

#include "lease/fencing_token.h"
#include "lease/lease_hold.h"
#include "phi/time.h"

namespace nekton {

struct Mandate {
  FencingToken token;
  std::shared_ptr<const LeaseHold> hold;

  // At the instant of these readings. What was received before it and is answered after it is covered: a lease that such
  // an answer renews counts from before.
  bool Stands(const Tick& now) const { return hold != nullptr && hold->Holds(token, now); }
};

}  // namespace nekton
