#pragma once
// The BOS policy of a Hugging Face folder.

#include <string>
#include <string_view>
#include <vector>

#include "poslens/config.h"
#include "poslens/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace poslens {

// Where tokenizer_config.json (its text; may be empty) has add_bos_token or add_eos_token, they
// rule, as for Llama's, Gemma's and Cohere's tokenizers in transformers 4 (5.24 reads neither
// beside tokenizer.json); else the post-processor of tokenizer.json does. The source says when the
// two disagree. Throws Error when either adds more than one token on a side, or one that does not
// exist.
BosRule read_bos_rule(const Config& tokenizer, std::string_view config_json,
                      const std::string& file, const Vocabulary& vocabulary,
                      const std::vector<bool>& is_added);

}  // namespace poslens
