import type { EffectiveRoute, RuleRecord } from './generated/shapes.ts'

/** Responses of the admin API, generated from the OpenAPI document that it serves. */
export type * from './generated/shapes.ts'

export type ActionName = RuleRecord['action']
export type ProtectionName = EffectiveRoute['protection']
export type Counts = Readonly<Record<string, number>>
