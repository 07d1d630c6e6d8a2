// Texts that an editor or a shell of Windows wrote, as UTF-8.
#pragma once

#include <string>

namespace weft {

// Without the byte order mark, and from UTF-16 where the mark says so, as PowerShell's `>` writes; other texts as they are. What is no
// UTF-16 (half of a pair) becomes U+FFFD.
std::string as_utf8(std::string text);

}  // namespace weft
