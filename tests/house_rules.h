// The rules of the house as functions over text, so that they can be tried on bad text too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nekton::house {

// Comments become blanks; line breaks stay. Without `keep_strings` what is inside literals becomes blank as well.
std::string StripComments(std::string_view code, bool keep_strings);

// What `text`, as the file `path` ("swim/engine.cc") of a room, includes or calls against the rules; one line each,
// "path:line: why". A file outside the rooms has none.
std::vector<std::string> Trespasses(std::string_view path, std::string_view text);

// The names at the top level that were not agreed upon; what .gitignore names there is allowed.
std::vector<std::string> UnknownNames(const std::vector<std::string>& names, std::string_view gitignore);

// Names under the top level that .gitignore lists as "/name/" or "/name".
std::vector<std::string> IgnoredNames(std::string_view gitignore);

// Words about where the project was made, which mean nothing to its readers.
std::vector<std::string> WorkplaceWords(std::string_view text);

std::size_t CountLines(std::string_view text);

}  // namespace nekton::house
