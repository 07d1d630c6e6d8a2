// The files of sim/report/page/ and the charts' libraries, as the build has put them into the program (embed.cmake).
#pragma once

#include <string_view>

namespace weft {

std::string_view page_html();
std::string_view page_css();
std::string_view page_script();
std::string_view page_libraries();  // empty where the build found none

}  // namespace weft
