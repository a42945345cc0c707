// Counts the allocations of the whole program by replacing operator new. For the one .cc file of a test program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace nekton {
inline std::uint64_t allocations = 0;  // calls of operator new so far; for programs of one thread
}  // namespace nekton

// Not inlined: gcc would see one half of a pair at a time and warn of a mismatch of new and free.
#define NEKTON_NOINLINE __attribute__((noinline))

NEKTON_NOINLINE void* operator new(std::size_t size) {
  ++nekton::allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}
NEKTON_NOINLINE void* operator new(std::size_t size, std::align_val_t alignment) {
  ++nekton::allocations;
  const auto step = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(step, (size + step - 1) / step * step)) return memory;
  std::abort();
}
NEKTON_NOINLINE void operator delete(void* memory) noexcept { std::free(memory); }
NEKTON_NOINLINE void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
NEKTON_NOINLINE void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
NEKTON_NOINLINE void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#undef NEKTON_NOINLINE
