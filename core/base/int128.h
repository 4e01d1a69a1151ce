// Integers of 128 bits.

#pragma once

namespace weald {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

}  // namespace weald
