import { isObject } from './message.ts'
import { HANDSHAKE_REVISIONS } from './revisions.ts'

/** How one server introduces itself. */
export interface Introduction {
  readonly name: string
  /** The result of `initialize` or `server/discover`. */
  readonly result: unknown
}

interface ServerResult {
  readonly protocolVersion?: unknown
  readonly supportedVersions?: unknown
  readonly capabilities?: unknown
  readonly instructions?: unknown
  readonly ttlMs?: unknown
}

export interface ServerIdentity {
  readonly name: string
  readonly version: string
}

/** Merges the introductions of several servers into one. */
export function mergeInitialize(servers: readonly Introduction[], serverInfo: ServerIdentity) {
  const results = servers.map(({ result }) => result as ServerResult)
  // The revision that all of them understand.
  const versions = results.flatMap(({ protocolVersion: own }) =>
    typeof own === 'string' ? [own] : [],
  )
  return {
    protocolVersion: versions.sort()[0] ?? HANDSHAKE_REVISIONS[0],
    capabilities: mergeCapabilities(results),
    serverInfo,
    ...instructionsOf(servers),
  }
}

export function mergeDiscover(servers: readonly Introduction[], serverInfo: ServerIdentity) {
  const results = servers.map(({ result }) => result as ServerResult)
  const [first = [], ...others] = results.map(({ supportedVersions: own }) =>
    Array.isArray(own) ? own.filter((one): one is string => typeof one === 'string') : [],
  )
  const ttls = results.flatMap(({ ttlMs }) => (typeof ttlMs === 'number' ? [ttlMs] : []))
  return {
    resultType: 'complete',
    supportedVersions: first.filter((version) => others.every((own) => own.includes(version))),
    capabilities: mergeCapabilities(results),
    ...instructionsOf(servers),
    ttlMs: ttls.length === 0 ? 0 : Math.min(...ttls),
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  }
}

/** The capabilities of any of them. */
function mergeCapabilities(results: readonly ServerResult[]): object {
  return results.reduce<object>((all, { capabilities }) => merged(all, capabilities), {})
}

function merged(left: object, right: unknown): object {
  if (!isObject(right)) return left
  const all: Record<string, unknown> = { ...left }
  for (const [name, value] of Object.entries(right)) {
    const known = all[name]
    if (isObject(known) && isObject(value)) all[name] = merged(known, value)
    else all[name] = known === true ? true : value
  }
  return all
}

function instructionsOf(servers: readonly Introduction[]) {
  const said = servers.flatMap(({ name, result }) => {
    const { instructions } = result as ServerResult
    return typeof instructions === 'string' ? [`# ${name}\n\n${instructions}`] : []
  })
  return said.length === 0 ? {} : { instructions: said.join('\n\n') }
}
