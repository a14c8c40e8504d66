// Groups of lanes that sleep: nanosleep, and waits for a phase that is not over. They wait for nothing in particular (Wait::none) and are left
// alone until something is stored; when nobody else can run either, they go on after their time. See schedule.cc.
#pragma once

#include "emulator/launch.h"

namespace kforge::emulator {

// Nanoseconds for which a group that waits for nothing sleeps; 0: it does not. It is kept where a group that waits for lanes keeps which.
inline std::uint32_t sleep_of(const Group& group) { return group.wait == Wait::none ? group.sync_mask : 0; }
inline void set_sleep(Group& group, std::uint32_t nanoseconds) { group.sync_mask = nanoseconds; }

// The lanes go on at the next instruction when something was stored, or `nanoseconds` later. Returns regroup.
Flow sleep_group(Warp& warp, std::uint32_t mask, std::uint32_t nanoseconds);

}  // namespace kforge::emulator
