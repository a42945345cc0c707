# How our own targets are built: nothing here touches a global flag or another project's target.

set(NEKTON_ABSL absl::status absl::statusor absl::strings absl::str_format absl::flat_hash_map absl::flat_hash_set
    absl::hash absl::inlined_vector absl::fixed_array absl::function_ref absl::any_invocable absl::cleanup)

add_library(nekton_options INTERFACE)
target_compile_options(nekton_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow
  # The same bits from every compiler: a fused multiply-add rounds once where two operations round twice.
  -ffp-contract=off)
# Not with sanitizers: gcc advises against it, for they bring false warnings (here from <regex>).
if(NEKTON_WERROR AND NOT NEKTON_SANITIZE)
  target_compile_options(nekton_options INTERFACE -Werror)
endif()
if(NEKTON_SANITIZE)
  set(sanitizer_flags "-fsanitize=${NEKTON_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(nekton_options INTERFACE ${sanitizer_flags})
  target_link_options(nekton_options INTERFACE ${sanitizer_flags})
  target_compile_definitions(nekton_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(NEKTON_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "NEKTON_FUZZ needs clang: libFuzzer is a part of it")
  endif()
  target_compile_options(nekton_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(nekton_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# nekton_use_boost_math(<source>...): lets these files alone include Boost.Math. It is headers only and in no header of
# ours, so those who use an installed nekton do not need it.
function(nekton_use_boost_math)
  find_path(NEKTON_BOOST_INCLUDE_DIR boost/math/special_functions/gamma.hpp HINTS "${Boost_INCLUDE_DIR}" ENV BOOST_ROOT)
  mark_as_advanced(NEKTON_BOOST_INCLUDE_DIR)
  if(NOT NEKTON_BOOST_INCLUDE_DIR)
    message(FATAL_ERROR "Boost.Math was not found (boost/math/special_functions/gamma.hpp). Install it (Debian: "
                        "libboost-dev), or set NEKTON_BOOST_INCLUDE_DIR to the directory that holds boost/.")
  endif()
  # The compiler's own directories must not be named again: it would change their order.
  if(NOT NEKTON_BOOST_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-isystem;${NEKTON_BOOST_INCLUDE_DIR}")
  endif()
endfunction()

# <name>_sources := the room's *.cc, looked up anew at every build.
function(nekton_glob_room name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${name}/*.cc")
  set(${name}_sources ${sources} PARENT_SCOPE)
endfunction()

# nekton_add_room(<name> SOURCES ... LINK ...): the library nekton_<name>, for users nekton::<name>. A room of headers
# alone is an INTERFACE library.
function(nekton_add_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "SOURCES;LINK")
  set(target nekton_${name})
  if(room_SOURCES)
    add_library(${target} STATIC ${room_SOURCES})
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    target_link_libraries(${target} PRIVATE nekton::xxhash $<BUILD_INTERFACE:nekton_options>)
    set(scope PUBLIC)
    set_property(GLOBAL APPEND PROPERTY NEKTON_ARCHIVES ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(nekton::${name} ALIAS ${target})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/nekton>)
  target_link_libraries(${target} ${scope} ${room_LINK})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY NEKTON_ROOMS ${target})
endfunction()

# nekton_add_program(<target> <sources>... [WITHOUT_UV]): an executable built as our libraries are, with every room, or
# with those that do without libuv and databases.
function(nekton_add_program target)
  cmake_parse_arguments(PARSE_ARGV 1 program "WITHOUT_UV" "" "")
  add_executable(${target} ${program_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(program_WITHOUT_UV)
    set(rooms nekton_transport)
  else()
    set(rooms nekton)
  endif()
  target_link_libraries(${target} PRIVATE ${rooms} nekton::xxhash nekton_options)
endfunction()
