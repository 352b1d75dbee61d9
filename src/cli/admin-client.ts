import { sentenceOf } from '../diagnostics/system-error.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'

export const DEFAULT_ADMIN = 'http://127.0.0.1:15000'

/** Programs have no session: they use the token of the gateway, if the environment has one. */
const TOKEN = 'PORTCULLIS_ADMIN_TOKEN'

/** Response timeouts in milliseconds; analyses of large configurations take longer. */
const TIMEOUT_MS = 10_000
const ANALYSIS_TIMEOUT_MS = 150_000

/** Returns the decisions of a running gateway, or the reason why they are not available. */
export async function fetchDecisions(
  admin: string,
  path: string,
  environment: Environment,
): Promise<readonly DecisionRecord[] | string> {
  const body = await ask(admin, path, environment, TIMEOUT_MS)
  if (typeof body === 'string') return body
  return (body as { readonly decisions?: readonly DecisionRecord[] }).decisions ?? []
}

/**
 * Returns an analysis of the gateway's configuration, or the reason why it is not available.
 * `body`: sent as JSON by POST.
 */
export async function fetchAnalysis<T extends object>(
  admin: string,
  path: string,
  environment: Environment,
  body?: object,
): Promise<T | string> {
  return (await ask(admin, path, environment, ANALYSIS_TIMEOUT_MS, body)) as T | string
}

async function ask(
  admin: string,
  path: string,
  environment: Environment,
  timeout: number,
  sent?: object,
): Promise<object | string> {
  const content =
    sent === undefined
      ? {}
      : { method: 'POST', body: JSON.stringify(sent), type: 'application/json' }
  const reply = await callAdmin(admin, { path, ...content }, environment, timeout)
  return typeof reply === 'string' ? reply : (JSON.parse(reply.text) as object)
}

interface AdminCall {
  readonly method?: string
  readonly path: string
  readonly body?: string
  /** The content type of the body. */
  readonly type?: string
  readonly ifMatch?: string
}

interface AdminReply {
  readonly text: string
  readonly etag: string | null
}

/** Returns the response of an admin API operation, or the reason why it is not available. */
export async function callAdmin(
  admin: string,
  { method = 'GET', path, body, type, ifMatch }: AdminCall,
  environment: Environment,
  timeout = TIMEOUT_MS,
): Promise<AdminReply | string> {
  const url = urlOf(admin, path)
  if (url === undefined) return `${admin} is neither a URL nor a host:port address`
  const { [TOKEN]: token } = environment
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }),
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
  }
  const signal = AbortSignal.timeout(timeout)
  const content = body === undefined ? {} : { body }
  try {
    const response = await fetch(url, { method, ...content, headers, signal })
    const text = await response.text()
    if (response.ok) return { text, etag: response.headers.get('etag') }
    const { detail } = JSON.parse(text) as { readonly detail?: string }
    return detail ?? `${admin} responded with ${response.status}`
  } catch (error) {
    const { cause, message } = error as Error
    const why = cause instanceof Error ? sentenceOf(cause) : message
    return `cannot reach the admin API at ${admin}: ${why}`
  }
}

/** Accepts `localhost:15000` as well as a URL; parsed as a URL, its scheme would be `localhost`. */
function urlOf(admin: string, path: string): URL | undefined {
  if (/^(?!https?:)[a-z][a-z0-9+.-]*:\/\//i.test(admin)) return undefined
  const base = /^https?:\/\//i.test(admin) ? admin : `http://${admin}`
  return URL.canParse(path, base) ? new URL(path, base) : undefined
}
