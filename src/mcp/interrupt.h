// SIGINT and SIGTERM as a descriptor: it can be read from once one of them has arrived.
#pragma once

namespace kforge::mcp {

// Takes both signals over for the rest of the process. The descriptor lives as long. -1: no pipe is to be had.
int interrupt_descriptor();

}  // namespace kforge::mcp
