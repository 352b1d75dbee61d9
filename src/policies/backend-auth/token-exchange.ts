import { createHash } from 'node:crypto'
import type { Exchange } from '../../exchange/exchange.ts'
import type { CallService, NoResponse, ServiceResponse } from '../../exchange/service-call.ts'
import { secretText } from '../../model/secret.ts'
import { FORM } from '../credential-source.ts'
import { isSendable } from '../sent-key.ts'
import type { TokenExchange } from './schema.ts'

/** Why there is no token; the client receives only the status. */
export interface ExchangeFailure {
  readonly status: 403 | 500 | 503
  /** For the log. */
  readonly detail: string
}

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const MAX_BYTES = 65_536
/** Max number of cached tokens; the least recently used is evicted first. */
const MAX_KEPT = 10_000
/**
 * Milliseconds before expiry when a token is no longer used: clocks differ and requests take time.
 */
const MARGIN = 30_000
/** If the server does not send the lifetime of a token (RFC 8693 §2.2.1: only recommended). */
const DEFAULT_LIFE = 60_000
/** Max lifetime in the cache, whatever the server says: the client's token may be revoked. */
const MAX_LIFE = 3_600_000

interface Kept {
  readonly token: string
  /** According to the monotonic clock. */
  readonly until: number
}

/** Tokens obtained for client tokens. They survive reloads, and never outlive the client tokens. */
export class ExchangedTokens {
  readonly #value: TokenExchange
  readonly #kept = new Map<string, Kept>()
  /** Concurrent requests of one client share one exchange. */
  readonly #asked = new Map<string, Promise<string | ExchangeFailure>>()

  constructor(value: TokenExchange) {
    this.#value = value
  }

  find(
    exchange: Exchange,
    ask: CallService,
    subject: string,
    now: () => number,
  ): string | ExchangeFailure | Promise<string | ExchangeFailure> {
    const key = createHash('sha256').update(subject).digest('base64url')
    const known = this.#kept.get(key)
    if (known !== undefined && known.until > now()) {
      this.#kept.delete(key)
      this.#kept.set(key, known)
      return known.token
    }
    this.#kept.delete(key)
    const pending = this.#asked.get(key)
    if (pending !== undefined) return pending
    const asked = this.#exchange(exchange, ask, subject, key, now).finally(() =>
      this.#asked.delete(key),
    )
    this.#asked.set(key, asked)
    return asked
  }

  async #exchange(
    exchange: Exchange,
    ask: CallService,
    subject: string,
    key: string,
    now: () => number,
  ): Promise<string | ExchangeFailure> {
    const { path, timeout } = this.#value
    const form = this.#formOf(subject)
    if (form === undefined) return { status: 500, detail: 'the client secret is empty' }
    const sentAt = now()
    const response = await ask(exchange, {
      method: 'POST',
      path,
      authority: '',
      headers: [...FORM, ...form.headers],
      body: new TextEncoder().encode(form.body),
      timeout,
      maxBytes: MAX_BYTES,
    })
    const issued = readIssued(response, subject)
    if ('status' in issued) return issued
    const left = Math.min(issued.life ?? DEFAULT_LIFE, lifeOf(subject), MAX_LIFE)
    const until = sentAt + left - Math.min(MARGIN, left / 2)
    this.#keep(key, { token: issued.token, until })
    return issued.token
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest)
  }

  /** Undefined: the secret is not available. */
  #formOf(subject: string) {
    const { clientId, clientSecret, clientAuthentication, subjectTokenType } = this.#value
    const { audiences, resources, scopes } = this.#value
    const form = new URLSearchParams({
      grant_type: GRANT,
      subject_token: subject,
      subject_token_type: subjectTokenType,
      requested_token_type: ACCESS_TOKEN,
    })
    for (const audience of audiences) form.append('audience', audience)
    for (const resource of resources) form.append('resource', resource)
    if (scopes.length > 0) form.set('scope', scopes.join(' '))
    const headers: (readonly [string, string])[] = []
    const secret = clientSecret && secretText(clientSecret)?.trim()
    if (clientSecret !== undefined && (secret === undefined || secret === '')) return undefined
    if (secret === undefined || clientAuthentication === 'Post') {
      form.set('client_id', clientId)
      if (secret !== undefined) form.set('client_secret', secret)
    } else {
      // RFC 6749 §2.3.1: both are form-encoded first.
      const pair = `${formEncoded(clientId)}:${formEncoded(secret)}`
      headers.push(['authorization', `Basic ${Buffer.from(pair).toString('base64')}`])
    }
    return { body: form.toString(), headers }
  }
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

interface Issued {
  readonly token: string
  readonly life: number | undefined
}

/** RFC 8693 §2.2; an unexpected response yields no token. */
function readIssued(
  response: ServiceResponse | NoResponse,
  subject: string,
): Issued | ExchangeFailure {
  if ('failure' in response) return { status: 503, detail: `token endpoint: ${response.failure}` }
  const { status } = response
  const body = jsonOf(response.body)
  if (status >= 400 && status < 500 && status !== 429) {
    const error = typeof body?.['error'] === 'string' ? body['error'] : ''
    // Errors of the gateway's configuration are not the client's fault.
    const isOurs = status === 401 || error === 'invalid_client' || error === 'unauthorized_client'
    const word = /^[\w-]{1,64}$/.test(error) ? ` ${error}` : ''
    return { status: isOurs ? 500 : 403, detail: `token endpoint: status ${status}${word}` }
  }
  if (status !== 200) return { status: 503, detail: `token endpoint: status ${status}` }
  const { access_token: token, token_type: type, expires_in: life } = body ?? {}
  if (typeof token !== 'string' || !isSendable(token)) {
    return { status: 503, detail: 'token endpoint: the response contains no token' }
  }
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    return { status: 503, detail: 'token endpoint: the token is not a bearer token' }
  }
  if (token === subject)
    return { status: 503, detail: "token endpoint: returned the client's own token" }
  const seconds = typeof life === 'number' && Number.isFinite(life) && life > 0 ? life : undefined
  return { token, life: seconds === undefined ? undefined : seconds * 1_000 }
}

function jsonOf(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

/** Milliseconds until the client's token, which was verified, expires. */
function lifeOf(subject: string): number {
  const [, payload = ''] = subject.split('.')
  const claims = jsonOf(Buffer.from(payload, 'base64url'))
  const exp = claims?.['exp']
  return typeof exp === 'number' ? Math.max(0, exp * 1_000 - Date.now()) : Number.POSITIVE_INFINITY
}
