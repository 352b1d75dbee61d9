import { createHash } from 'node:crypto'
import type { NameKind } from './methods.ts'

/** An object by its name on its server. */
export interface Named {
  readonly server: number
  readonly name: string
}

/** Tool names that model APIs accept. */
const LEGAL = /^[A-Za-z0-9_-]{1,64}$/
const MAX_NAME = 64
/** The max number of shortened names to remember, whatever servers list over time. */
const MAX_SHORTENED = 20_000
/** An underscore and eight digits. */
const DIGEST_LENGTH = 9

/**
 * Maps names between servers and clients: unchanged, or prefixed with the name of the server. Tools
 * and prompts are `server_name`; URIs and IDs are `server+uri`. A tool name that model APIs would
 * reject is shortened and recognized by its digest.
 */
export class Names {
  readonly isPrefixed: boolean
  readonly #servers: readonly string[]
  /** Shortened names, in the order in which they were listed. */
  readonly #shortened = new Map<string, Named>()

  constructor(servers: readonly string[], isPrefixed: boolean) {
    this.#servers = servers
    this.isPrefixed = isPrefixed
  }

  forClient(kind: NameKind, server: number, name: string): string {
    if (!this.isPrefixed) return name
    const prefix = this.#servers[server] ?? ''
    if (kind === 'resource' || kind === 'task') return `${prefix}+${name}`
    const whole = `${prefix}_${name}`
    if (LEGAL.test(whole) || kind === 'prompt') return whole
    const short = shorten(prefix, name)
    // The oldest is removed: it is found in the lists again when it is used.
    this.#shortened.delete(short)
    if (this.#shortened.size >= MAX_SHORTENED) {
      const [oldest = ''] = this.#shortened.keys()
      this.#shortened.delete(oldest)
    }
    this.#shortened.set(short, { server, name })
    return short
  }

  /** Returns undefined if no server has it, or it is unknown which one. */
  fromClient(kind: NameKind, name: string): Named | undefined {
    if (!this.isPrefixed) return this.#servers.length === 1 ? { server: 0, name } : undefined
    const known = kind === 'tool' ? this.#shortened.get(name) : undefined
    if (known !== undefined) return known
    const separator = kind === 'resource' || kind === 'task' ? '+' : '_'
    const at = name.indexOf(separator)
    const server = at < 0 ? -1 : this.#servers.indexOf(name.slice(0, at))
    return server < 0 ? undefined : { server, name: name.slice(at + 1) }
  }

  /** True if it looks like a name that this or another process shortened. */
  isShortened(name: string): boolean {
    return this.isPrefixed && /_[0-9a-f]{8}$/.test(name) && !this.#shortened.has(name)
  }
}

function shorten(prefix: string, name: string): string {
  const digest = createHash('sha256').update(`${prefix}_${name}`).digest('hex').slice(0, 8)
  const legal = `${prefix}_${name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  return `${legal.slice(0, MAX_NAME - DIGEST_LENGTH)}_${digest}`
}
