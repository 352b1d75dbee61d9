import { type IdentityVariable, POLICY_SCHEMAS, type PolicySchema } from '../policies/schema.ts'

/* Groups of policy kinds, derived from their records. */

const RECORDS: ReadonlyMap<string, PolicySchema> = new Map(
  POLICY_SCHEMAS.map((record) => [record.kind, record]),
)

export const KNOWN: ReadonlySet<string> = new Set(RECORDS.keys())

/** All policies of these kinds that reach a point apply there; of other kinds, only one does. */
export const COMPOSING: ReadonlySet<string> = kindsThat(({ composes }) => composes)

/** The variables in which each kind puts the client identity. */
export const IDENTIFYING: ReadonlyMap<string, readonly IdentityVariable[]> = new Map(
  POLICY_SCHEMAS.filter(({ identifies }) => identifies.length > 0).map(({ kind, identifies }) => [
    kind,
    identifies,
  ]),
)

/** Every variable that contains a client identity. */
export const IDENTITY_VARIABLES: readonly IdentityVariable[] = [
  ...new Set([...IDENTIFYING.values()].flat()),
]

export function recordOf(kind: string): PolicySchema | undefined {
  return RECORDS.get(kind)
}

export function kindsThat(holds: (record: PolicySchema) => boolean): ReadonlySet<string> {
  return new Set(POLICY_SCHEMAS.filter(holds).map(({ kind }) => kind))
}
