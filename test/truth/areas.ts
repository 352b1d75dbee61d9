import { type Tree, withValue } from './document.ts'
import { HOSTS } from './expressions.ts'
import { makeStreamDocument, type Place, proxyProtocol } from './generate.ts'
import { toolDocument } from './mcp-documents.ts'
import { changedTools } from './mcp-edits.ts'
import { changedModels, modelDocument } from './model-documents.ts'
import { changed } from './mutate.ts'
import { Random } from './random.ts'
import { SERVICES } from './services.ts'

/** What a file is mostly about; shares of what is not known are counted for each. */
export const AREAS = ['HTTP', 'LLM', 'MCP', 'L4'] as const
export type Area = (typeof AREAS)[number]

interface Documents {
  make(random: Random, place: Place): Tree
  change(random: Random, tree: Tree): Tree
}

/** Areas with files and edits of their own. */
export const DOCUMENTS: Readonly<Partial<Record<Area, Documents>>> = {
  LLM: { make: modelDocument, change: changedModels },
  MCP: { make: toolDocument, change: changedTools },
  L4: {
    make: (random, place) => {
      const plain = makeStreamDocument(random, place)
      return random.chance(0.5) ? (SERVICES['streams']?.add(random, plain, place) ?? plain) : plain
    },
    change: (random, tree) => {
      const own = random.chance(0.3) ? SERVICES['streams']?.change?.(random, tree) : undefined
      return (
        own ??
        (random.chance(0.3) ? otherStreams(random, tree) : undefined) ??
        changed(random, tree)
      )
    },
  },
}

/** How connections begin, or the name of the listener. */
function otherStreams(random: Random, tree: Tree): Tree | undefined {
  if (random.chance(0.6)) {
    const { frontendPolicies = {}, ...rest } = tree
    const policies = { ...(frontendPolicies as Tree), proxyProtocol: proxyProtocol(random) }
    return { ...rest, frontendPolicies: policies }
  }
  const gateway = (tree['gateways'] as Tree)['stream'] as Tree
  if (gateway['protocol'] !== 'TLS') return undefined
  const { hostname, ...bare } = gateway
  const named = hostname === undefined ? { ...bare, hostname: random.pick(HOSTS) } : bare
  return withValue(tree, ['gateways', 'stream'], named)
}

const SHARES: Readonly<Partial<Record<Area, number>>> = { LLM: 0.12, MCP: 0.12, L4: 0.04 }

/** `TRUTH_AREA=LLM`: only files about models. */
export function drawnArea(seed: number): Area {
  const forced = AREAS.find((area) => area === process.env['TRUTH_AREA'])
  if (forced !== undefined) return forced
  let left = new Random(seed + 3_000_000_019).next()
  for (const area of AREAS) {
    left -= SHARES[area] ?? 0
    if (left < 0) return area
  }
  return 'HTTP'
}

export function areaOf(tree: Tree): Area {
  const text = JSON.stringify(tree)
  if (text.includes('"mcp":{')) return 'MCP'
  if (text.includes('"llm":{') || text.includes('"ai":{')) return 'LLM'
  const names = Object.keys((tree['gateways'] ?? {}) as Tree)
  return names.every((name) => name === 'stream') ? 'L4' : 'HTTP'
}

/** Commands whose statements about calls and messages are not compared with what happens. */
const LEFT_OUT: ReadonlySet<string> = new Set(['test', 'effective', 'replay'])

export function isLeftOut(check: string, tree: Tree): boolean {
  return ['LLM', 'MCP'].includes(areaOf(tree)) && LEFT_OUT.has(check)
}
