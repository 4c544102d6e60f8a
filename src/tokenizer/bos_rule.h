#pragma once
// The BOS policy of a Hugging Face folder.

#include <string>
#include <string_view>
#include <vector>

#include "poslens/config.h"
#include "poslens/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace poslens {

// tokenizer_config.json (its text; may be empty) rules where it has add_bos_token or add_eos_token,
// as in transformers 5; else the post-processor of tokenizer.json does. Throws Error when either
// adds more than one token on a side, or one that does not exist.
BosRule read_bos_rule(const Config& tokenizer, std::string_view config_json,
                      const std::string& file, const Vocabulary& vocabulary,
                      const std::vector<bool>& is_added);

}  // namespace poslens
