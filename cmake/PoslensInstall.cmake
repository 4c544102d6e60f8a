# Installs the program, the libraries, the headers, and a package for find_package(poslens).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY POSLENS_LIBRARIES)
add_library(poslens_all INTERFACE)
add_library(poslens::poslens ALIAS poslens_all)
set_target_properties(poslens_all PROPERTIES EXPORT_NAME poslens)
target_link_libraries(poslens_all INTERFACE ${libraries})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/poslens)
install(TARGETS poslens RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS poslens_all ${libraries} EXPORT poslens-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT poslens-targets NAMESPACE poslens:: DESTINATION ${package_folder})
install(DIRECTORY include/poslens ${PROJECT_BINARY_DIR}/include/poslens
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# The libraries are static, so whoever links them needs what they need.
configure_package_config_file(cmake/poslens-config.cmake.in
  ${PROJECT_BINARY_DIR}/poslens-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/poslens-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/poslens-config.cmake
  ${PROJECT_BINARY_DIR}/poslens-config-version.cmake cmake/PoslensDependencies.cmake
  DESTINATION ${package_folder})
