// Whether this is a build under the address sanitizer, where code runs some ten times slower: tests that go through a whole domain take a part of it.
#pragma once

namespace kforge {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace kforge
