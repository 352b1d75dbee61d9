import { hashOf } from '../../model/hash.ts'
import type { Point } from '../points.ts'
import { ACCOUNTS } from './accounts.ts'
import type { Entry } from './entries.ts'

/**
 * Policies on a way that decide about requests and that no comparison looks into, such as `csrf`:
 * by kind, what they say. Two ways on which they differ are not alike, whatever their rules say.
 */
export function unlookedAt(points: readonly Point[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { stage, effective } of points) {
    for (const [kind, policies] of effective) {
      const values = policies.map(({ value }) => partsOf(kind, value))
      if (stage === 'connection' || values.every((one) => one === undefined)) continue
      found[kind] = `${found[kind] ?? ''}${hashOf(values)}`
    }
  }
  return found
}

/** Undefined where all of it is accounted for. */
function partsOf(kind: string, value: unknown): unknown {
  const account = ACCOUNTS.get(`policy(${kind})`)
  if (account === undefined) return value
  if (account.opens !== true || typeof value !== 'object' || value === null) return undefined
  const own = Object.entries(value).filter(([key, part]) => {
    const known = ACCOUNTS.get(`policy(${kind}).value.${key}`)
    // What a way has alone: whether it does without is for the conditions of the account to say.
    return known === undefined || known.decides?.(part) === true
  })
  return own.length === 0 ? undefined : own
}

/** The kinds in which the two are not alike. */
export function unlookedKinds(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): readonly string[] {
  const kinds = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...kinds].filter((kind) => one[kind] !== other[kind])
}

/**
 * Where a rule of any provider reads the model, requests that name none are denied by all of them,
 * whatever the rule says.
 */
export function withModelRules(entries: readonly Entry[]): readonly Entry[] {
  const keyOf = ({ way, match }: Entry) => `${way} ${match?.id ?? ''}`
  const reading = new Set(entries.filter(readsModel).map(keyOf))
  if (reading.size === 0) return entries
  return entries.map((entry) =>
    reading.has(keyOf(entry))
      ? { ...entry, unlooked: { ...entry.unlooked, 'rules about models': '' } }
      : entry,
  )
}

function readsModel({ provider, points }: Entry): boolean {
  if (provider === undefined) return false
  const reads = points.flatMap(({ rules }) => rules.flatMap((rule) => rule.reads))
  return reads.some(({ variable, fields }) => variable === 'llm' && fields[0] !== 'provider')
}
