import type { Library } from './define.ts'
import { ENCODERS } from './encoders.ts'
import { GENERAL } from './general.ts'
import { HASH } from './hash.ts'
import { HEADERS_LIBRARY } from './headers.ts'
import { JSON_LIBRARY } from './json.ts'
import { LISTS } from './lists.ts'
import { MATH } from './math.ts'
import { NETWORK } from './network.ts'
import { OPTIONAL } from './optional.ts'
import { QUANTITIES } from './quantities.ts'
import { REGEX } from './regex.ts'
import { REGEX_FUNCTIONS } from './regex-functions.ts'
import { SEMVERS } from './semvers.ts'
import { SETS } from './sets.ts'
import { STANDARD } from './standard.ts'
import { STRINGS } from './strings.ts'
import { TIME } from './time.ts'
import { URL_LIBRARY } from './url.ts'

/** All functions that expressions can call. Overloads of the same name combine in this order. */
export const LIBRARIES: readonly Library[] = [
  STANDARD,
  TIME,
  NETWORK,
  STRINGS,
  MATH,
  LISTS,
  SETS,
  ENCODERS,
  OPTIONAL,
  JSON_LIBRARY,
  URL_LIBRARY,
  HEADERS_LIBRARY,
  SEMVERS,
  QUANTITIES,
  HASH,
  REGEX,
  REGEX_FUNCTIONS,
  GENERAL,
]
