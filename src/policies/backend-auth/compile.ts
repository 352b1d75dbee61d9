import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import type { ClientCredential, Identity } from '../../exchange/identity.ts'
import { reply } from '../../exchange/reply.ts'
import type { ResponseStep } from '../../exchange/response-draft.ts'
import type { Outcome, Step } from '../../exchange/step.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { secretText } from '../../model/secret.ts'
import { openAwsCredentials } from '../aws-credentials.ts'
import type { AwsCredentials } from '../aws-keys.ts'
import { openAzureTokens } from '../azure-tokens.ts'
import type { SentLocation } from '../credential-location.ts'
import type { Attachments, CompileContext, Part } from '../define.ts'
import { cookiesOf, removeParameter, withoutCookie } from '../find-credential.ts'
import { isNone, type NoCredential } from '../kept-credential.ts'
import { isSendable } from '../sent-key.ts'
import type { AzureToken, BackendAuth, SentKey, SignedToken, TokenExchange } from './schema.ts'
import { tokenSigner } from './sign-token.ts'
import { ExchangedTokens, type ExchangeFailure } from './token-exchange.ts'
import { findUserToken } from './user-token.ts'
import type { UserToken } from './user-token-schema.ts'

/** A backend that receives no credential, or half of one, might serve the request anyway. */
const FAILED = reply(500, 'backend-auth')

export function compileBackendAuth(
  [policy]: Attachments<BackendAuth>,
  context: CompileContext,
): Part {
  const { further = [], ...value } = policy.value
  const first = stepFor(value, policy, context)
  const response = value.kind === 'user' ? { response: withoutRejected } : {}
  if (further.length === 0) return { step: first, ...response }
  const others = further.map(sendKey)
  const sendOthers: Step = (exchange) => {
    for (const send of others) {
      const outcome = send(exchange)
      if (outcome !== undefined) return outcome
    }
    return undefined
  }
  return {
    ...response,
    step: (exchange) => {
      const outcome = first(exchange)
      return outcome instanceof Promise
        ? outcome.then((reply) => reply ?? sendOthers(exchange))
        : (outcome ?? sendOthers(exchange))
    },
  }
}

function stepFor(
  value: ValidPolicy<BackendAuth>['value'],
  policy: ValidPolicy,
  context: CompileContext,
): Step {
  switch (value.kind) {
    case 'aws':
      return value.accessKeyId === undefined ? signedByEnvironment(policy, context) : signedLater
    case 'azure':
      return sendAzure(value, policy, context)
    case 'exchange':
      return sendExchanged(value, policy, context)
    case 'user':
      return sendUserToken(value, policy, context)
    case 'signed':
      return sendSigned(value, policy, context)
    case 'key':
      return sendKey(value)
    case 'passthrough':
      return passOn(value.location)
  }
}

/**
 * A signature covers the body that the provider receives: only calls to models have a buffered
 * body.
 */
const signedLater: Step = ({ backend }) => {
  return (backend as { readonly type?: unknown } | undefined)?.type === 'ai' ? undefined : FAILED
}

/** The same with fetched credentials, if they are not cached. */
function signedByEnvironment(policy: ValidPolicy, context: CompileContext): Step {
  const find = openAwsCredentials(policy, context)
  const settle = (exchange: Exchange, found: AwsCredentials | NoCredential): Outcome => {
    if (isNone(found)) return { ...reply(503, 'backend-auth'), detail: found.detail }
    exchange.awsCredentials = found
    return undefined
  }
  return (exchange) => {
    const outcome = signedLater(exchange)
    if (outcome !== undefined) return outcome
    const found = find(exchange)
    return found instanceof Promise
      ? found.then((settled) => settle(exchange, settled))
      : settle(exchange, found)
  }
}

function sendKey({ key, location }: SentKey): Step {
  const text = secretText(key)?.trim() ?? ''
  if (!isSendable(text)) return () => FAILED
  const { name } = location
  if (location.kind === 'header') {
    const edit = headerEdit({ set: [{ name, value: `${location.prefix}${text}` }] })
    return (exchange) => {
      exchange.credentialEdit = exchange.credentialEdit.with(edit)
      return undefined
    }
  }
  return (exchange) => (send(exchange, location, text) ? undefined : FAILED)
}

function sendSigned(value: SignedToken, policy: ValidPolicy, context: CompileContext): Step {
  const sign = tokenSigner(value, context.policyDeps.date ?? Date.now)
  if (sign === undefined) {
    const { alg } = value
    context.report({
      code: 'PC0506',
      severity: 'error',
      message: `the \`jwtSign\` key cannot sign with ${alg}`,
      origin: policy.origin,
      hint: 'use a PEM private key that matches `alg`',
    })
    return () => FAILED
  }
  return (exchange) => (send(exchange, value.location, sign()) ? undefined : FAILED)
}

/** Sends a token for the gateway's own identity. */
function sendAzure(value: AzureToken, policy: ValidPolicy, context: CompileContext): Step {
  const tokens = openAzureTokens(value.identity, policy, context)
  const settle = (exchange: Exchange, found: string | { readonly detail: string }): Outcome => {
    if (typeof found !== 'string') return { ...reply(503, 'backend-auth'), detail: found.detail }
    return send(exchange, value.location, found) ? undefined : FAILED
  }
  return (exchange) => {
    const found = tokens(exchange)
    return found instanceof Promise
      ? found.then((settled) => settle(exchange, settled))
      : settle(exchange, found)
  }
}

/** Sends a token for the backend instead of the client's own. */
function sendExchanged(value: TokenExchange, policy: ValidPolicy, context: CompileContext): Step {
  const ask = context.connect(value.target, policy, '1.1')
  const { now } = context
  const tokens = context.kept(policy, () => new ExchangedTokens(value), 'tokens')
  const settle = (exchange: Exchange, found: string | ExchangeFailure): Outcome => {
    if (typeof found !== 'string') {
      return { ...reply(found.status, 'backend-auth'), detail: found.detail }
    }
    return send(exchange, value.location, found) ? undefined : FAILED
  }
  return (exchange) => {
    const subject = subjectOf(exchange)
    if (subject === undefined) return NO_SUBJECT
    const found = tokens.find(exchange, ask, subject, now)
    return found instanceof Promise
      ? found.then((settled) => settle(exchange, settled))
      : settle(exchange, found)
  }
}

/** Sends the token that the user granted the gateway for the backend. */
function sendUserToken(value: UserToken, policy: ValidPolicy, context: CompileContext): Step {
  const find = findUserToken(value, policy, context)
  return async (exchange) => {
    const found = await find(exchange)
    if (typeof found !== 'string') return found
    return send(exchange, value.location, found) ? undefined : FAILED
  }
}

/** A token that the backend rejects is not sent again, and the response links to a new consent. */
const withoutRejected: ResponseStep = (exchange, { status, isOwn }) =>
  status === 401 && !isOwn ? exchange.credentialRejected?.() : undefined

/** An unauthenticated client has no token to exchange. */
const NO_SUBJECT = { ...reply(403, 'backend-auth'), detail: 'the request has no token to exchange' }

/** The token that was verified last, by the closest level. */
function subjectOf(exchange: Exchange): string | undefined {
  for (let own = exchange.identity; own !== undefined; own = own.earlier) {
    if (own.variable === 'jwt' && own.credential !== undefined) return own.credential.read(exchange)
  }
  return undefined
}

/**
 * Sends verified credentials only: an authentication removes credentials that it rejects from the
 * forwarded request, and unchecked ones are forwarded unchanged.
 */
function passOn(location: SentLocation | undefined): Step {
  return (exchange) => {
    for (const { location: own, read } of credentialsOf(exchange.identity)) {
      const place = location ?? (own as SentLocation | undefined)
      const text = read(exchange)
      // An expression computed it from the request and left it in place.
      if (place === undefined) continue
      if (text === undefined || !send(exchange, place, text)) return FAILED
      // One location has room for one credential: the latest, from the closest level.
      if (location !== undefined) return undefined
    }
    return undefined
  }
}

function* credentialsOf(newest: Identity | undefined): Generator<ClientCredential> {
  for (let one = newest; one !== undefined; one = one.earlier) {
    if (one.credential !== undefined) yield one.credential
  }
}

/** False if the string is not valid at that location. */
function send(exchange: Exchange, location: SentLocation, text: string): boolean {
  const { name } = location
  switch (location.kind) {
    case 'header':
      if (!isSendable(text)) return false
      set(exchange, name, `${location.prefix}${text}`)
      return true
    case 'cookie': {
      // RFC 6265 §4.1.1
      if (!/^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/.test(text)) return false
      const others = withoutCookie(cookiesOf(exchange, exchange.sentEdit), name)
      set(exchange, 'cookie', `${others === '' ? '' : `${others}; `}${name}=${text}`)
      return true
    }
    case 'queryParameter': {
      removeParameter(exchange, name)
      const pair = `${encodeURIComponent(name)}=${encodeURIComponent(text)}`
      const { credentialQuery } = exchange
      exchange.credentialQuery = credentialQuery === '' ? pair : `${credentialQuery}&${pair}`
      return true
    }
  }
}

function set(exchange: Exchange, name: string, value: string): void {
  const edit = headerEdit({ set: [{ name, value }] })
  exchange.credentialEdit = exchange.credentialEdit.with(edit)
}
