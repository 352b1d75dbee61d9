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
 * and prompts are `server_name`; URIs are `server+uri`, and `ui://server+rest` for pages of MCP
 * Apps, which hosts recognize by their scheme. A tool name that model APIs would reject is
 * shortened and recognized by its digest.
 *
 * IDs, which servers issue, are not names: those of one of several servers always lead back to it.
 */
export class Names {
  readonly isPrefixed: boolean
  /** True if IDs of requests, progress and tasks contain their server. */
  readonly hasServerIds: boolean
  readonly #servers: readonly string[]
  /** Shortened names, in the order in which they were listed. */
  readonly #shortened = new Map<string, Named>()

  constructor(servers: readonly string[], isPrefixed: boolean) {
    this.#servers = servers
    this.isPrefixed = isPrefixed
    this.hasServerIds = servers.length > 1
  }

  /** False if clients receive the messages of servers as they are. */
  get areChanged(): boolean {
    return this.isPrefixed || this.hasServerIds
  }

  forClient(kind: NameKind, server: number, name: string): string {
    if (!this.#isMarked(kind)) return name
    const prefix = this.#servers[server] ?? ''
    if (kind === 'resource' && isUi(name)) return `${UI}${prefix}+${name.slice(UI.length)}`
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

  /** Returns the client's URI of a page of an MCP App; any other URI is unchanged. */
  page(server: number, uri: string): string {
    return isUi(uri) ? this.forClient('resource', server, uri) : uri
  }

  /** Returns undefined if no server has it, or it is unknown which one. */
  fromClient(kind: NameKind, name: string): Named | undefined {
    if (!this.#isMarked(kind)) return this.#servers.length === 1 ? { server: 0, name } : undefined
    const known = kind === 'tool' ? this.#shortened.get(name) : undefined
    if (known !== undefined) return known
    if (kind === 'resource' && isUi(name)) {
      const page = this.#split(name.slice(UI.length), '+')
      return page && { server: page.server, name: `${UI}${page.name}` }
    }
    const separator = kind === 'resource' || kind === 'task' ? '+' : '_'
    return this.#split(name, separator)
  }

  #split(name: string, separator: string): Named | undefined {
    const at = name.indexOf(separator)
    const server = at < 0 ? -1 : this.#servers.indexOf(name.slice(0, at))
    return server < 0 ? undefined : { server, name: name.slice(at + 1) }
  }

  /** True if names of this kind contain their server. */
  #isMarked(kind: NameKind): boolean {
    return kind === 'task' ? this.hasServerIds : this.isPrefixed
  }

  /** True if it looks like a name that this or another process shortened. */
  isShortened(name: string): boolean {
    return this.isPrefixed && /_[0-9a-f]{8}$/.test(name) && !this.#shortened.has(name)
  }
}

const UI = 'ui://'

/** True for the URI of a page of an MCP App. */
function isUi(uri: string): boolean {
  return uri.slice(0, UI.length).toLowerCase() === UI
}

function shorten(prefix: string, name: string): string {
  const digest = createHash('sha256').update(`${prefix}_${name}`).digest('hex').slice(0, 8)
  const legal = `${prefix}_${name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  return `${legal.slice(0, MAX_NAME - DIGEST_LENGTH)}_${digest}`
}
