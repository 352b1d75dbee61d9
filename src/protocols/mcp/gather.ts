import { exactJson } from '../../cel/values/json-exact.ts'
import type { Reply } from '../../exchange/reply.ts'
import { type Collected, collect } from './collect.ts'
import { consentReply, opensUrls } from './consent.ts'
import { CODES, errorReply, jsonReply } from './errors.ts'
import { mergeDiscover, mergeInitialize } from './handshake.ts'
import { claimedVersion } from './header-check.ts'
import { filterList, itemSteps, mergeSteps, readCursor, type ShowsItem } from './lists.ts'
import { type ClientMessage, readServerMessage } from './message.ts'
import { type ListMethod, methodOf, type NameKind } from './methods.ts'
import { pinnedBy, reportPins } from './pin-check.ts'
import type { ChangedTool } from './pins.ts'
import { ACCEPTED, type Changed, failureReply, Relay } from './relay.ts'
import { isModern } from './revisions.ts'
import { replaceIn } from './rewrite.ts'
import { attributesOf, sentTo } from './sent.ts'
import type { ServerFailure } from './server.ts'
import { inTurns, onDone, type Serving } from './serving.ts'
import { type ServerState, sealSession } from './session.ts'

interface Gathered {
  readonly server: number
  readonly collected: Collected
}

type Success = Extract<Collected, { readonly ok: true }>

/** Sends the same request to several servers at once. */
async function gather<P>(
  serving: Serving<P>,
  message: ClientMessage,
  permit: P,
  servers: readonly number[],
  textFor: (server: number) => string = () => message.text,
): Promise<readonly Gathered[]> {
  const { plan } = serving
  const all = servers.map(async (server): Promise<Gathered> => {
    const own = plan.servers[server]
    if (own === undefined) throw new Error('unknown server')
    const sent = sentTo(serving, { ...message, text: textFor(server) }, server)
    return { server, collected: await collect(own, permit, serving, sent) }
  })
  return Promise.all(all)
}

/** Returns the servers that sent a result; undefined if a required one did not. */
function successes<P>(
  { plan, responder, consent }: Serving<P>,
  { id }: ClientMessage,
  gathered: readonly Gathered[],
): readonly (Success & { readonly server: number; readonly result: string })[] | undefined {
  const good = gathered.flatMap(({ server, collected }) => {
    const result = collected.ok ? collected.message.members.get('result') : undefined
    return collected.ok && result !== undefined ? [{ ...collected, server, result }] : []
  })
  if (good.length === gathered.length || (plan.failsOpen && good.length > 0)) return good
  const bad = gathered.find(({ server }) => !good.some((own) => own.server === server))
  const name = plan.servers[bad?.server ?? 0]?.name
  if (bad?.collected.ok) {
    const text = replaceIn(bad.collected.message.text, [[['id'], id]])
    responder.reply(jsonReply(200, text, 'upstream'))
  } else if (bad?.collected.ok === false) {
    const { failure } = bad.collected
    const { status, reason, link } = failure
    if (link !== undefined) {
      responder.reply(consentReply(id, consent, name ?? '', link))
      return undefined
    }
    if ('error' in failure) {
      responder.broke(failure.error)
      return undefined
    }
    const rejected = rejectionOf(id, failure)
    if (rejected !== undefined) {
      responder.reply(rejected)
      return undefined
    }
    const said = `Server \`${name}\` failed.`
    const own = failureReply(id, { status: status < 500 ? 502 : status, reason })
    const error = errorReply(own.status, id, { code: CODES.internal, message: said }, own.reason)
    responder.reply({ ...error, detail: `${name}: ${reason}` })
  }
  return undefined
}

/** What a server finds wrong with a request, and not with itself. */
const REJECTIONS: ReadonlySet<unknown> = new Set([
  CODES.unsupportedVersion,
  CODES.invalidParams,
  CODES.headerMismatch,
  CODES.missingCapability,
])

/** The client may send a better request: with a revision that the server speaks, for example. */
function rejectionOf(id: string, failure: ServerFailure): Reply | undefined {
  const error = errorIn(failure)
  if (error === undefined || !REJECTIONS.has(codeOf(error))) return undefined
  return jsonReply(failure.status, `{"jsonrpc":"2.0","id":${id},"error":${error}}`, 'upstream')
}

function errorIn({ body = '' }: ServerFailure): string | undefined {
  const { kind, members } = readServerMessage(body)
  return kind === 'response' ? members.get('error') : undefined
}

function codeOf(error: string): unknown {
  return (JSON.parse(error) as { readonly code?: unknown } | null)?.code
}

const everyServer = <P>({ plan }: Serving<P>) => plan.servers.map((_, server) => server)

export function gatherHandshake<P>(serving: Serving<P>, message: ClientMessage, permit: P): void {
  const { plan, exchange, sendings } = serving
  const [only, ...others] = plan.servers
  if (only === undefined) return
  const initialize = plan.keepsInitialize ? exactJson(message.params) : undefined
  if (others.length === 0) {
    const isInitialize = message.method === 'initialize'
    const relay = new Relay(serving, {
      id: message.id,
      server: 0,
      change: undefined,
      headers: (id) => {
        if (!isInitialize || id === undefined) return []
        const servers = new Map([[only.name, { id, version: undefined }]])
        return [['mcp-session-id', seal(serving, message, initialize, servers)]]
      },
    })
    sendings.add(only.send(permit, exchange, sentTo(serving, message, 0), relay))
    return
  }
  onDone(serving, gather(serving, message, permit, everyServer(serving)), (gathered) => {
    const good = successes(serving, message, gathered)
    if (good !== undefined) introduce(serving, message, good, initialize)
  })
}

function seal<P>(
  { plan, caller }: Serving<P>,
  { params }: ClientMessage,
  initialize: string | undefined,
  servers: ReadonlyMap<string, ServerState>,
): string {
  const own = { initialize, opensUrls: opensUrls(params['capabilities']), servers }
  return sealSession(plan.seal, { backend: plan.name, caller, ...own })
}

function introduce<P>(
  serving: Serving<P>,
  message: ClientMessage,
  good: readonly (Success & { readonly server: number; readonly result: string })[],
  initialize: string | undefined,
): void {
  const { plan, responder } = serving
  const { id, method } = message
  const servers = good.map(({ server, result, session }) => ({
    name: plan.servers[server]?.name ?? '',
    result: JSON.parse(result) as { readonly protocolVersion?: unknown },
    session,
  }))
  const isInitialize = method === 'initialize'
  const result = isInitialize
    ? mergeInitialize(servers, plan.identity)
    : mergeDiscover(servers, plan.identity)
  const text = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`
  const states = servers.map(({ name, session, result: { protocolVersion: own } }) => {
    const version = typeof own === 'string' ? own : undefined
    return [name, { id: session, version }] as const
  })
  const isHeld = isInitialize && servers.some(({ session }) => session !== undefined)
  const headers = isHeld
    ? ([['mcp-session-id', seal(serving, message, initialize, new Map(states))]] as const)
    : []
  responder.reply(jsonReply(200, text, 'upstream', headers))
}

interface ListView {
  readonly shows: ShowsItem
  /** Called after a list was inspected: reports tools that differ from their pins. */
  report(): void
}

/** Returns which items of a list the client may see, by the same rules that apply to calls. */
export function showsFor<P>(serving: Serving<P>, methodName: string, part: NameKind): ListView {
  const { plan, exchange } = serving
  const seen = new Set<string>()
  const isUnique = plan.names.isPrefixed || plan.servers.length === 1
  const changed = new Map<number, ChangedTool[]>()
  const general = attributesOf(serving, methodName)
  const shows: ShowsItem = (server, name, item) => {
    if (part === 'task') return true
    plan.catalog.learn(part, server, name)
    // Without prefixes, the server with a pin for a name owns it, else the first that offers it.
    const owner = isUnique || part !== 'tool' ? undefined : pinnedBy(plan, name)
    if (!isUnique && (seen.has(name) || (owner ?? server) !== server)) return false
    seen.add(name)
    if (!plan.rules.isGuarded) return true
    const own = { target: plan.servers[server]?.name ?? '', name }
    const attributes = { ...general, [part]: own }
    const isAllowed = plan.rules.shows(exchange, attributes)
    const pins = part === 'tool' ? plan.pins[server] : undefined
    const changes = pins?.changesOf(name, item) ?? []
    const hide = (reason: 'authorization' | 'pin') => {
      const kind = methodName === 'resources/templates/list' ? 'resource-template' : part
      serving.record.hide({ target: own.target, kind, reason }, name)
    }
    if (!isAllowed) hide('authorization')
    else if (changes.length > 0 && pins?.isEnforced === true) hide('pin')
    if (changes.length === 0 || pins === undefined) return isAllowed
    // Tools that the client cannot see anyway are not reported.
    if (isAllowed) {
      const others = changed.get(server)
      if (others === undefined) changed.set(server, [{ name, changes }])
      else others.push({ name, changes })
    }
    return isAllowed && !pins.isEnforced
  }
  const report = () => {
    for (const [server, tools] of changed) reportPins(serving, server, tools, false)
    changed.clear()
  }
  return { shows, report }
}

/** The list has been inspected when there are no more steps. */
export function reportedBy(report: () => void, filtered: Changed): Changed {
  if (typeof filtered !== 'string') return reportedSteps(report, filtered)
  report()
  return filtered
}

function* reportedSteps(
  report: () => void,
  steps: Generator<void, string>,
): Generator<void, string> {
  const filtered = yield* steps
  report()
  return filtered
}

export function gatherList<P>(
  serving: Serving<P>,
  message: ClientMessage,
  method: ListMethod,
  permit: P,
): void {
  const { plan, exchange, responder, sendings } = serving
  const { shows, report } = showsFor(serving, message.method, method.part)
  const { names, rules } = plan
  const context = { method, names, shows, isFiltered: rules.isGuarded }
  const [only, ...others] = plan.servers
  if (only === undefined) return
  if (others.length === 0) {
    const isChanged = rules.isGuarded || names.isPrefixed
    const change = (text: string) => reportedBy(report, filterList(text, 0, context))
    const options = { id: message.id, server: 0, change: isChanged ? change : undefined }
    const sent = sentTo(serving, message, 0)
    sendings.add(only.send(permit, exchange, sent, new Relay(serving, options)))
    return
  }
  const { cursor } = message.params
  const cursors = typeof cursor === 'string' ? readCursor(cursor, plan.servers.length) : undefined
  if (cursor !== undefined && cursors === undefined) {
    const error = { code: CODES.invalidParams, message: 'Invalid params: cursor' }
    responder.reply(errorReply(200, message.id, error, 'upstream'))
    return
  }
  const textFor = (server: number) => {
    const own = cursors?.get(server)
    return own === undefined
      ? message.text
      : replaceIn(message.text, [[['params', 'cursor'], JSON.stringify(own)]])
  }
  const servers = cursors === undefined ? offering(serving) : [...cursors.keys()]
  onDone(serving, gather(serving, message, permit, servers, textFor), (gathered) => {
    const supported = gathered.filter(({ collected }) => !isUnsupported(collected))
    const good = successes(serving, message, supported)
    if (good === undefined) return
    if (supported.length === 0 && isModern(claimedVersion(message))) {
      const error = { code: CODES.unknownMethod, message: 'Method not found' }
      responder.reply(errorReply(404, message.id, error, 'upstream'))
      return
    }
    onDone(serving, inTurns(serving, mergeSteps(message.id, good, context)), (merged) => {
      report()
      responder.reply(jsonReply(200, merged, 'upstream'))
    })
  })
}

/** Returns the servers that took part in the handshake, if there was one. */
function offering<P>(serving: Serving<P>): readonly number[] {
  const { plan, session } = serving
  const all = everyServer(serving)
  if (session === undefined) return all
  return all.filter((server) => session.servers.has(plan.servers[server]?.name ?? ''))
}

/** A server without prompts does not break the list of those that have some. */
function isUnsupported(collected: Collected): boolean {
  // 2026-07-28 has a status for it.
  const error = collected.ok ? collected.message.members.get('error') : errorIn(collected.failure)
  if (error === undefined) return false
  return codeOf(error) === CODES.unknownMethod
}

/** Sends one message to all servers; the client receives 202, or a result for a request. */
export function broadcast<P>(serving: Serving<P>, message: ClientMessage, permit: P): void {
  const { plan, exchange, responder, sendings } = serving
  if (message.kind === 'request') {
    onDone(serving, gather(serving, message, permit, offering(serving)), (gathered) => {
      const supported = gathered.filter(({ collected }) => !isUnsupported(collected))
      const good = successes(serving, message, supported)
      if (good === undefined) return
      const text = `{"jsonrpc":"2.0","id":${message.id},"result":${good[0]?.result ?? '{}'}}`
      responder.reply(jsonReply(200, text, 'upstream'))
    })
    return
  }
  const told = offering(serving).map(
    (server) =>
      new Promise<void>((resolve) => {
        const done = () => resolve()
        const events = { began() {}, received: () => true, ended: done, failed: done }
        const sent = sentTo(serving, message, server)
        const sending = plan.servers[server]?.send(permit, exchange, sent, events)
        if (sending !== undefined) sendings.add(sending)
      }),
  )
  onDone(serving, Promise.all(told), () => responder.reply(ACCEPTED))
}

const LISTS: Readonly<Record<NameKind, readonly string[]>> = {
  tool: ['tools/list'],
  prompt: ['prompts/list'],
  resource: ['resources/list', 'resources/templates/list'],
  task: [],
}

/** The max pages of one list; a server that never ends it is not followed forever. */
const MAX_PAGES = 64

let lookUps = 0

/** Reads what a server offers and calls `meet` for each item. Returns false if this fails. */
export async function lookUp<P>(
  serving: Serving<P>,
  kind: NameKind,
  server: number,
  permit: P,
  meet: (name: string, item: string) => void = () => {},
): Promise<boolean> {
  for (const name of LISTS[kind]) {
    const method = methodOf(name)
    if (method?.kind !== 'list') return false
    const shows: ShowsItem = (own, item, text) => {
      serving.plan.catalog.learn(kind, own, item)
      meet(item, text)
      return true
    }
    const context = { method, names: serving.plan.names, shows, isFiltered: false }
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES; page++) {
      const result = await ask(serving, name, server, permit, cursor)
      if (result === undefined) return false
      await inTurns(serving, itemSteps(result, server, context))
      if (serving.sendings.isStopped) return false
      const { nextCursor } = JSON.parse(result) as { readonly nextCursor?: unknown }
      if (typeof nextCursor !== 'string') break
      cursor = nextCursor
    }
  }
  return true
}

/** Sends a request of the gateway in the client's session, with its `_meta`. */
async function ask<P>(
  serving: Serving<P>,
  method: string,
  server: number,
  permit: P,
  cursor: string | undefined,
): Promise<string | undefined> {
  const { plan, meta } = serving
  const own = plan.servers[server]
  if (own === undefined) return undefined
  const id = JSON.stringify(`portcullis-${lookUps++}`)
  const params = `{${[
    ...(cursor === undefined ? [] : [`"cursor":${JSON.stringify(cursor)}`]),
    ...(meta === undefined ? [] : [`"_meta":${meta}`]),
  ].join(',')}}`
  const text = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
  const message = { kind: 'request', id, method, params: {}, text } as const
  const sent = sentTo(serving, message, server)
  const collected = await collect(own, permit, serving, sent)
  return collected.ok ? collected.message.members.get('result') : undefined
}
