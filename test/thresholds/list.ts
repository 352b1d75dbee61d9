import { ANALYSIS } from './analysis.ts'
import { CEL } from './cel.ts'
import { CONFIGURATION } from './configuration.ts'
import { PROTOCOLS } from './protocols.ts'
import { RECORDS } from './records.ts'
import type { Group } from './threshold.ts'
import { WIRE } from './wire.ts'

export const GROUPS: readonly Group[] = [
  ...CEL,
  ...ANALYSIS,
  ...CONFIGURATION,
  ...PROTOCOLS,
  ...WIRE,
  ...RECORDS,
]
