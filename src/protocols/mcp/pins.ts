import { createHash } from 'node:crypto'
import { canonicalExactJson } from '../../cel/values/json-exact.ts'
import { readJson } from '../../cel/values/json-read.ts'
import { isObject } from './message.ts'
import { changedParts, PINNED_PARTS, type PinnedPart, type ToolPin } from './schema.ts'

/** A difference from the pins; `new`: not pinned; `unknown`: it could not be looked up. */
export type PinChange = PinnedPart | 'new' | 'ambiguous' | 'unknown'

export interface ChangedTool {
  readonly name: string
  readonly changes: readonly PinChange[]
}

/** Tools of one server that differ from their pins, as found by one request. */
export interface PinFinding {
  readonly target: string
  readonly isEnforced: boolean
  /** True for a call, false for a list. */
  readonly isCall: boolean
  readonly tools: readonly ChangedTool[]
}

export interface PinOptions {
  readonly mode: 'Enforce' | 'Audit'
  readonly tools: ReadonlyMap<string, ToolPin>
}

/** How long a checked tool can be called without another check, in milliseconds. */
const FRESH = 60_000

/** The pins of one server, and when its tools were last seen to match. */
export class Pins {
  readonly isEnforced: boolean
  readonly #tools: ReadonlyMap<string, ToolPin>
  /** When each tool last matched its pin. */
  readonly #seen = new Map<string, number>()
  readonly #now: () => number

  constructor({ mode, tools }: PinOptions, now: () => number = () => performance.now()) {
    this.isEnforced = mode === 'Enforce'
    this.#tools = tools
    this.#now = now
  }

  has(name: string): boolean {
    return this.#tools.has(name)
  }

  /** True if it recently matched its pin. */
  isFresh(name: string): boolean {
    const at = this.#seen.get(name)
    return at !== undefined && this.#now() - at < FRESH
  }

  /** Returns the parts of a tool that differ from its pin. `item` is as the server lists it. */
  changesOf(name: string, item: string): readonly PinChange[] {
    const pin = this.#tools.get(name)
    if (pin === undefined) return ['new']
    const own = digestsOf(item)
    const changes = own === undefined ? (['ambiguous'] as const) : changedParts(pin, own)
    if (changes.length === 0) this.#seen.set(name, this.#now())
    else this.#seen.delete(name)
    return changes
  }
}

/** Returns undefined if two readers could read it differently. */
export function digestsOf(item: string): ToolPin | undefined {
  const tool = readJson(item, { duplicates: 'reject' })
  if (!isObject(tool)) return undefined
  const parts = PINNED_PARTS.flatMap((part) => {
    if (!Object.hasOwn(tool, part)) return []
    const text = canonicalExactJson(tool[part])
    const digest = createHash('sha256').update(`${part}\n${text}`).digest('hex')
    return [[part, `sha256:${digest}`] as const]
  })
  return Object.fromEntries(parts)
}
