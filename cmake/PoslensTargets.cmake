# poslens_library(<folder> SOURCES … [DEPENDS …] [PRIVATE_DEPENDS …] [EMBED …])
# The static library poslens_<folder> of src/<folder>. EMBED takes text files that the program
# carries inside itself; each becomes poslens::embedded::<file name with _ for other characters>.
function(poslens_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS;EMBED" ${ARGN})
  set(target poslens_${folder})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(poslens::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  poslens_compile_options(${target})
  foreach(file IN LISTS ARG_EMBED)
    poslens_embed(${target} ${file})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY POSLENS_LIBRARIES ${target})
endfunction()

function(poslens_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
    -Wold-style-cast -Wimplicit-fallthrough)
  if(POSLENS_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(POSLENS_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${POSLENS_SANITIZE}
      -fno-sanitize-recover=all)
    # GCC's checks make its own library look uninitialised.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${POSLENS_SANITIZE})
  endif()
endfunction()

# Turns a text file into a std::string_view constant declared in <target>'s embedded/<symbol>.h.
function(poslens_embed target file)
  get_filename_component(path ${file} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  get_filename_component(name ${file} NAME)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" symbol ${name})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  add_custom_command(
    OUTPUT ${folder}/${symbol}.cc ${folder}/${symbol}.h
    COMMAND ${CMAKE_COMMAND} -DINPUT=${path} -DSYMBOL=${symbol} -DFOLDER=${folder}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${path} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding ${name}"
    VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${symbol}.cc ${folder}/${symbol}.h)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# poslens_test(<folder> SOURCES … [DEPENDS …] [TOGETHER <suites>]): the GoogleTest
# program test_<folder>. The tests of a suite that runs TOGETHER share one process and what it sets up.
# Its data folder is tests/<folder>/, as the macro POSLENS_TEST_DATA.
function(poslens_test folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;TOGETHER" ${ARGN})
  set(target test_${folder})
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE poslens::${folder} ${ARG_DEPENDS} GTest::gmock
    GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE
    POSLENS_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}" POSLENS_SOURCE="${PROJECT_SOURCE_DIR}")
  poslens_compile_options(${target})
  if(POSLENS_SANITIZE MATCHES undefined)
    # The library is what is checked; in tests these checks double the time to compile.
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
  set(together)
  foreach(suite IN LISTS ARG_TOGETHER)
    string(APPEND together "*${suite}.*:")
    add_test(NAME ${folder}.${suite} COMMAND ${target} --gtest_filter=*${suite}.*)
    set_tests_properties(${folder}.${suite} PROPERTIES LABELS unit TIMEOUT 300)
  endforeach()
  gtest_discover_tests(${target} TEST_PREFIX ${folder}. DISCOVERY_TIMEOUT 60
    TEST_FILTER "-${together}"
    PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
