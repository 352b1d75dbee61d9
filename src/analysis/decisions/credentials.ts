import type { ValidPolicy } from '../../model/policy.ts'
import { recordOf } from '../../reach/kinds.ts'
import { credentialsOf, isSingle, verifierOf } from '../scopes.ts'
import { KnownValues } from './known-values.ts'
import type { PolicyName } from './recorded.ts'
import type { RecordedRequest } from './requests.ts'

/**
 * The result of one authentication for a request, regardless of its mode: the credentials were
 * accepted, absent or bad, or the record does not distinguish the last two.
 */
type State = 'accepted' | 'absent' | 'bad' | 'absent-or-bad'

/** What the record contains about the authentications that the request went through. */
export interface KnownCredentials {
  /** Keyed by what they accept, so the same policy has one key in all places and configurations. */
  readonly states: ReadonlyMap<string, State>
  /** The authentications that set each variable; undefined if the record does not contain this. */
  readonly setBy: ReadonlyMap<string, readonly string[]> | undefined
}

/** `met`: the authentications on the way the request took, in the configuration of that time. */
export function credentialsIn(
  recorded: RecordedRequest,
  met: readonly ValidPolicy[],
): KnownCredentials {
  const states = new Map<string, State>()
  const setBy = new Map<string, string[]>()
  for (const { variable, ...name } of recorded.identified ?? []) {
    const policy = met.find((one) => isNamed(one, name))
    if (policy === undefined) continue
    const key = credentialsOf(policy)
    states.set(key, 'accepted')
    setBy.set(variable, [...(setBy.get(variable) ?? []), key])
  }
  const { deniedBy, reason } = recorded.authentication ?? {}
  if (deniedBy !== undefined) {
    const policy = met.find((one) => isNamed(one, deniedBy))
    // If a service or a key set was unreachable, that says nothing about the request.
    if (policy !== undefined && reason !== 'unavailable') {
      states.set(credentialsOf(policy), reason === 'missing' ? 'absent' : 'bad')
    }
  }
  for (const policy of met) {
    const key = credentialsOf(policy)
    if (states.has(key) || !recorded.passed.has(policy.section)) continue
    const state = passedAs(policy)
    const isReported = state === 'accepted' || recorded.identified !== undefined
    if (isReported) states.set(key, state)
  }
  return { states, setBy: recorded.identified && setBy }
}

function isNamed(policy: ValidPolicy, name: PolicyName): boolean {
  return (
    policy.policy === name.policy &&
    policy.kind === name.kind &&
    policy.section === name.section &&
    policy.level === name.level
  )
}

/** The result of a policy that admitted a request without identifying a client. */
function passedAs(policy: ValidPolicy): State {
  const { mode } = policy.value as { readonly mode?: string }
  if (mode === undefined && recordOf(policy.kind)?.callsService === true) return 'accepted'
  switch (modeOf(policy)) {
    case 'Optional':
      return 'absent'
    case 'Permissive':
      return 'absent-or-bad'
    default:
      return 'accepted'
  }
}

function modeOf({ value }: ValidPolicy): string {
  return (value as { readonly mode?: string }).mode ?? 'Strict'
}

/** Whether an authentication admits the request; undefined if unknown. */
export function isAccepted(policy: ValidPolicy, { states }: KnownCredentials): boolean | undefined {
  const mode = modeOf(policy)
  if (mode === 'Permissive') return true
  switch (states.get(credentialsOf(policy))) {
    case 'accepted':
      return true
    case 'absent':
      return mode === 'Optional'
    case 'bad':
      return false
    case 'absent-or-bad':
      return mode === 'Optional' ? undefined : false
    default:
      return undefined
  }
}

/**
 * A variable as seen by the rules that name it `jwt#…`, according to the authentications that
 * provide it; undefined if nothing is known about it.
 */
export function identityFor(
  name: string,
  authentications: readonly ValidPolicy[],
  { states, setBy }: KnownCredentials,
  claims: ReadonlyMap<string, KnownValues>,
): KnownValues | 'unset' | undefined {
  const [variable = '', verifiers = ''] = name.split('#')
  if (verifiers === 'none') return 'unset'
  for (const verifier of verifiers.split('+')) {
    const own = authentications.filter((one) => verifierOf(one) === verifier)
    const [key, ...others] = [...new Set(own.map(credentialsOf))]
    const state = key === undefined || others.length > 0 ? undefined : states.get(key)
    if (key === undefined || state === undefined) return undefined
    if (state !== 'accepted') continue
    if (setBy === undefined) return isSetBy(own) ? claims.get(variable) : undefined
    const by = setBy.get(variable) ?? []
    if (!by.includes(key)) continue
    // With two tokens, the record does not show which of them it contains.
    return new Set(by).size === 1 ? claims.get(variable) : new KnownValues()
  }
  return 'unset'
}

/** Whether every request that passes these authentications has an identity. */
function isSetBy(authentications: readonly ValidPolicy[]): boolean {
  return authentications.every((one) => modeOf(one) === 'Strict' && isSingle(one))
}
