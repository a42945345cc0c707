# Uses ccache when it is installed and no other launcher was asked for.
if(DEFINED CMAKE_CXX_COMPILER_LAUNCHER OR DEFINED ENV{CMAKE_CXX_COMPILER_LAUNCHER})
  return()
endif()
find_program(NEKTON_CCACHE ccache)
mark_as_advanced(NEKTON_CCACHE)
if(NEKTON_CCACHE)
  # Without this sloppiness ccache refuses every file that uses a precompiled header; with paths relative to the checkout
  # one checkout's results serve the next.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "CCACHE_NOHASHDIR=1"
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${NEKTON_CCACHE}")
endif()
