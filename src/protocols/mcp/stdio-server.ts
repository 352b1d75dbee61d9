import type { EndedSessions } from '../../exchange/ended-sessions.ts'
import type { Quotas } from '../../exchange/quota.ts'
import { HeldMcpServer } from './held-server.ts'
import { Places } from './places.ts'
import { type StdioOptions, StdioProcess } from './stdio-process.ts'

export interface StdioServerOptions {
  readonly name: string
  readonly stdio: StdioOptions
  /** How long an unused process is kept, in milliseconds. */
  readonly sessionTtl: number
  readonly ended: EndedSessions
  /** Limits that all processes of the gateway share; `limitsName` is the same in each. */
  readonly quotas: Quotas | undefined
  readonly limitsName: string
}

/** The max processes of one server at once, and those that one caller began. */
const LIMITS = { total: 256, perCaller: 32 }

/** A program that is started once per session. */
export function stdioServer<P>(options: StdioServerOptions) {
  const { name, stdio, sessionTtl, ended, quotas, limitsName } = options
  return new HeldMcpServer<P>({
    name,
    sessionTtl,
    maxSessions: LIMITS.total,
    places: new Places(limitsName, LIMITS, quotas),
    ended,
    openChannel: (_, { message, ended: exited }) =>
      new StdioProcess(stdio, { line: message, exited }),
  })
}
