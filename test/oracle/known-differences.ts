import type { Difference } from '../fuzz/known-differences.ts'

/** Intended differences between our libraries and cel-go's. */
export const EXTENSION_DIFFERENCES: readonly Difference[] = [
  {
    name: 'a search that begins behind the end',
    where: /^'hello mellow'\.indexOf\('ello', 20\)$/,
    reason: 'cel-spec (string_ext/value_errors/indexof_out_of_range): an error; cel-go returns -1',
  },
  {
    name: "Go's own notations of doubles",
    where: /^double\('(?:0x1p-2|1_0)'\)$/,
    reason: 'CEL writes doubles without hexadecimals and underscores',
  },
  {
    name: 'the empty zone and the local one',
    where: /\.get\w+\('(?:|Local)'\)$/,
    reason: 'cel-spec: a zone is an offset or a name of the time zone database',
  },
  {
    name: 'ints and doubles that only rounding makes equal',
    where: /^dyn\(9007199254740993\) == 9007199254740992\.0$/,
    reason: 'cel-spec: numbers compare as if on one line of exact numbers',
  },
  {
    name: 'numbers of another kind in a list or map',
    where: /^(?:1 in \[1\.0\]|1\.0 in \{1: 'a'\})$/,
    reason: 'cel-go returns the same where the types are dyn; its checker refuses them otherwise',
  },
  {
    name: 'a key that is given twice',
    where: /^\{'a': 1, 'a': 2\}$/,
    reason: 'cel-spec: an error; cel-go keeps the last',
  },
]
