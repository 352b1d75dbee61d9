import type { IncomingMessage, ServerResponse } from 'node:http'
import { isForeign } from './callers.ts'
import { text } from './servers.ts'

const FOLDER = '/api/auth/'
const MAX_FORM = 64 * 1024

/** Sign-in for people, as pages on the admin port. */
export interface Login {
  /** The path to which browsers without a session are sent. */
  readonly path: string
  respond(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** The implementation of the pages: see oidc/sessions.ts. */
export interface LoginSessions {
  begin(returnTo: string, cookies: string | undefined): Promise<LoginOutcome>
  finish(query: string, cookies: string | undefined): Promise<LoginOutcome>
  logout(cookies: string | undefined, returnTo: string): Promise<LoginRedirect>
  logoutByProvider(token: string): Promise<LoginProblem | undefined>
}

interface LoginRedirect {
  readonly location: string
  readonly cookies: readonly string[]
}

interface LoginProblem {
  readonly status: number
  readonly message: string
  readonly detail: string
}

type LoginOutcome = LoginRedirect | LoginProblem

export function isOfLogin({ url = '' }: IncomingMessage): boolean {
  return url.startsWith(FOLDER)
}

/**
 * `failed`: called with the reason, which is not sent to the browser. `home`: where users end up
 * who named no page.
 */
export function loginPages(
  sessions: LoginSessions,
  failed: (detail: string) => void,
  home = '/',
): Login {
  return {
    path: `${FOLDER}login`,
    respond: async (request, response) => {
      const [path, query = ''] = (request.url ?? '').split(/\?(.*)/s, 2)
      const { cookie } = request.headers
      const page = `${request.method} ${path?.slice(FOLDER.length)}`
      switch (page) {
        case 'GET login': {
          const returnTo = new URLSearchParams(query).get('returnTo') ?? home
          return redirect(response, await sessions.begin(returnTo, cookie), failed)
        }
        case 'GET callback':
          return redirect(response, await sessions.finish(`?${query}`, cookie), failed)
        case 'POST logout':
          // A page of another site could sign a user out, and then in as someone else.
          if (isForeign(request)) return text(response, 403, 'cross-origin requests are rejected\n')
          return redirect(response, await sessions.logout(cookie, home), failed)
        case 'POST backchannel-logout':
          return backChannel(request, response, sessions, failed)
        default:
          return text(response, 404, `unknown path ${path}\n`)
      }
    },
  }
}

function redirect(
  response: ServerResponse,
  outcome: LoginOutcome,
  failed: (detail: string) => void,
): void {
  if ('message' in outcome) {
    failed(outcome.detail)
    response.writeHead(outcome.status, { ...GUARDED, 'content-type': 'text/plain; charset=utf-8' })
    response.end(`${outcome.message}\n`)
    return
  }
  const { location, cookies } = outcome
  response.writeHead(303, { ...GUARDED, location, 'set-cookie': [...cookies] })
  response.end()
}

/** OpenID Connect Back-Channel Logout §2.5 and §2.8. */
async function backChannel(
  request: IncomingMessage,
  response: ServerResponse,
  sessions: LoginSessions,
  failed: (detail: string) => void,
): Promise<void> {
  const form = await readForm(request)
  const token = form?.get('logout_token')
  if (typeof token !== 'string') return text(response, 400, 'logout_token is required\n')
  const problem = await sessions.logoutByProvider(token)
  if (problem !== undefined) failed(problem.detail)
  response.writeHead(problem?.status ?? 200, GUARDED)
  response.end(problem === undefined ? '' : `${problem.message}\n`)
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return undefined
  let body = ''
  for await (const piece of request as AsyncIterable<Buffer>) {
    body += piece.toString('latin1')
    if (body.length > MAX_FORM) return undefined
  }
  return new URLSearchParams(body)
}

/** URLs of a sign-in contain codes: they must not be stored or sent to other sites. */
const GUARDED = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const
