import { editJson } from '../json-text.ts'
import type { McpMessage } from './attributes.ts'
import { claimedVersion } from './header-check.ts'
import type { ClientMessage } from './message.ts'
import type { SentMessage } from './server.ts'
import type { Serving } from './serving.ts'
import { serverSession } from './session.ts'

/** Returns `mcp` for a message that is not about a tool, prompt or resource. */
export function attributesOf<P>({ session }: Serving<P>, method: string): McpMessage {
  return session === undefined
    ? { methodName: method }
    : { methodName: method, sessionId: session.id }
}

/** `name` is the server's name for the object of the message. */
export function sentTo<P>(
  { plan, session, version }: Serving<P>,
  { kind, method, id, text }: ClientMessage,
  server: number,
  name?: string,
): SentMessage {
  const own = plan.servers[server]?.name ?? ''
  const agreed = session?.servers.get(own)?.version
  return {
    kind,
    method,
    id,
    text,
    name,
    version: method === 'initialize' ? undefined : (agreed ?? version),
    session: serverSession(session, own),
  }
}

/** Returns `_meta` of a message whose revision has no sessions, for the gateway's own requests. */
export function envelopeOf(message: ClientMessage): string | undefined {
  if (claimedVersion(message) === undefined) return undefined
  let meta: string | undefined
  editJson(message.text, (path, raw) => {
    if (path.length === 2 && path[1] === '_meta') {
      meta = editJson(raw(), (own) =>
        own.length === 0 ? 'enter' : own[0] === 'progressToken' ? 'drop' : 'keep',
      )
    }
    return path.length === 0 || (path.length === 1 && path[0] === 'params') ? 'enter' : 'keep'
  })
  return meta
}
