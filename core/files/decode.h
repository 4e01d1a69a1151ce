// Reconstructs a forest from the small arrays of a file: values that can be computed from the others are not stored.
//
//   decode      checks every number before it is used, and returns the arrays of the forest
//
// docs/deployment/model-files.md lists the arrays and the predictions computed from them.
// src/weald/io/derived_values.py computes the same predictions when a file is written. They use only + - * / of
// doubles, integers modulo 2^64, ldexp and rint, so they are the same everywhere.

#pragma once

#include "base/threads.h"
#include "files/decoder.h"
#include "files/encoded.h"

namespace weald {

// Throws std::invalid_argument if the arrays are not a valid forest.
Decoded decode(const EncodedHead& head, EncodedColumns columns, Work& work);

}  // namespace weald
