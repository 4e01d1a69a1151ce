// A forest from the small arrays of a file: what was left out there, since it follows from the rest, is computed again.
//
//   decode      checks every number before it is used, and makes the arrays that Python keeps
//
// docs/model-files.md lists the arrays and what is guessed from them. src/weald/io/derived_values.py makes the same guesses
// when a file is written: + - * / of doubles, whole numbers modulo 2^64, ldexp and rint, so they are the same
// everywhere.

#pragma once

#include "base/threads.h"
#include "files/decoder.h"
#include "files/encoded.h"

namespace weald {

// Throws std::invalid_argument where the arrays do not make a forest.
Decoded decode(const EncodedHead& head, EncodedColumns columns, Work& work);

}  // namespace weald
