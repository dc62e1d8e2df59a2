// The names of what a translation unit compiled once per ISA level exports.
#pragma once

#define TL_JOIN_(a, b) a##_##b
#define TL_JOIN(a, b) TL_JOIN_(a, b)
#define TL_STRING_(a) #a
#define TL_STRING(a) TL_STRING_(a)
// fill_casts_v3, say.
#define TL_FILL(name) TL_JOIN(TL_JOIN(fill, name), TL_ISA)
