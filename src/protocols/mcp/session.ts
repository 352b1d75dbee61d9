import { randomBytes } from 'node:crypto'
import { isObject } from './message.ts'
import type { Seal } from './seal.ts'
import type { ServerSession } from './server.ts'

const PURPOSE = 'mcp-session'

/** A client's session. All of it is in its ID, so that any process can continue it. */
export interface ClientSession {
  /** The ID that the client uses. */
  readonly id: string
  readonly key: string
  /** `params` of `initialize`; only if a server may have to receive them again. */
  readonly initialize: string | undefined
  /** True if the client opens URLs for its user. */
  readonly opensUrls: boolean
  /** By server name; servers that did not respond to the handshake are absent. */
  readonly servers: ReadonlyMap<string, ServerState>
}

export interface ServerState {
  readonly id: string | undefined
  /** The revision that the server agreed to; undefined for the one that the client names. */
  readonly version: string | undefined
}

/** The sealed content; short, since it is sent in a header. */
interface Sealed {
  readonly k: string
  readonly b: string
  readonly c: string
  readonly i?: string
  readonly u?: 1
  readonly s: Readonly<Record<string, readonly [id: string | null, version: string | null]>>
}

export interface SessionStart {
  readonly backend: string
  readonly caller: string
  readonly initialize: string | undefined
  readonly opensUrls: boolean
  readonly servers: ReadonlyMap<string, ServerState>
  /** Undefined for a new one. */
  readonly key?: string
}

export function sealSession(seal: Seal, start: SessionStart): string {
  const { backend, caller, initialize, opensUrls, servers, key = newSessionKey() } = start
  const states = [...servers].map(
    ([name, { id, version }]) => [name, [id ?? null, version ?? null]] as const,
  )
  const sealed: Sealed = {
    k: key,
    b: backend,
    c: caller,
    ...(initialize === undefined ? {} : { i: initialize }),
    ...(opensUrls ? { u: 1 } : {}),
    s: Object.fromEntries(states),
  }
  return seal.seal(PURPOSE, sealed)
}

export function newSessionKey(): string {
  return randomBytes(12).toString('base64url')
}

/** Returns undefined if it was changed, or belongs to another backend or caller. */
export function openSession(
  seal: Seal,
  id: string,
  backend: string,
  caller: string,
): ClientSession | undefined {
  const opened = seal.open(PURPOSE, id)
  if (!isObject(opened)) return undefined
  const { k, b, c, i, u, s } = opened as unknown as Sealed
  if (b !== backend || c !== caller) return undefined
  const servers = Object.entries(s).map(
    ([name, [own, version]]) =>
      [name, { id: own ?? undefined, version: version ?? undefined }] as const,
  )
  return { id, key: k, initialize: i, opensUrls: u === 1, servers: new Map(servers) }
}

export function serverSession(session: ClientSession | undefined, server: string): ServerSession {
  if (session === undefined) return NO_SESSION
  const { key, initialize, servers } = session
  return { key, initialize, id: servers.get(server)?.id }
}

/** IDs of the gateway's own are shorter; those of other servers can have any length. */
const MAX_KEY = 64

/** The keys of a session that has ended: its own, and those of the sessions that servers know. */
export function sessionKeys({ key, servers }: ClientSession): readonly string[] {
  const known = [...servers.values()].flatMap(({ id = '' }) =>
    id === '' || id.length > MAX_KEY ? [] : [id],
  )
  return [key, ...known]
}

const NO_SESSION: ServerSession = { key: '', id: undefined, initialize: undefined }
