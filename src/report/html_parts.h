#pragma once
// The parts of report.html. Each returns a piece of HTML whose tags are balanced.

#include <string>
#include <string_view>

#include "poslens/analysis.h"
#include "report/over_layers.h"

namespace poslens {

// --- html_text.cc ---

// For text and for attribute values in double quotes; bytes that are no UTF-8 become U+FFFD.
std::string escape_html(std::string_view text);

// Escaped text with the minus signs and the unbreakable spaces of numbers in print.
std::string prose(std::string_view text);

// "value ± standard error"; a dash when the value is not finite.
std::string format_estimate(const Estimate& estimate);
// The same in per cent: "45.2 ± 0.3 %".
std::string format_share(const Estimate& share);

// --- html_answer.cc ---

// The answer in words, then as a bar for each cell: what is left of the position signal, and how
// much of that is not relative, from the findings.
std::string answer_part(const Analysis& analysis);

// --- html_summary.cc ---

// A card for each cell: size of the position signal and non-relative share, medians over layers.
std::string key_numbers(const Analysis& analysis);
// What was averaged over what, by which command; differences between cells listed per cell.
std::string methods(const Analysis& analysis);

// --- html_curves.cc ---

// Non-relative share by layer with and without key 0, and the signal's size, as inline SVG.
std::string curves(const Analysis& analysis);
// Shares of the effects of encoding and mask by layer, and how much of each is not relative; empty
// without effects.
std::string effects(const Analysis& analysis);
// Loss by position where it was measured, as means over bins that grow; else empty.
std::string losses(const Analysis& analysis);

// --- html_table.cc ---

// Non-relative share of every layer and cell; then, for each cell, all measures of every layer.
std::string tables(const Analysis& analysis);

// --- html_decoding.cc ---

// How well one token's state tells its position, places by cells; empty where it was not decoded.
std::string decoding_table(const Analysis& analysis);

// --- html_maps.cc ---

// Small multiples of all layers, a large map and their controls; the scripts draw them from the
// values in map_data().
std::string heat_maps(const Analysis& analysis);
// Curves of the layer that is chosen there, by distance and by key position.
std::string layer_curves(const Analysis& analysis);
// A JSON script element with palettes, maps pooled to blocks of so many values, and curves.
std::string map_data(const Analysis& analysis, std::size_t block);
// The smallest block with which all maps take at most `limit` characters; at least so large that
// a map has no more values than a screen shows.
std::size_t block_within(const Analysis& analysis, std::size_t limit);

}  // namespace poslens
