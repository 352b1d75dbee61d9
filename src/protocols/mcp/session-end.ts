import type { Serving } from './serving.ts'
import { type ClientSession, serverSession, sessionKeys } from './session.ts'

/** Resolves when no process continues the session. */
export async function endAtServers<P>(
  { plan, exchange, version }: Serving<P>,
  session: ClientSession,
  permit: P,
): Promise<void> {
  // Servers that are held here must not begin again for a request that is on its way.
  if (plan.keepsInitialize) await plan.ended.end(sessionKeys(session))
  const ends = plan.servers.map(async (server) => {
    const state = session.servers.get(server.name)
    const own = serverSession(session, server.name)
    return (await server.end?.(permit, exchange, own, state?.version ?? version)) ?? true
  })
  const hasEnded = (await Promise.all(ends)).every((one) => one)
  if (!hasEnded && !plan.keepsInitialize) await plan.ended.end(sessionKeys(session))
}
