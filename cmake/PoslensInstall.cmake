# Installs the program, the libraries, the headers, and a package for find_package(poslens).
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY POSLENS_LIBRARIES)
add_library(poslens_all INTERFACE)
set_target_properties(poslens_all PROPERTIES EXPORT_NAME poslens)
target_link_libraries(poslens_all INTERFACE ${libraries})
add_library(poslens::poslens ALIAS poslens_all)
