#include "lease/register.h"

#include "absl/strings/str_cat.h"

namespace nekton {

std::string_view Name(RegisterVerdict verdict) {
  switch (verdict) {
    case RegisterVerdict::kYes:
      return "yes";
    case RegisterVerdict::kNo:
      return "no";
    case RegisterVerdict::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string ProblemOf(const RegisterRequest& request) {
  if (request.key.empty()) return "key: it is empty";
  if (request.key.size() > kRegisterKeyMax) {
    return absl::StrCat("key: ", request.key.size(), " bytes, at most ", kRegisterKeyMax);
  }
  if (request.value && request.value->size() > kRegisterValueMax) {
    return absl::StrCat("value: ", request.value->size(), " bytes, at most ", kRegisterValueMax);
  }
  if (request.write && !request.value && request.expected == kAbsent) return "value: nothing to delete";
  return "";
}

}  // namespace nekton
