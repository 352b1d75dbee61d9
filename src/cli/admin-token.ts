import { randomBytes } from 'node:crypto'
import { type Authenticate, authenticateBy } from '../admin/callers.ts'
import type { Login } from '../admin/login.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { type AdminAuthSettings, isLoopback, type Settings } from '../model/settings.ts'
import type { Store } from '../sources/database/store.ts'
import type { Logger } from '../telemetry/log.ts'
import { COOKIE_SECRET } from './cookie-secret.ts'
import type { Terminal } from './define.ts'

const VARIABLE = 'PORTCULLIS_ADMIN_TOKEN'
const MIN_LENGTH = 16

export interface AdminAccess {
  readonly authenticate: Authenticate
  /** Everyone who can connect is the operator. */
  readonly isOpen: boolean
  /** Sign-in for people, if configured. */
  readonly login: Login | undefined
  /** Hostnames by which browsers reach the admin port. */
  readonly names: readonly string[]
}

export interface AdminAccessOptions {
  readonly file: string
  readonly settings: Settings
  readonly store: Store | undefined
  readonly log: Logger
  readonly terminal: Pick<Terminal, 'environment' | 'err'>
}

/**
 * Opens access control for the admin API. On loopback, anyone who can connect has access unless a
 * token or sign-in is configured; on other addresses, one of them is required, and if neither is
 * configured, a token is generated and printed.
 */
export async function openAdmin(
  options: AdminAccessOptions,
): Promise<AdminAccess | readonly Diagnostic[]> {
  const { settings, terminal } = options
  const { admin, adminAuth } = settings
  const { environment, err } = terminal
  const given = environment[VARIABLE]
  if (given !== undefined && (given.length < MIN_LENGTH || !/^[!-~]+$/.test(given))) {
    return [
      {
        code: 'PC0407',
        severity: 'error',
        message: `\`${VARIABLE}\` must have at least ${MIN_LENGTH} printable characters`,
        origin: { kind: 'object', object: 'environment', field: VARIABLE },
        hint: 'generate one with `openssl rand -hex 32`',
      },
    ]
  }
  if (adminAuth !== undefined) return withLogin(adminAuth, given, options)
  const access = { login: undefined, names: [], isOpen: false }
  const isLocal = admin.kind !== 'tcp' || isLoopback(admin.host)
  if (given !== undefined || isLocal) {
    return { ...access, authenticate: authenticateBy(given), isOpen: given === undefined }
  }
  const token = randomBytes(24).toString('base64url')
  err(`Admin API token (shown only once): ${token}\n`)
  return { ...access, authenticate: authenticateBy(token) }
}

async function withLogin(
  settings: AdminAuthSettings,
  token: string | undefined,
  { file, store, log, terminal }: AdminAccessOptions,
): Promise<AdminAccess | readonly Diagnostic[]> {
  // Loaded only if sign-in is configured.
  const { compileRoles } = await import('./admin-roles.ts')
  const { openLogin } = await import('./admin-login.ts')
  const roleOf = compileRoles(file, settings)
  if (typeof roleOf !== 'function') return roleOf
  const secret = terminal.environment[COOKIE_SECRET] ?? ''
  const { login, authenticate } = openLogin({ settings, secret, roleOf, store, log })
  const byToken = token === undefined ? undefined : authenticateBy(token)
  return {
    isOpen: false,
    login,
    names: [new URL(settings.oidc.redirectUri).hostname],
    authenticate: async (request) => (await byToken?.(request)) ?? (await authenticate(request)),
  }
}
