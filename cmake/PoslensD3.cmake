# The parts of D3 that the report carries, as one file: ${PROJECT_BINARY_DIR}/d3.js. Debian's
# node-d3-* packages (scripts/install-deps.sh) have them one by one; all of D3 is twice as long.
set(POSLENS_D3 ${PROJECT_BINARY_DIR}/d3.js)
file(READ ${PROJECT_SOURCE_DIR}/src/report/d3_licence.txt d3)
foreach(module IN ITEMS array collection color format interpolate time time-format scale path shape
                        selection axis)  # each after those that it uses
  find_file(D3_${module} d3-${module}.min.js NO_CACHE NO_DEFAULT_PATH
    PATHS ${POSLENS_D3_FOLDER} /usr/share/nodejs/d3-${module}/dist
          /usr/share/javascript/d3-${module})
  if(NOT D3_${module})
    message(FATAL_ERROR "d3-${module}.min.js, which the report needs, was not found: install the "
      "Debian packages node-d3-axis, node-d3-scale, node-d3-selection and node-d3-shape "
      "(scripts/install-deps.sh build), or set POSLENS_D3_FOLDER to a folder with the files")
  endif()
  file(READ ${D3_${module}} text)
  string(APPEND d3 "${text}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${D3_${module}})
endforeach()
file(WRITE ${POSLENS_D3}.new "${d3}")
file(COPY_FILE ${POSLENS_D3}.new ${POSLENS_D3} ONLY_IF_DIFFERENT)
