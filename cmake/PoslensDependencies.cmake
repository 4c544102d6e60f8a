# docs/dependencies.md says what each one is for. All of them are Debian packages.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
# Debian's dnnl package configuration asks for OpenCL's headers, which the CPU engine does not use,
# and libzip's for its command-line tools.
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
if(NOT TARGET poslens::dnnl)
  add_library(poslens::dnnl INTERFACE IMPORTED)
  set_target_properties(poslens::dnnl PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR} INTERFACE_LINK_LIBRARIES ${DNNL_LIBRARY})
endif()
if(POSLENS_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
