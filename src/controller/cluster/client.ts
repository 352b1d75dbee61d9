import { Agent, type RequestOptions, request } from 'node:https'
import type { Credentials } from './credentials.ts'

export interface KubeResponse {
  readonly status: number
  /** Parsed if it was JSON, otherwise the text. */
  readonly body: unknown
}

export interface KubeRequest {
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal
}

/** One event of a watch. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: unknown
}

/** Everything that the controller needs of an API server. */
export interface KubeClient {
  request(method: string, path: string, options?: KubeRequest): Promise<KubeResponse>
  /**
   * Resolves when the server ends the stream; rejects with KubeError for any status other than 200.
   */
  watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>
}

/** An error response of an API server. */
export class KubeError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export const MERGE_PATCH = 'application/merge-patch+json'
export const APPLY_PATCH = 'application/apply-patch+yaml'

/** An API server that accepts a connection but never responds counts as unreachable. */
const REQUEST_TIMEOUT = 30_000
/** Longer than the timeout that watches request from the server. */
const WATCH_SILENCE = 330_000
/** No Kubernetes object is larger than 1.5 MiB; lists are paginated. */
const MAX_RESPONSE_BYTES = 256 * 2 ** 20

/** A client over node:https: only list, watch, get, create and patch are needed. */
export class HttpsKubeClient implements KubeClient {
  readonly #credentials: Credentials
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })

  constructor(credentials: Credentials) {
    this.#credentials = credentials
  }

  request(method: string, path: string, options: KubeRequest = {}): Promise<KubeResponse> {
    const { body, contentType = 'application/json', signal } = options
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const headers = text === undefined ? {} : { 'content-type': contentType }
      const sent = request(this.#options(method, path, headers, signal), (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > MAX_RESPONSE_BYTES) sent.destroy(new Error('the response is too large'))
          else chunks.push(chunk)
        })
        response.on('error', reject)
        response.on('end', () => {
          const written = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, body: parsed(written) })
        })
      })
      sent.setTimeout(REQUEST_TIMEOUT, () =>
        sent.destroy(new Error('the API server does not respond')),
      )
      sent.on('error', reject)
      sent.end(text)
    })
  }

  watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = request(this.#options('GET', path, {}, signal), (response) => {
        let rest = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n')
          rest = lines.pop() ?? ''
          if (response.statusCode !== 200) {
            rest = chunk
            return
          }
          try {
            for (const line of lines) if (line !== '') onEvent(JSON.parse(line) as WatchEvent)
          } catch (error) {
            sent.destroy(error as Error)
          }
        })
        response.on('error', reject)
        response.on('end', () => {
          if (response.statusCode === 200) resolve()
          else reject(new KubeError(response.statusCode ?? 0, messageOf(parsed(rest))))
        })
      })
      sent.setTimeout(WATCH_SILENCE, () => sent.destroy(new Error('the watch has timed out')))
      sent.on('error', reject)
      sent.end()
    })
  }

  close(): void {
    this.#agent.destroy()
  }

  #options(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
  ): RequestOptions {
    const { server, tls, token } = this.#credentials
    const bearer = token?.()
    const { hostname, port } = server
    return {
      ...tls,
      agent: this.#agent,
      method,
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? 443 : port,
      path: `${server.pathname.replace(/\/$/, '')}${path}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'portcullis-controller',
        ...headers,
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      },
      ...(signal === undefined ? {} : { signal }),
    }
  }
}

/** Returns the body of a 2xx response; every other response becomes a KubeError. */
export async function ask<T>(
  client: KubeClient,
  method: string,
  path: string,
  options?: KubeRequest,
): Promise<T> {
  const { status, body } = await client.request(method, path, options)
  if (status < 200 || status > 299) throw new KubeError(status, messageOf(body))
  return body as T
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function messageOf(body: unknown): string {
  if (typeof body === 'string') return body.slice(0, 1024)
  const { message } = (body ?? {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : 'no message'
}
