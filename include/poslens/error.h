#pragma once
// Errors that a user can act on.

#include <stdexcept>
#include <string>

namespace poslens {

// Something outside the program is wrong: a file, a text, an option. what() is one sentence that
// names the file and field, what was expected and what was found. The program prints it after
// "poslens: error: " and exits with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The command line is wrong: unknown, contradictory or out of range. Thrown before any work starts;
// the program exits with 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace poslens
