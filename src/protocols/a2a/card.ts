import { editJson, type JsonPath } from '../json-text.ts'

/** How paths of the agent map to paths of the gateway. */
export interface CardAddress {
  /** The gateway's base URL for clients: `https://gateway.example`. */
  readonly base: string
  /** The prefix of the agent's paths, and the prefix that clients use instead. */
  readonly from: string
  readonly to: string
}

const LISTS: ReadonlySet<unknown> = new Set(['supportedInterfaces', 'additionalInterfaces'])

interface Written {
  readonly url?: unknown
  readonly preferredTransport?: unknown
  readonly additionalInterfaces?: readonly {
    readonly url?: unknown
    readonly transport?: unknown
  }[]
}

/**
 * Rewrites the card for clients of the gateway. Its addresses become those of the gateway; bindings
 * that the gateway does not support are removed, and so are signatures, which belong to the
 * original card. `within` is the path of the card in the text; `isKept` selects its members.
 * Returns undefined if there is no card.
 */
export function rewriteCard(
  text: string,
  within: JsonPath,
  address: CardAddress,
  isKept: (member: string) => boolean = () => true,
): string | undefined {
  const card = cardIn(text, within)
  if (card === undefined) return undefined
  const first = firstInterface(card)
  return editJson(text, (path, raw) => {
    if (path.length < within.length)
      return path.every((one, i) => one === within[i]) ? 'enter' : 'keep'
    if (!within.every((one, i) => one === path[i])) return 'keep'
    const [name, index, member] = path.slice(within.length)
    if (name === undefined) return 'enter'
    if (name === 'signatures' || (index === undefined && !isKept(String(name)))) return 'drop'
    if (name === 'url' && index === undefined) return mapped(first.url ?? raw(), address)
    if (name === 'preferredTransport' && first.transport !== undefined) {
      return { text: JSON.stringify(first.transport) }
    }
    if (!LISTS.has(name)) return 'keep'
    if (index === undefined) return 'enter'
    if (member === undefined) return isGrpc(JSON.parse(raw())) ? 'drop' : 'enter'
    return member === 'url' ? mapped(raw(), address) : 'keep'
  })
}

function cardIn(text: string, within: JsonPath): Written | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  for (const name of within) value = (value as Record<string, unknown> | null)?.[name]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
}

/** For 0.3, if the first interface has a removed binding: another one that clients can use. */
function firstInterface(card: Written): { readonly url?: string; readonly transport?: unknown } {
  if (!isGrpc({ transport: card.preferredTransport })) return {}
  const other = card.additionalInterfaces?.find((one) => !isGrpc(one))
  return other === undefined ? {} : { url: JSON.stringify(other.url), transport: other.transport }
}

function isGrpc(one: unknown): boolean {
  const { protocolBinding, transport } = (one ?? {}) as Record<string, unknown>
  return /^grpc$/i.test(String(protocolBinding ?? transport ?? ''))
}

function mapped(raw: string, { base, from, to }: CardAddress) {
  const written = JSON.parse(raw) as unknown
  const url = typeof written === 'string' ? URL.parse(written) : null
  const path = url === null ? '' : url.pathname + url.search
  const isBelow = path === from || path.startsWith(`${from}/`)
  const own = `${to}${isBelow ? path.slice(from.length) : path}`
  return { text: JSON.stringify(`${base}${own === '/' ? '' : own}` || base) } as const
}

/** Returns the differing prefixes of two paths that lead to the same resource. */
export function differentStart(
  client: string,
  agent: string,
): { readonly from: string; readonly to: string } {
  const ours = client.split('/')
  const theirs = agent.split('/')
  while (ours.length > 1 && theirs.length > 1 && ours.at(-1) === theirs.at(-1)) {
    ours.pop()
    theirs.pop()
  }
  return { from: theirs.join('/'), to: ours.join('/') }
}
