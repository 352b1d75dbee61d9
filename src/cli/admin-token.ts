import { randomBytes } from 'node:crypto'
import { type Authenticate, authenticateBy } from '../admin/callers.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { isLoopback, type Settings } from '../model/settings.ts'
import type { Terminal } from './define.ts'

const VARIABLE = 'PORTCULLIS_ADMIN_TOKEN'
const MIN_LENGTH = 16

/**
 * Who may use the admin API. On this machine it is whoever can connect, unless a token is set;
 * beyond it a token is needed, and is made and printed where none is set.
 */
export function openAdmin(
  { admin }: Settings,
  { environment, err }: Pick<Terminal, 'environment' | 'err'>,
): Authenticate | Diagnostic {
  const given = environment[VARIABLE]
  if (given !== undefined && (given.length < MIN_LENGTH || !/^[!-~]+$/.test(given))) {
    return {
      code: 'PC0407',
      severity: 'error',
      message: `\`${VARIABLE}\` is not a token of at least ${MIN_LENGTH} printable characters`,
      origin: { kind: 'object', object: 'environment', field: VARIABLE },
      hint: 'make one with `openssl rand -hex 32`',
    }
  }
  const isOpen = admin.kind !== 'tcp' || isLoopback(admin.host)
  if (given === undefined && isOpen) return authenticateBy(undefined)
  if (given !== undefined) return authenticateBy(given)
  const token = randomBytes(24).toString('base64url')
  err(`the token of the admin API, which is not printed again: ${token}\n`)
  return authenticateBy(token)
}
