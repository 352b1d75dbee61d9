import { hash } from 'node:crypto'
import type { JsonObject } from '../../cel/values/value.ts'
import { freeze } from '../../model/freeze.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type Authenticator, BadCredential, type Challenge } from '../authenticator.ts'
import type { CredentialLocation } from '../credential-location.ts'
import type { CompileContext } from '../define.ts'
import { compileLocation, placeOf } from '../find-credential.ts'
import { type ApiKey, HASH_PREFIX, keyIdentity, validUntil } from './schema.ts'

interface Known {
  readonly identity: JsonObject
  /** Milliseconds since 1970. */
  readonly until: number
}

const MAX_KEY = 4096

const UNKNOWN = new BadCredential('unknown-credential', 'unknown key')
const TOO_LARGE = new BadCredential('too-large', `longer than ${MAX_KEY} characters`)

/** `field`: the path of the value in the policy; empty if it is the whole value. */
export function openApiKey(
  { location, keys }: Omit<ApiKey, 'mode'>,
  policy: ValidPolicy,
  field: string,
  context: CompileContext,
): Authenticator {
  const { date = Date.now } = context.policyDeps
  const { find, remove, credential } = compileLocation(location, policy, field, context)
  const known = new Map(keys.map((key) => [key.keyHash.slice(HASH_PREFIX.length), knownOf(key)]))
  return {
    method: 'api-key',
    variable: 'apiKey',
    challenge: challengeOf(location),
    credential,
    place: placeOf(location),
    discard: remove,
    authenticate(exchange) {
      const key = find(exchange)
      if (key === undefined) return undefined
      remove(exchange)
      if (typeof key !== 'string') return key
      if (key.length > MAX_KEY) return TOO_LARGE
      // Only digests are compared. Timing reveals nothing about a guessed key, since an attacker
      // cannot choose the first bytes of its digest. Keys are random and long, so a slow hash is
      // unnecessary: there is no dictionary of them.
      const found = known.get(hash('sha256', key, 'hex'))
      if (found === undefined) return UNKNOWN
      const late = date() - found.until
      if (late >= 0) return new BadCredential('expired', `${Math.ceil(late / 1000)} s ago`)
      return found.identity
    },
  }
}

function knownOf(key: ApiKey['keys'][number]): Known {
  return { identity: freeze(keyIdentity(key)) as JsonObject, until: validUntil(key) }
}

/** RFC 6750 §3 if the key is a bearer token; otherwise there is no registered scheme. */
function challengeOf(location: CredentialLocation): Challenge {
  const isForProxy = location.kind === 'header' && location.name === 'proxy-authorization'
  const isBearer = location.kind === 'header' && /^bearer $/i.test(location.prefix)
  const scheme = isBearer ? 'Bearer' : 'ApiKey'
  const missing = `${scheme} realm="portcullis"`
  return { missing, bad: isBearer ? `${missing}, error="invalid_token"` : missing, isForProxy }
}
