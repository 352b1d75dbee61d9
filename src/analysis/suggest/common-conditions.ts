import type { RecordedRequest } from '../decisions/requests.ts'
import { memberOf, oneOf, quoted } from './write-rule.ts'

/** More different values than this do not characterize the permitted clients. */
const MAX_VALUES = 4
const MAX_MEMBERS = 3

type Values = ReadonlyMap<string, unknown>

/**
 * What all of these requests have in common in their identities and headers, as far as the records
 * show it: a claim with few values, members of each of their lists.
 */
export function commonConditions(requests: readonly RecordedRequest[]): readonly string[] {
  const all = requests.map(valuesOf)
  const [first = new Map<string, unknown>()] = all
  return [...first.keys()].flatMap((name) => {
    if (!all.every((own) => own.has(name))) return []
    return conditionOn(
      name,
      all.map((own) => own.get(name)),
    )
  })
}

function conditionOn(name: string, values: readonly unknown[]): readonly string[] {
  if (values.every((value) => typeof value === 'string' || typeof value === 'boolean')) {
    const different = [...new Set(values)].toSorted()
    return different.length <= MAX_VALUES ? [oneOf(name, different)] : []
  }
  if (!values.every((value) => Array.isArray(value))) return []
  const lists = values.map((list) => new Set<unknown>(list))
  const [first = new Set<unknown>()] = lists
  const common = [...first].filter((one) => lists.every((list) => list.has(one)))
  return common
    .filter((one) => typeof one === 'string')
    .slice(0, MAX_MEMBERS)
    .map((one) => `${quoted(one)} in ${name}`)
}

/** All recorded values of a request that a rule can compare. */
function valuesOf({ request }: RecordedRequest): Values {
  const found = new Map<string, unknown>()
  const add = (name: string, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) found.set(name, value)
    else for (const [key, own] of Object.entries(value)) add(memberOf(name, key), own)
  }
  for (const [variable, claims] of Object.entries(request.identity)) add(variable, claims)
  for (const [header, value] of Object.entries(request.headers)) {
    found.set(`request.headers[${quoted(header)}]`, value)
  }
  return found
}
