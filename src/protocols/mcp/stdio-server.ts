import { HeldMcpServer } from './held-server.ts'
import { type StdioOptions, StdioProcess } from './stdio-process.ts'

export interface StdioServerOptions {
  readonly name: string
  readonly stdio: StdioOptions
  /** How long an unused process is kept, in milliseconds. */
  readonly sessionTtl: number
}

/** The max processes of one server at once. */
const MAX_PROCESSES = 256

/** A program that is started once per session. */
export function stdioServer<P>({ name, stdio, sessionTtl }: StdioServerOptions) {
  return new HeldMcpServer<P>({
    name,
    sessionTtl,
    maxSessions: MAX_PROCESSES,
    openChannel: (_, { message, ended }) =>
      new StdioProcess(stdio, { line: message, exited: ended }),
  })
}
