#pragma once
// Opens a page in headless Chromium, does what a reader would do, and tells what the page shows.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace poslens {

// Each of these objects is a step; what it gives comes back in its place, null when nothing.
//   {"key": "n"}                     presses a key
//   {"click": SELECTOR}              clicks
//   {"choose": [SELECTOR, VALUE]}    fills in a control
//   {"point": [QUERY, KEY]}          points at a pair in the large map: the text of the tip
//   {"hover": SELECTOR}              points at the middle of an element: the text of the tip
//   {"pixel": [QUERY, KEY]}          its colour there: 0xRRGGBB; -1 where transparent
//   {"text": SELECTOR}               the texts of all elements
//   {"csv": SELECTOR}                clicks a button: the file that it downloads
//   {"overflow": true}               how many pixels the page is wider than the window
//   {"overlaps": SELECTOR}           how many pairs of the visible elements overlap
using Json = nlohmann::json;

struct Visit {
  int width = 0;  // of the window, in CSS pixels
  std::vector<Json> steps;
};

struct Seen {
  std::vector<Json> results;  // of each step
  double width = 0;           // of the window, as the page sees it
  std::vector<std::string>
      problems;  // errors, refused requests; what any visit left on the console
};

bool has_browser();
// Opens the page anew for each visit, all in one Chromium. Throws std::runtime_error when it fails.
std::vector<Seen> visit(const std::string& page, const std::vector<Visit>& visits);

}  // namespace poslens
