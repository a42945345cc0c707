# cmake -D WAY=install|subdirectory -D SOURCE=... -D BUILD=... -P run.cmake: builds and runs the consumer.
cmake_minimum_required(VERSION 3.22)

set(here "${SOURCE}/tests/consumer")
set(work "${BUILD}/consumer/${WAY}")
file(REMOVE_RECURSE "${work}")
set(configure "${CMAKE_COMMAND}" -S "${here}" -B "${work}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Release)
set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${LAUNCHER}")

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(WAY STREQUAL "install")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix")
  list(APPEND configure "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON")
else()
  list(APPEND configure "-DNEKTON_SOURCE=${SOURCE}")
endif()
execute_process(COMMAND ${configure} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${work}/build/consumer")

if(WAY STREQUAL "install")
  # The same by pkg-config, from a prefix that is not the configured one, and that was moved since.
  file(RENAME "${work}/prefix" "${work}/moved")
  file(GLOB_RECURSE pc "${work}/moved/nekton.pc")
  get_filename_component(pc_dir "${pc}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
  execute_process(COMMAND pkg-config --cflags --libs nekton
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run("${COMPILER}" -std=c++20 "${here}/main.cc" -o "${work}/by_pkgconfig" ${flags})
  run("${work}/by_pkgconfig")
endif()
