import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import type { OwnPage } from '../../exchange/own-page.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { Step } from '../../exchange/step.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { secretText } from '../../model/secret.ts'
import type { CompileContext } from '../define.ts'
import { consentPaths, type UserToken } from './user-token-schema.ts'
import type { PageOutcome, TokenOwner, UserTokens } from './user-tokens.ts'

/** An unauthenticated client has no token. */
const NO_USER = { ...reply(403, 'backend-auth'), detail: 'no verified token identifies the user' }
const NOT_SERVED = { ...reply(503, 'backend-auth'), detail: 'user tokens are not available here' }

/** The user's token for the backend, or a response with the link to get one. */
export function findUserToken(
  value: UserToken,
  policy: ValidPolicy,
  context: CompileContext,
): (exchange: Exchange) => Reply | Promise<string | Reply> {
  const { tokens } = context.kept(policy, () => openKept(value, context), 'user tokens')
  if (tokens === undefined) {
    if (context.policyDeps.userTokens !== undefined) {
      context.report({
        code: 'PC0420',
        severity: 'error',
        message: '`oauthUserToken` requires a key in the environment variable `SESSION_KEY`',
        origin: policy.origin,
        hint: 'generate one with `openssl rand -hex 32` and use it for all replicas',
      })
    }
    return () => NOT_SERVED
  }
  return (exchange) => {
    const owner = ownerOf(exchange, value.userClaim)
    return owner === undefined ? NO_USER : found(exchange, tokens, owner)
  }
}

async function found(
  exchange: Exchange,
  tokens: UserTokens,
  owner: TokenOwner,
): Promise<string | Reply> {
  const own = await tokens.find(owner)
  if (own.kind === 'consent') return consentReply(own.link)
  if (own.kind === 'unavailable') return { ...reply(503, 'backend-auth'), detail: own.detail }
  exchange.credentialRejected = async () => consentReply(await own.rejected())
  return own.token
}

/** The user of the token that was verified last, by the closest level. */
function ownerOf(exchange: Exchange, claim: string): TokenOwner | undefined {
  for (let own = exchange.identity; own !== undefined; own = own.earlier) {
    if (own.variable !== 'jwt') continue
    const { iss: issuer, [claim]: subject } = own.value
    if (typeof issuer !== 'string' || typeof subject !== 'string') return undefined
    return { issuer, subject }
  }
  return undefined
}

function consentReply(link: string): Reply {
  const message = `This server requires your consent. Open ${link}`
  const challenge = `Consent realm="portcullis", uri="${link}"`
  const headers = headerEdit({
    set: [
      { name: 'www-authenticate', value: challenge },
      { name: 'cache-control', value: 'no-store' },
    ],
  })
  const own = reply(401, 'backend-auth', '', headers)
  return { ...own, detail: 'the user has not consented', message, link }
}

interface KeptTokens {
  readonly tokens: UserTokens | undefined
  readonly pages: readonly OwnPage[]
}

function openKept(value: UserToken, { policyDeps }: CompileContext): KeptTokens {
  const { clientSecret, signIn, redirectUri } = value
  const paths = consentPaths(value)
  const tokens = policyDeps.userTokens?.({
    issuer: value.issuer,
    authorizationEndpoint: value.authorizationEndpoint,
    tokenEndpoint: value.tokenEndpoint,
    revocationEndpoint: value.revocationEndpoint,
    clientId: value.clientId,
    clientSecret: clientSecret && secretText(clientSecret)?.trim(),
    clientAuthentication: value.clientAuthentication,
    scopes: value.scopes,
    resources: value.resources,
    parameters: value.parameters,
    redirectUri,
    userClaim: value.userClaim,
    signIn: {
      issuer: signIn.issuer,
      clientId: signIn.clientId,
      clientSecret: signIn.clientSecret && secretText(signIn.clientSecret)?.trim(),
      redirectUri: new URL(paths.signedIn, redirectUri).href,
      scopes: signIn.scopes,
    },
  })
  // If no pages are served, no user can consent.
  if (tokens === undefined) return { tokens, pages: [] }
  const { host } = paths
  const page = (path: string, serve: Serve): OwnPage => ({ host, path, step: pageStep(serve) })
  return {
    tokens,
    pages: [
      page(paths.connect, async (query, cookies, exchange) =>
        query === '' && isForeign(exchange) ? FOREIGN : tokens.connect(query, cookies),
      ),
      page(paths.signedIn, (query, cookies) => tokens.signedIn(query, cookies)),
      page(paths.callback, (query, cookies) => tokens.finish(query, cookies)),
      page(paths.disconnect, async (_, cookies, exchange) =>
        isForeign(exchange) ? FOREIGN : tokens.disconnect(cookies),
      ),
    ],
  }
}

type Serve = (
  query: string,
  cookies: string | undefined,
  exchange: Exchange,
) => Promise<PageOutcome | undefined>

const FOREIGN = {
  status: 403,
  message: 'Open this address directly in your browser.',
  detail: 'the request came from a page of another site',
  cookies: [],
} as const

/** A page of another site could disconnect the signed-in user or trigger a consent prompt. */
function isForeign({ request }: Exchange): boolean {
  const site = request.headers.get('sec-fetch-site') ?? 'none'
  return site !== 'none' && site !== 'same-origin'
}

function pageStep(serve: Serve): Step {
  return async (exchange) => {
    const { request } = exchange
    if (request.method !== 'GET') {
      return reply(405, 'bad-request', '', headerEdit({ set: [{ name: 'allow', value: 'GET' }] }))
    }
    const outcome = await serve(request.search, request.headers.get('cookie'), exchange)
    return outcome && replyTo(outcome)
  }
}

/** URLs contain codes: they must not be stored, or sent to other sites. */
const GUARDED = headerEdit({
  set: [
    { name: 'cache-control', value: 'no-store' },
    { name: 'referrer-policy', value: 'no-referrer' },
    { name: 'x-content-type-options', value: 'nosniff' },
    { name: 'content-security-policy', value: "default-src 'none'; frame-ancestors 'none'" },
  ],
})

function replyTo(outcome: PageOutcome): Reply {
  const cookies = outcome.cookies.map((value) => ({ name: 'set-cookie', value }))
  const headers = GUARDED.with(headerEdit({ add: cookies }))
  if ('location' in outcome) {
    const to = headerEdit({ set: [{ name: 'location', value: outcome.location }] })
    return reply(303, 'redirect', '', headers.with(to))
  }
  const { status, message, detail } = outcome
  const reason = status < 400 ? 'direct-response' : 'backend-auth'
  return { ...reply(status, reason, `${message}\n`, headers), detail }
}
