import type { ValidPolicy } from '../../model/policy.ts'
import { secretText } from '../../model/secret.ts'
import { type Authenticator, BadCredential, type Found, UNAVAILABLE } from '../authenticator.ts'
import type { CompileContext } from '../define.ts'
import { compileLocation, placeOf } from '../find-credential.ts'
import { type LineFault, parseHtpasswd } from './htpasswd.ts'
import type { BasicAuth } from './schema.ts'
import { type SignedIn, SignIn } from './sign-in.ts'

const MALFORMED = new BadCredential('malformed', 'not a base64-encoded name and password')
const WRONG = new BadCredential('wrong-secret', 'wrong name or password')
const BUSY = new BadCredential(UNAVAILABLE, 'too many pending password checks')

/** `field`: the path of the value in the policy; empty if it is the whole value. */
export function openBasic(
  { htpasswd, realm, location }: Omit<BasicAuth, 'mode'>,
  policy: ValidPolicy,
  field: string,
  context: CompileContext,
): Authenticator {
  const users = parseHtpasswd(secretText(htpasswd) ?? '')
  for (const fault of users.faults) context.report(faultOf(policy, fault))
  const { find, remove, credential } = compileLocation(location, policy, field, context)
  const signIn = context.kept(policy, () => new SignIn(users), field)
  // RFC 7617 §2.1: names and passwords are in UTF-8.
  const challenge = `Basic realm="${realm}", charset="UTF-8"`
  const isForProxy = location.kind === 'header' && location.name === 'proxy-authorization'
  return {
    method: 'basic',
    variable: 'basicAuth',
    challenge: { missing: challenge, bad: challenge, isForProxy },
    credential,
    place: placeOf(location),
    discard: remove,
    authenticate(exchange) {
      const text = find(exchange)
      if (text === undefined) return undefined
      remove(exchange)
      if (typeof text !== 'string') return text
      const credentials = decode(text)
      if (credentials === undefined) return MALFORMED
      const [name, password] = credentials
      const outcome = signIn.check(name, password)
      return outcome instanceof Promise
        ? outcome.then((settled) => foundOf(name, settled))
        : foundOf(name, outcome)
    },
  }
}

function foundOf(username: string, signedIn: SignedIn): Found {
  if (signedIn === undefined) return BUSY
  return signedIn ? { username } : WRONG
}

const MAX_LENGTH = 1024

/** RFC 7617 §2: the name ends at the first colon. */
function decode(text: string): readonly [name: string, password: string] | undefined {
  if (text.length > MAX_LENGTH || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  let decoded: string
  try {
    decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
  const colon = decoded.indexOf(':')
  // RFC 7617 §2 excludes control characters: for some hashes a password ends at the first NUL.
  if (colon <= 0 || /\p{Cc}/u.test(decoded)) return undefined
  return [decoded.slice(0, colon), decoded.slice(colon + 1)]
}

function faultOf({ origin }: ValidPolicy, { line, problem }: LineFault) {
  return {
    code: 'PC0502',
    severity: 'warning',
    message: `htpasswd line ${line} is ignored: ${problem}`,
    origin,
    hint: 'regenerate the line with `htpasswd -nB name`',
  } as const
}
