import type { McpTarget } from '../model/backend.ts'
import { knownTools } from '../protocols/mcp/schema.ts'
import type { Where } from '../reach/where.ts'
import type { Fact } from './symbolic/attribute-tree.ts'

/** The kinds of features that servers offer, as named in `mcp`. */
export const MCP_PARTS = ['tool', 'prompt', 'resource'] as const

/** The servers that rules at a place apply to. */
export function serversAt({ backend, server }: Where): readonly McpTarget[] {
  if (server !== undefined) return [server]
  return backend?.kind === 'mcp' ? backend.targets : []
}

const known = new WeakMap<McpTarget, readonly string[] | null>()

/** The tools of all these servers; undefined if those of any server are unknown. */
export function toolsOf(servers: readonly McpTarget[]): readonly string[] | undefined {
  const all = servers.map((server) => {
    const own = known.get(server) ?? knownTools(server) ?? null
    known.set(server, own)
    return own
  })
  return all.includes(null) ? undefined : [...new Set(all.flatMap((own) => own ?? []))]
}

export function isText(value: string): Fact {
  return { kind: 'values', values: [value], isSet: true }
}
