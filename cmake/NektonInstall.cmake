# Installs the libraries and their headers, with a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

set(nekton_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/nekton")
get_property(nekton_rooms GLOBAL PROPERTY NEKTON_ROOMS)
install(TARGETS nekton ${nekton_rooms} EXPORT nektonTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT nektonTargets NAMESPACE nekton:: DESTINATION "${nekton_cmake_dir}")
foreach(room IN ITEMS phi stm swim lease transport)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${room}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/nekton"
          FILES_MATCHING PATTERN "*.h")
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/nektonConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/nektonConfig.cmake" INSTALL_DESTINATION "${nekton_cmake_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/nektonConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/nektonConfig.cmake" "${PROJECT_BINARY_DIR}/nektonConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/NektonDependencies.cmake" DESTINATION "${nekton_cmake_dir}")

# The .pc file names the archives from the top down, as a static link wants them.
get_property(archives GLOBAL PROPERTY NEKTON_ARCHIVES)
list(REVERSE archives)
list(TRANSFORM archives PREPEND "-l")
list(JOIN archives " " NEKTON_PC_LIBS)
list(TRANSFORM NEKTON_ABSL REPLACE "^absl::" "absl_" OUTPUT_VARIABLE requires)
list(APPEND requires libxxhash libsodium)
if(NEKTON_WITH_UV)
  list(APPEND requires "libuv >= 1.44")
endif()
if(NEKTON_WITH_SQLITE)
  list(APPEND requires "sqlite3 >= 3.37")
endif()
if(NEKTON_WITH_ETCD)
  list(APPEND requires libcurl)
endif()
list(JOIN requires ", " NEKTON_PC_REQUIRES)
foreach(dir IN ITEMS LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    set(NEKTON_PC_${dir} "${CMAKE_INSTALL_${dir}}")
  else()
    set(NEKTON_PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
# The prefix is found from where the file lies, so that what is installed may be moved, and so may the prefix be another
# one than that of the configuration.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(NEKTON_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(NEKTON_PC_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/nekton.pc.in" "${PROJECT_BINARY_DIR}/nekton.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/nekton.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
