import type { EffectiveRoute, RuleRecord } from './generated/shapes.ts'

/** What the admin API responds: made from the OpenAPI document that it serves. */
export type * from './generated/shapes.ts'

export type ActionName = RuleRecord['action']
export type ProtectionName = EffectiveRoute['protection']
export type Counts = Readonly<Record<string, number>>
