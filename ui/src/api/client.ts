/** An API error in the form of RFC 9457. */
export class ApiProblem extends Error {
  readonly status: number
  /** Extension members of the problem. */
  readonly more: Readonly<Record<string, unknown>>

  constructor(status: number, detail: string, more: Readonly<Record<string, unknown>> = {}) {
    super(detail)
    this.status = status
    this.more = more
  }
}

const TOKEN = 'portcullis-token'
/** `login` is the path of the sign-in page, if there is one. */
type Unauthorized = (login: string | undefined) => void

let onUnauthorized: Unauthorized = () => {}

/** Stores the token for this tab only, until it is closed. */
export function storeToken(token: string): void {
  sessionStorage.setItem(TOKEN, token)
}

export function watchUnauthorized(then: Unauthorized): void {
  onUnauthorized = then
}

function credentials(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(TOKEN)
  return token === null ? {} : { authorization: `Bearer ${token}` }
}

interface Sent {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Sent as JSON. */
  readonly body?: unknown
  readonly yaml?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** The UI calls the API below its own path: on the port of a gateway, only that leads here. */
export function apiPath(path: string): string {
  return `/ui${path}`
}

export async function send(path: string, sent: Sent = {}): Promise<Response> {
  const { method = 'GET', body, yaml, headers = {}, signal } = sent
  const type =
    yaml !== undefined ? 'application/yaml' : body === undefined ? undefined : 'application/json'
  const response = await fetch(apiPath(path), {
    method,
    headers: {
      ...credentials(),
      ...(type === undefined ? {} : { 'content-type': type }),
      ...headers,
    },
    ...(type === undefined ? {} : { body: yaml ?? JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiProblem(0, 'The gateway does not respond. Is it still running?')
  })
  if (response.ok) return response
  const problem = (await response.json().catch(() => ({}))) as {
    readonly detail?: string
    readonly login?: string
  }
  // An abort discards the response body, and with it the sign-in path.
  if (signal?.aborted) throw new ApiProblem(0, 'The request was canceled.')
  if (response.status === 401) onUnauthorized(problem.login)
  const { detail = `The gateway responded with ${response.status}.`, ...more } = problem
  throw new ApiProblem(response.status, detail, more)
}

export async function call<T>(path: string, sent: Sent = {}): Promise<T> {
  return (await (await send(path, sent)).json()) as T
}

export function resourcePath(kind: string, id: string): string {
  return `/api/config/resources/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`
}
