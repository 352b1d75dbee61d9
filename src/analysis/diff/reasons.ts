import { canonicalJson } from '../../model/json.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { conditionsAt } from '../points.ts'
import { partsNotCovered } from '../symbolic/covered.ts'
import type { Condition } from '../symbolic/space.ts'
import type { Verdict } from './difference.ts'
import { authenticationsBeyond, authenticationsOf, type Entry } from './entries.ts'
import { LIMITS, otherKinds, READ_BODY, SERVED } from './unlooked.ts'

/** Reasons why a result is unknown, with the part that each is about. */

/** What the authentications of `one` accept and those of `other` do not have. */
export function otherCredentials(one: Entry, other: Entry): string | undefined {
  const beyond = authenticationsBeyond(one, other)
  if (beyond.length === 0) return undefined
  const texts = beyond.map((policy) => {
    const counterpart = authenticationsOf(other).find(({ kind }) => kind === policy.kind)
    if (counterpart === undefined)
      return `the credentials that \`${policy.kind}\` accepts (set only on one side)`
    return `the credentials that \`${policy.kind}\` accepts (${differingKeys(policy, counterpart).join(', ')})`
  })
  return `${[...new Set(texts)].join(' and ')} differ, and no example credentials can be constructed`
}

function differingKeys(a: ValidPolicy, b: ValidPolicy): readonly string[] {
  const [own, other] = [a.value, b.value] as Readonly<Record<string, unknown>>[]
  const keys = new Set([...Object.keys(own ?? {}), ...Object.keys(other ?? {})])
  const found = [...keys].filter((key) => canonicalJson(own?.[key]) !== canonicalJson(other?.[key]))
  return found.length === 0 ? ['where it is attached'] : found
}

/** Policies other than rules that differ, and of which nothing shows the effect. */
export function otherPolicies(one: Entry, other: Entry): string | undefined {
  const kinds = otherKinds(one, other).filter((kind) => !LIMITS.has(kind) && !SERVED.has(kind))
  return kinds.length === 0 ? undefined : unlookedText(kinds)
}

export function otherSourcesText(settings: readonly string[]): string {
  const names = settings.map((name) => `\`${name}\``).join(' and ')
  return `${names} differs, which determines the source address that rules read`
}

export function unlookedText(kinds: readonly string[]): string {
  if (kinds.includes(READ_BODY)) {
    return 'only one side buffers `request.body`, and it rejects bodies that exceed its limit'
  }
  const names = kinds.map((kind) => `\`${kind}\``).join(' and ')
  return `${names} differs between the routes that match, and its effect is not analyzed`
}

export function otherNamesText(one: Entry, other: Entry): string {
  return `the server names of its TCP routes differ: ${one.names || 'none'} and ${other.names || 'none'}`
}

/** Rules of a backend do not stop a response of the gateway itself. */
export const SPLIT_TEXT =
  'it depends on a condition of `directResponse` that the request alone does not determine'

/** The conditions on the ways that are not of a covered form: the first, and how many others. */
export function uncoveredText(entries: readonly Entry[], more: readonly Condition[]): string {
  const conditions = [
    ...entries.flatMap(({ points }) =>
      points.flatMap((point) =>
        conditionsAt(point)
          .filter((one) => !('isEnforced' in one) || one.isEnforced === true)
          .map(({ condition }) => condition),
      ),
    ),
    ...more,
  ]
  const parts = conditions.flatMap(({ term, text, parts: others = [] }) => [
    ...partsNotCovered(term, text),
    ...others.map(({ id }) => id),
  ])
  const [first, ...rest] = [...new Set(parts)]
  if (first === undefined) {
    return conditions.some(({ text }) => HOST_HEADER.test(text)) ? HOST_TWICE : TOO_MANY
  }
  const others = rest.length === 0 ? '' : ` and ${rest.length} more`
  return `it depends on \`${first}\`${others}, which cannot be analyzed, and no example was found`
}

const HOST_HEADER = /\bheaders\b\W{1,3}host\b/i
const HOST_TWICE =
  "it depends on how `request.headers['host']` relates to `request.host`, which is not analyzed, and no example was found"
const TOO_MANY = 'there are too many conditions to analyze together'

/** What happened to the example instead, by name. */
export function insteadText(
  { method, path, host }: { readonly method: string; readonly path: string; readonly host: string },
  route: string,
  denying: Verdict | undefined,
  admitting: Verdict | undefined,
): string {
  const what = `no example was found: ${method} ${path} on ${host}`
  if (admitting?.isAdmitted === true && admitting.route !== route) {
    return `${what} matches route ${admitting.route}`
  }
  if (admitting?.isAdmitted !== true)
    return `${what} is decided by ${admitting?.reason ?? 'nothing'}`
  return `${what} is ${denying?.reason ?? 'not decided'} on both sides`
}
