import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import { ruleIdentity } from '../../decisions/summary.ts'
import type { PlacedRule } from '../../placed-rule.ts'
import type { Check } from '../check.ts'
import { aboutRule } from '../finding.ts'
import type { Survey } from '../survey.ts'
import { claimOf, termsOf } from '../terms.ts'

/** Registered claims (RFC 7519, OpenID Connect) and those that most issuers use. */
const KNOWN_CLAIMS: readonly string[] = [
  'acr',
  'amr',
  'aud',
  'auth_time',
  'azp',
  'client_id',
  'email',
  'email_verified',
  'entitlements',
  'exp',
  'family_name',
  'given_name',
  'group',
  'groups',
  'iat',
  'iss',
  'jti',
  'name',
  'nbf',
  'nonce',
  'permissions',
  'preferred_username',
  'realm_access',
  'resource_access',
  'role',
  'roles',
  'scope',
  'scp',
  'sid',
  'sub',
  'tenant',
  'username',
]

/**
 * AZ019: a claim that closely resembles one that tokens have. Claims seen in tokens take precedence
 * over common claims. Without recorded decisions, only misspelled common claims are reported.
 */
export const misspeltClaims: Check = function* (survey, { decisions }) {
  const seen = decisions?.claims ?? new Set<string>()
  for (const { placed, claim, term } of claimReads(survey)) {
    if (KNOWN_CLAIMS.includes(claim) || seen.has(claim)) continue
    const meant = seen.size > 0 ? nearOne(claim, seen) : nearOne(claim, KNOWN_CLAIMS, isTypingSlip)
    if (meant === undefined) continue
    const source = seen.size > 0 ? 'was seen in tokens' : 'is a common claim'
    const said = {
      code: 'AZ019',
      severity: 'warning',
      message: `\`jwt.${claim}\` may be misspelled: \`${meant}\` ${source}`,
      hint: `did you mean \`jwt.${meant}\`?`,
    } as const
    yield { diagnostic: aboutRule(said, placed, term) }
  }
}

function nearOne(
  name: string,
  known: Iterable<string>,
  isNear: (a: string, b: string) => boolean = isSlip,
): string | undefined {
  for (const other of known) if (other.length >= 3 && isNear(name, other)) return other
  return undefined
}

/** Rows of the keyboard, to find adjacent keys. */
const KEYS: readonly string[] = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm']

/**
 * A typo that is unlikely to be a different name, unlike `score` and `scopes`: swapped letters, a
 * letter missing or doubled within the word, or an adjacent key.
 */
function isTypingSlip(a: string, b: string): boolean {
  if (!isSlip(a, b)) return false
  if (a.length !== b.length) {
    const [short, long] = a.length < b.length ? [a, b] : [b, a]
    return short.length >= 4 && !long.startsWith(short) && !long.endsWith(short)
  }
  const at = [...a].findIndex((letter, index) => letter !== b[index])
  if (a[at] === b[at + 1] && a[at + 1] === b[at]) return true
  const [one = '', other = ''] = [a[at], b[at]]
  return KEYS.some(
    (row) =>
      Math.abs(row.indexOf(one) - row.indexOf(other)) === 1 &&
      row.includes(one) &&
      row.includes(other),
  )
}

/** One letter too many, too few or different, or two adjacent letters swapped. */
function isSlip(a: string, b: string): boolean {
  if (a.length > b.length) return isSlip(b, a)
  if (b.length - a.length > 1 || a === b) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  if (a.length < b.length) return a.slice(at) === b.slice(at + 1)
  const isSwapped = a[at] === b[at + 1] && a[at + 1] === b[at]
  return a.slice(at + 1) === b.slice(at + 1) || (isSwapped && a.slice(at + 2) === b.slice(at + 2))
}

/** AZ017: rules that read a claim that no token had. */
export const unseenClaims: Check = function* (survey, { decisions }) {
  if (decisions === undefined || decisions.claims.size === 0) return
  const reported = new Set<string>()
  for (const { placed, claim, term } of claimReads(survey)) {
    if (decisions.claims.has(claim) || reported.has(claim)) continue
    if (nearOne(claim, decisions.claims) !== undefined) continue
    reported.add(claim)
    const said = {
      code: 'AZ017',
      severity: 'info',
      message: `no token in ${decisions.records} recorded decisions had \`${claim}\``,
      hint: `tokens had: ${[...decisions.claims].sort().slice(0, 12).join(', ')}`,
    } as const
    yield { diagnostic: aboutRule(said, placed, term) }
  }
}

function* claimReads({ rules }: Survey) {
  for (const { placed } of rules) {
    const reported = new Set<string>()
    for (const term of termsOf(placed.condition.term)) {
      const claim = claimOf(term)
      if (claim === undefined || reported.has(claim)) continue
      reported.add(claim)
      yield { placed, claim, term }
    }
  }
}

/** AZ020: rules that decided none, or denied all, of the recorded requests. */
export const idleRules: Check = function* ({ rules }, { decisions }) {
  if (decisions === undefined || decisions.records === 0) return
  const { records, decided, first, last } = decisions
  const span = `${records} recorded decisions (${first} to ${last})`
  const info = (placed: PlacedRule, message: string, hint: string): Diagnostic =>
    aboutRule({ code: 'AZ020', severity: 'info', message, hint }, placed)
  for (const { placed } of rules) {
    const { policy, rule } = placed
    const tally = decided.get(ruleIdentity({ ...rule, policy: policy.policy }))
    if (tally === undefined) {
      // A Require rule that is true never decides.
      if (rule.action === 'Require') continue
      const hint =
        'it may be needed for requests that were not recorded; allowed requests are only sampled'
      yield { diagnostic: info(placed, `this rule decided none of ${span}`, hint) }
    } else if (tally.allowed === 0 && tally.denied === records) {
      const hint = 'check the values that it compares: an address may be that of a load balancer'
      yield { diagnostic: info(placed, `this rule denied all of ${span}`, hint) }
    }
  }
}
