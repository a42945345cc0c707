// Counts the allocations of the whole program by replacing operator new. For the one .cc file of a test program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace nekton {
inline std::uint64_t allocations = 0;  // calls of operator new so far; for programs of one thread
inline std::uint64_t bytes_live = 0;   // as the heap rounds them

inline void* Counted(void* memory) {
  if (memory == nullptr) std::abort();
  bytes_live += malloc_usable_size(memory);
  return memory;
}
inline void Free(void* memory) {
  bytes_live -= malloc_usable_size(memory);
  std::free(memory);
}
}  // namespace nekton

// Not inlined: gcc would see one half of a pair at a time and warn of a mismatch of new and free.
#define NEKTON_NOINLINE __attribute__((noinline))

NEKTON_NOINLINE void* operator new(std::size_t size) {
  ++nekton::allocations;
  return nekton::Counted(std::malloc(size == 0 ? 1 : size));
}
NEKTON_NOINLINE void* operator new(std::size_t size, std::align_val_t alignment) {
  ++nekton::allocations;
  const auto step = static_cast<std::size_t>(alignment);
  return nekton::Counted(std::aligned_alloc(step, (size + step - 1) / step * step));
}
NEKTON_NOINLINE void operator delete(void* memory) noexcept { nekton::Free(memory); }
NEKTON_NOINLINE void operator delete(void* memory, std::size_t) noexcept { nekton::Free(memory); }
NEKTON_NOINLINE void operator delete(void* memory, std::align_val_t) noexcept { nekton::Free(memory); }
NEKTON_NOINLINE void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { nekton::Free(memory); }

#undef NEKTON_NOINLINE
