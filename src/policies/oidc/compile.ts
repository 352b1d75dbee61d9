import { createHash } from 'node:crypto'
import { readJson } from '../../cel/values/json-read.ts'
import type { JsonObject } from '../../cel/values/value.ts'
import type { RequestAttributes } from '../../exchange/attributes.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { type HeaderEdit, headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import { type Outcome, runSteps, type Step } from '../../exchange/step.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { secretText } from '../../model/secret.ts'
import { BadCredential, MISSING, reject, UNAVAILABLE, unauthorized } from '../authenticator.ts'
import type { Attachments, CompileContext, Part } from '../define.ts'
import { cookiesOf } from '../find-credential.ts'
import { type Oidc, signInPaths } from './schema.ts'
import type { SignedIn, SignIn, SignInOutcome } from './sign-in.ts'

/** Every one of the policies that apply at the place must accept the request. */
export function compileOidc(policies: Attachments<Oidc>, context: CompileContext): Part {
  const steps = policies.map((policy) => compileOne(policy, context))
  return { step: (exchange) => runSteps(steps, exchange) }
}

/**
 * Not a registered scheme, but RFC 9110 requires a challenge with every 401; browsers do not prompt
 * for a password.
 */
const UNAUTHORIZED = unauthorized(['Cookie realm="portcullis"'], false)
const FOREIGN = {
  ...reply(403, 'authentication'),
  detail: 'a page of another origin requested a logout',
}
const NOT_ALLOWED = (allow: string) =>
  reply(405, 'authentication', '', headerEdit({ set: [{ name: 'allow', value: allow }] }))

function compileOne(policy: ValidPolicy<Oidc>, context: CompileContext): Step {
  const { mode, redirectUri } = policy.value
  const paths = signInPaths(policy.value)
  const signIn = open(policy, context)
  if (signIn === undefined) {
    const why = new BadCredential(UNAVAILABLE, 'the key for session cookies is missing')
    return (exchange) => reject(exchange, policy, 'oidc', why, UNAUTHORIZED)
  }
  const { hostname } = new URL(redirectUri)

  const settle = (exchange: Exchange, found: SignedIn | undefined): Outcome | Promise<Outcome> => {
    const claims = found && claimsOf(found.payload)
    if (found === undefined || claims === undefined) {
      return mode === 'Optional' ? undefined : withoutSession(exchange)
    }
    if (found.cookies.length > 0) {
      // Responses to requests that are denied later need them, too: the old ones may be used up.
      exchange.responseEdit = setCookies(found.cookies).with(exchange.responseEdit)
    }
    exchange.identify(policy, 'jwt', claims)
    return undefined
  }

  const withoutSession = (exchange: Exchange): Outcome | Promise<Outcome> => {
    const { request } = exchange
    if (!isNavigation(request)) return reject(exchange, policy, 'oidc', MISSING, UNAUTHORIZED)
    // Cookies belong to a host: the callback would not receive them.
    if (hostnameOf(request) !== hostname) {
      const why = new BadCredential('missing', `the host of \`redirectUri\` is ${hostname}`)
      return reject(exchange, policy, 'oidc', why, UNAUTHORIZED)
    }
    const begun = signIn.begin(request.pathAndQuery, request.headers.get('cookie'))
    return begun.then((outcome) => {
      const own = replyTo(exchange, policy, outcome)
      if (exchange.rejection === undefined) reject(exchange, policy, 'oidc', MISSING, own)
      return own
    })
  }

  const pages: Readonly<Record<string, (exchange: Exchange) => Outcome | Promise<Outcome>>> = {
    [paths.callback]: async (exchange) => {
      const { request } = exchange
      if (request.method !== 'GET') return NOT_ALLOWED('GET')
      const outcome = await signIn.finish(request.search, request.headers.get('cookie'))
      return replyTo(exchange, policy, outcome)
    },
    [paths.login]: async (exchange) => {
      const { request } = exchange
      if (request.method !== 'GET') return NOT_ALLOWED('GET')
      const outcome = await signIn.begin(returnToOf(request), request.headers.get('cookie'))
      return replyTo(exchange, policy, outcome)
    },
    [paths.logout]: async (exchange) => {
      const { request } = exchange
      if (request.method !== 'GET' && request.method !== 'POST') return NOT_ALLOWED('GET, POST')
      if (isForeign(request)) return FOREIGN
      const outcome = await signIn.logout(request.headers.get('cookie'), returnToOf(request))
      return replyTo(exchange, policy, outcome)
    },
    [paths.backchannelLogout]: async (exchange) => {
      if (exchange.request.method !== 'POST') return NOT_ALLOWED('POST')
      const token = logoutTokenOf(exchange)
      if (token === undefined) return reply(400, 'authentication', 'send a logout_token\n', GUARDED)
      const problem = await signIn.logoutByProvider(token)
      return problem === undefined
        ? reply(200, 'direct-response', '', GUARDED)
        : replyTo(exchange, policy, problem)
    },
  }

  return (exchange) => {
    const page = pages[exchange.request.path]
    if (page !== undefined) return page(exchange)
    const cookies = exchange.request.headers.get('cookie')
    if (cookies === undefined || !OWN_COOKIE.test(cookies)) return settle(exchange, undefined)
    withhold(exchange)
    return signIn.read(cookies).then((found) => settle(exchange, found))
  }
}

function open(policy: ValidPolicy<Oidc>, context: CompileContext): SignIn | undefined {
  const { issuer, clientId, clientSecret, cookieSecret, redirectUri, scopes } = policy.value
  const { signIn } = context.policyDeps
  // If no pages are served, no user can sign in.
  if (signIn === undefined) return undefined
  const opened = context.kept(policy, () => ({
    signIn: signIn({
      issuer,
      clientId,
      clientSecret: clientSecret && secretText(clientSecret),
      redirectUri,
      scopes,
      cookieSecret: cookieSecret && secretText(cookieSecret),
      name: `portcullis-oidc-${digestOf(`${issuer}\n${clientId}\n${redirectUri}`)}`,
    }),
  }))
  if (opened.signIn === undefined) {
    const named =
      cookieSecret === undefined
        ? 'the environment variable `OIDC_COOKIE_SECRET`'
        : '`cookieSecret`'
    context.report({
      code: 'PC0407',
      severity: 'error',
      message: `\`oidc\` requires a random key of 64 hexadecimal digits in ${named}`,
      origin: policy.origin,
      hint: 'generate one with `openssl rand -hex 32` and use it for all replicas',
    })
  }
  return opened.signIn
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

function claimsOf(payload: string): JsonObject | undefined {
  const claims = readJson(payload, { duplicates: 'reject' })
  const isObject = typeof claims === 'object' && claims !== null && !Array.isArray(claims)
  return isObject ? (claims as JsonObject) : undefined
}

/** Whether a user navigates to a page: a script could not read the page of a redirect. */
function isNavigation({ method, headers }: RequestAttributes): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  const mode = headers.get('sec-fetch-mode')
  if (mode !== undefined) return mode === 'navigate'
  if (headers.get('x-requested-with') !== undefined) return false
  return /(?:^|,)\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|,|$)/i.test(
    headers.get('accept') ?? '',
  )
}

/**
 * Whether a page of another origin sent the request: it could sign a user out, and then in as
 * another user. Clients that are not browsers send none of these headers, and are allowed.
 */
function isForeign(request: RequestAttributes): boolean {
  const { headers } = request
  const site = headers.get('sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const origin = headers.get('origin') ?? headers.get('referer')
  return origin !== undefined && URL.parse(origin)?.hostname !== hostnameOf(request)
}

function hostnameOf({ host }: RequestAttributes): string {
  return URL.parse(`http://${host}`)?.hostname ?? host
}

function returnToOf({ query }: RequestAttributes): string {
  return new URLSearchParams(query).get('returnTo') ?? '/'
}

/** OpenID Connect Back-Channel Logout §2.5. */
function logoutTokenOf({ request }: Exchange): string | undefined {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return undefined
  const form = new URLSearchParams(Buffer.from(request.body ?? []).toString('latin1'))
  const tokens = form.getAll('logout_token')
  return tokens.length === 1 ? tokens[0] : undefined
}

/** Sign-in URLs contain codes: they must not be stored, or sent to other sites. */
const GUARDED = headerEdit({
  set: [
    { name: 'cache-control', value: 'no-store' },
    { name: 'referrer-policy', value: 'no-referrer' },
    { name: 'x-content-type-options', value: 'nosniff' },
  ],
})

function replyTo(exchange: Exchange, policy: ValidPolicy, outcome: SignInOutcome): Reply {
  if ('message' in outcome) {
    const { status, message, detail } = outcome
    const own = reply(status, 'authentication', `${message}\n`, GUARDED)
    const fault = status >= 500 ? UNAVAILABLE : 'denied'
    exchange.rejection = { by: policy, method: 'oidc', fault, detail }
    return { ...own, detail: `${fault}: ${detail}` }
  }
  const { location, cookies } = outcome
  const to = headerEdit({ set: [{ name: 'location', value: location }] })
  return reply(303, 'redirect', '', GUARDED.with(to).with(setCookies(cookies)))
}

function setCookies(cookies: readonly string[]): HeaderEdit {
  return headerEdit({ add: cookies.map((value) => ({ name: 'set-cookie', value })) })
}

/** Session cookies of any policy: anyone who has them has the session. */
const OWN_COOKIE = /(?:^|;)\s*(?:__Host-)?portcullis-oidc-/
const OWN_NAME = /^(?:__Host-)?portcullis-oidc-/
const NO_COOKIES = headerEdit({ remove: ['cookie'] })

/** Removes session cookies from forwarded requests. */
function withhold(exchange: Exchange): void {
  const pairs = cookiesOf(exchange)
    .split(';')
    .map((pair) => pair.trim())
  const value = pairs.filter((pair) => pair !== '' && !OWN_NAME.test(pair)).join('; ')
  const edit = value === '' ? NO_COOKIES : headerEdit({ set: [{ name: 'cookie', value }] })
  exchange.requestEdit = exchange.requestEdit.with(edit)
}
