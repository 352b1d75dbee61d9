import type { ValidPolicy } from '../../model/policy.ts'
import { type Authenticator, BadCredential, type Found } from '../authenticator.ts'
import type { CompileContext } from '../define.ts'
import { compileLocation, placeOf } from '../find-credential.ts'
import { SYSTEM_DEPS, TokenChecker } from './checker.ts'
import type { KeyFault } from './keys.ts'
import { isRejection, type Rejection } from './rejection.ts'
import type { JwtAuthentication } from './schema.ts'
import type { Verified } from './verify.ts'

/** RFC 6750 §3: a client that sent no token gets no error code. */
const MISSING = 'Bearer realm="portcullis"'
const BAD = 'Bearer realm="portcullis", error="invalid_token"'

/** `field`: the path of the value in the policy; empty if it is the whole value. */
export function openJwt(
  value: Omit<JwtAuthentication, 'mode'>,
  policy: ValidPolicy,
  field: string,
  context: CompileContext,
): Authenticator {
  const { location, forward } = value
  const policyDeps = { ...SYSTEM_DEPS, ...context.policyDeps }
  const checker = context.kept(policy, () => new TokenChecker(value, policyDeps), field)
  for (const [issuer, fault] of checker.faults) context.report(faultOf(policy, issuer, fault))
  for (const issuer of checker.keyless) context.report(keylessOf(policy, issuer))
  const { find, remove, credential } = compileLocation(location, policy, field, context)
  return {
    method: 'jwt',
    variable: 'jwt',
    challenge: { missing: MISSING, bad: BAD, isForProxy: false },
    credential,
    place: placeOf(location),
    discard: forward ? () => {} : remove,
    authenticate(exchange) {
      const token = find(exchange)
      if (token === undefined) return undefined
      // A rejected token is not forwarded either: the backend might accept it.
      if (!forward) remove(exchange)
      if (typeof token !== 'string') return token
      const outcome = checker.check(token)
      const newer = isRejection(outcome) ? outcome.source?.refetch() : undefined
      if (newer === undefined) return foundOf(outcome)
      return newer.then(() => foundOf(checker.check(token)))
    },
  }
}

function foundOf(outcome: Verified | Rejection): Found {
  return isRejection(outcome) ? new BadCredential(outcome.fault, outcome.detail) : outcome.claims
}

/**
 * Tokens signed with such a key are rejected; the issuer may have other keys, so it is not an
 * error.
 */
function faultOf({ origin }: ValidPolicy, issuer: string, { index, kid, problem }: KeyFault) {
  const name = kid === '' ? `key ${index + 1}` : `key \`${kid}\``
  return {
    code: 'PC0501',
    severity: 'warning',
    message: `${name} of \`${issuer}\` is ignored: ${problem}`,
    origin,
    hint: 'tokens signed with this key are rejected; publish a supported key',
  } as const
}

function keylessOf({ origin }: ValidPolicy, issuer: string) {
  return {
    code: 'PC0503',
    severity: 'warning',
    message: `all tokens from \`${issuer}\` are rejected: its key set contains no usable key`,
    origin,
    hint: 'add the public keys of the issuer to `jwks`, or set its `url`',
  } as const
}
