import type { Check } from './check.ts'
import { openDeny, openGrant } from './checks/absence.ts'
import { exposedUi } from './checks/admin-ui.ts'
import { openOrigins, preflightHeaders } from './checks/cors.ts'
import { globs, impossibleTexts, nestedClaims } from './checks/impossible.ts'
import { unknownModels } from './checks/models.ts'
import { neverMatching } from './checks/never.ts'
import { idleRules, misspeltClaims, unseenClaims } from './checks/observed.ts'
import { keptSlashes, pathBoundaries } from './checks/paths.ts'
import {
  anyAudience,
  forgedClients,
  hiddenAddresses,
  overriddenFields,
  unguardedProviders,
  unusedTargets,
} from './checks/places.ts'
import { denyOnly, redundant, unreachable, wideningAllow } from './checks/sets.ts'
import {
  argumentsOfLists,
  forwardedTokens,
  unguardedServers,
  unknownTools,
  unlistedTools,
} from './checks/tools.ts'
import { addressTexts, headerNames, listClaims, maybeNotBoolean } from './checks/wording.ts'

/** All checks, ordered by the first code that each reports. */
export const CHECKS: readonly Check[] = [
  neverMatching,
  openDeny,
  addressTexts,
  openGrant,
  wideningAllow,
  unusedTargets,
  overriddenFields,
  redundant,
  unreachable,
  maybeNotBoolean,
  pathBoundaries,
  headerNames,
  listClaims,
  hiddenAddresses,
  denyOnly,
  anyAudience,
  unseenClaims,
  unguardedProviders,
  misspeltClaims,
  idleRules,
  impossibleTexts,
  globs,
  nestedClaims,
  preflightHeaders,
  openOrigins,
  keptSlashes,
  unknownTools,
  argumentsOfLists,
  unlistedTools,
  unguardedServers,
  forwardedTokens,
  unknownModels,
  forgedClients,
  exposedUi,
]
