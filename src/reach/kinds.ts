import { type IdentityVariable, POLICY_SCHEMAS, type PolicySchema } from '../policies/schema.ts'

/* Which kinds of policies there are for what, as their records say. */

const RECORDS: ReadonlyMap<string, PolicySchema> = new Map(
  POLICY_SCHEMAS.map((record) => [record.kind, record]),
)

export const KNOWN: ReadonlySet<string> = new Set(RECORDS.keys())

/** All of them that reach a point hold there; of other kinds, one does. */
export const COMPOSING: ReadonlySet<string> = kindsThat(({ composes }) => composes)

/** The variables by which each kind says who asks. */
export const IDENTIFYING: ReadonlyMap<string, readonly IdentityVariable[]> = new Map(
  POLICY_SCHEMAS.filter(({ identifies }) => identifies.length > 0).map(({ kind, identifies }) => [
    kind,
    identifies,
  ]),
)

/** Every variable that says who asks. */
export const IDENTITY_VARIABLES: readonly IdentityVariable[] = [
  ...new Set([...IDENTIFYING.values()].flat()),
]

export function recordOf(kind: string): PolicySchema | undefined {
  return RECORDS.get(kind)
}

export function kindsThat(holds: (record: PolicySchema) => boolean): ReadonlySet<string> {
  return new Set(POLICY_SCHEMAS.filter(holds).map(({ kind }) => kind))
}
