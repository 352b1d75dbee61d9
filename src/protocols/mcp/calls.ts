import { HeaderEdit } from '../../exchange/header-edit.ts'
import type { JsonPath } from '../json-text.ts'
import type { McpMessage } from './attributes.ts'
import { withoutConsent } from './consent.ts'
import { CODES, errorReply, type McpError } from './errors.ts'
import { lookUp } from './gather.ts'
import { claimedVersion } from './header-check.ts'
import { type ClientMessage, isObject, readKnownMessage, readServerMessage } from './message.ts'
import { type NameKind, nameMember, type PartMethod } from './methods.ts'
import type { Named } from './names.ts'
import { mismatch, paramHeaders, paramProblem } from './param-headers.ts'
import { pinnedBy, reportPins } from './pin-check.ts'
import type { PinChange, Pins } from './pins.ts'
import { Relay } from './relay.ts'
import { isModern } from './revisions.ts'
import { type Replacements, replaceIn, rewriteForClient } from './rewrite.ts'
import { attributesOf, sentTo } from './sent.ts'
import { type EndpointPlan, onDone, type Serving } from './serving.ts'

/** The object of a message, by the client's name for it. */
interface Target {
  readonly kind: NameKind
  readonly name: string
  readonly path: JsonPath
}

/**
 * Serves a message about an object of one server. Rules are evaluated before any server is called;
 * a denied object does not exist for this client.
 */
export function serveCall<P>(
  serving: Serving<P>,
  message: ClientMessage,
  method: PartMethod,
  permit?: P,
): void {
  const { plan, responder } = serving
  const wanted = targetOf(message, method)
  if (wanted === undefined) {
    const error = { code: CODES.invalidParams, message: 'Invalid params: name or uri is required' }
    responder.reply(errorReply(200, message.id, error, 'upstream'))
    return
  }
  serving.record.asked = wanted.name
  const { names } = plan
  const named = names.fromClient(wanted.kind, wanted.name)
  if (wanted.kind === 'task') {
    if (named === undefined) responder.reply(unknown(message, wanted))
    else decide(serving, message, wanted, named, permit)
    return
  }
  const isOpen = !names.isPrefixed && plan.servers.length > 1
  if (named === undefined || isOpen || (wanted.kind === 'tool' && names.isShortened(wanted.name))) {
    // Only the lists show which server offers it.
    onDone(serving, find(serving, wanted), (found) => {
      if (found === undefined) responder.reply(unknown(message, wanted))
      else decide(serving, message, wanted, found, permit)
    })
    return
  }
  decide(serving, message, wanted, named, permit)
}

function decide<P>(
  serving: Serving<P>,
  message: ClientMessage,
  wanted: Target,
  named: Named,
  given: P | undefined,
): void {
  const { plan, exchange, responder, record } = serving
  record.target = plan.servers[named.server]?.name ?? 'none'
  if (wanted.kind === 'tool') record.tool = named.name
  const attributes = partAttributes(serving, message, wanted.kind, named)
  const permit = given ?? plan.rules.decide(exchange, attributes)
  record.isListed = plan.catalog.knows(wanted.kind, named.server, named.name)
  if (permit === undefined) {
    record.outcome = 'denied'
    const challenge = plan.rules.stepUp(exchange)
    const denied = challenge === undefined ? unknown(message, wanted) : stepUp(message, challenge)
    responder.reply(denied)
    return
  }
  const { kind } = wanted
  const pins = kind === 'tool' ? plan.pins[named.server] : undefined
  if (pins !== undefined && !pins.isFresh(named.name)) {
    onDone(serving, isPinned(serving, named, pins, permit), (isSame) => {
      record.isListed = plan.catalog.knows(kind, named.server, named.name)
      if (!isSame) record.outcome = 'denied'
      if (isSame) sendChecked(serving, message, wanted, named, permit)
      else responder.reply(unknown(message, wanted))
    })
    return
  }
  const isListed = kind === 'tool' || kind === 'prompt'
  if (!plan.rules.isGuarded || !isListed || plan.catalog.knows(kind, named.server, named.name)) {
    sendChecked(serving, message, wanted, named, permit)
    return
  }
  // An object that does not exist gets a response in the same words as a denied one.
  onDone(serving, lookUp(serving, kind, named.server, permit), (isKnown) => {
    const isThere = !isKnown || plan.catalog.knows(kind, named.server, named.name)
    record.isListed = isKnown && isThere
    if (isThere) sendChecked(serving, message, wanted, named, permit)
    else responder.reply(unknown(message, wanted))
  })
}

/** Checks whether a tool is the pinned one, as the client of this call would see it. */
async function isPinned<P>(
  serving: Serving<P>,
  { server, name }: Named,
  pins: Pins,
  permit: P,
): Promise<boolean> {
  let changes: readonly PinChange[] | undefined
  if (!pins.has(name)) changes = ['new']
  else {
    await lookUp(serving, 'tool', server, permit, (own, item) => {
      // A server may list the same name twice.
      if (own === name) changes = [...(changes ?? []), ...pins.changesOf(name, item)]
    })
  }
  changes ??= ['unknown']
  if (changes.length === 0) return true
  reportPins(serving, server, [{ name, changes }], true)
  return !pins.isEnforced
}

/** Returns `mcp` for a message about one object. */
function partAttributes<P>(
  serving: Serving<P>,
  { method, params }: ClientMessage,
  kind: NameKind,
  { server, name }: Named,
): McpMessage {
  const attributes = attributesOf(serving, method)
  const part = { target: serving.plan.servers[server]?.name ?? '', name }
  switch (kind) {
    case 'tool': {
      const { arguments: given = {} } = params
      return { ...attributes, tool: isObject(given) ? { ...part, arguments: given } : part }
    }
    case 'prompt':
      return { ...attributes, prompt: part }
    case 'resource':
      return { ...attributes, resource: part }
    case 'task':
      return attributes
  }
}

/** Headers that repeat arguments must match them. */
function sendChecked<P>(
  serving: Serving<P>,
  message: ClientMessage,
  wanted: Target,
  named: Named,
  permit: P,
): void {
  const { headers } = serving.exchange.request
  const [first] = wanted.kind === 'tool' ? paramHeaders(headers) : []
  if (first === undefined) {
    send(serving, message, wanted, named, permit)
    return
  }
  const { server, name } = named
  let isListed = false
  let problem: McpError | undefined
  const looked = lookUp(serving, 'tool', server, permit, (own, item) => {
    if (own !== name) return
    isListed = true
    problem ??= paramProblem(headers, item, message.params.arguments)
  })
  onDone(serving, looked, () => {
    const found = isListed ? problem : mismatch(first)
    if (found === undefined) send(serving, message, wanted, named, permit)
    else serving.responder.reply(errorReply(400, message.id, found))
  })
}

function send<P>(
  serving: Serving<P>,
  message: ClientMessage,
  wanted: Target,
  named: Named,
  permit: P,
): void {
  const { plan, exchange, responder, sendings } = serving
  const state = new RequestStates(serving, message, named)
  const opened = state.open()
  if (opened === 'invalid') {
    const error = { code: CODES.invalidParams, message: 'Invalid params: requestState' }
    responder.reply(errorReply(200, message.id, error, 'upstream'))
    return
  }
  const renamed: Replacements =
    named.name === wanted.name ? [] : [[wanted.path, JSON.stringify(named.name)]]
  const others = withoutConsent(message)
  const inputResponses: Replacements =
    others === undefined ? [] : [[['params', 'inputResponses'], others]]
  const text = replaceIn(message.text, [...renamed, ...opened, ...inputResponses])
  const { server } = named
  const isChanged = plan.names.areChanged || state.isUsed
  // Content that a rule allowed this client to read is not for everyone who shares a cache.
  const isPrivate = state.isUsed && plan.rules.isGuarded && message.method === 'resources/read'
  const change = (own: string) => {
    const whole = isPrivate ? keptPrivate(own) : own
    const sealed = state.isUsed ? state.seal(whole) : whole
    if (!plan.names.areChanged) return sealed
    return rewriteForClient(readKnownMessage(sealed), server, plan.names)
  }
  const relay = new Relay(serving, {
    id: message.id,
    server,
    change: isChanged ? change : undefined,
  })
  const header = nameMember(message.method) === undefined ? undefined : named.name
  const sent = sentTo(serving, { ...message, text }, server, header)
  const own = plan.servers[server]
  if (own !== undefined) sendings.add(own.send(permit, exchange, sent, relay))
}

function keptPrivate(text: string): string {
  if (readServerMessage(text).kind !== 'response') return text
  return replaceIn(text, [[['result', 'cacheScope'], '"private"']])
}

const STATE = 'mcp-request-state'

/**
 * State that a server wants to receive again with the next try of a request. Clients carry it, so
 * it is sealed, and can be opened only for the same caller and the same object.
 */
class RequestStates<P> {
  readonly isUsed: boolean
  readonly #serving: Serving<P>
  readonly #message: ClientMessage
  readonly #about: string

  constructor(serving: Serving<P>, message: ClientMessage, { server, name }: Named) {
    this.#serving = serving
    this.#message = message
    this.isUsed = isModern(claimedVersion(message))
    const { plan, caller } = serving
    this.#about = [plan.name, plan.servers[server]?.name, message.method, name, caller].join('\n')
  }

  open(): Replacements | 'invalid' {
    const { requestState } = this.#message.params
    if (!this.isUsed || requestState === undefined) return []
    if (typeof requestState !== 'string') return 'invalid'
    const opened = this.#serving.plan.seal.open(STATE, requestState)
    if (!isObject(opened) || opened.a !== this.#about) return 'invalid'
    return [[['params', 'requestState'], JSON.stringify(opened.s)]]
  }

  seal(text: string): string {
    const result = readServerMessage(text).members.get('result')
    if (result === undefined || !result.includes('"requestState"')) return text
    const { requestState } = JSON.parse(result) as { readonly requestState?: unknown }
    if (requestState === undefined) return text
    const sealed = this.#serving.plan.seal.seal(STATE, { s: requestState, a: this.#about })
    return replaceIn(text, [[['result', 'requestState'], JSON.stringify(sealed)]])
  }
}

/** Returns undefined if the object of the message cannot be determined. */
function targetOf(message: ClientMessage, { part, name }: PartMethod): Target | undefined {
  const { params } = message
  if (name !== 'ref') {
    const value = params[name]
    return typeof value === 'string'
      ? { kind: part, name: value, path: ['params', name] }
      : undefined
  }
  const { ref } = params
  if (!isObject(ref)) return undefined
  const isPrompt = ref.type === 'ref/prompt'
  if (!isPrompt && ref.type !== 'ref/resource') return undefined
  const member = isPrompt ? 'name' : 'uri'
  const value = ref[member]
  if (typeof value !== 'string') return undefined
  return { kind: isPrompt ? 'prompt' : 'resource', name: value, path: ['params', 'ref', member] }
}

/** The same reply for an object that does not exist and one that is denied. */
function unknown({ id }: ClientMessage, { kind, name }: Target) {
  const error =
    kind === 'resource'
      ? { code: CODES.resourceNotFound, message: 'Resource not found', data: { uri: name } }
      : { code: CODES.invalidParams, message: `Unknown ${kind}: ${name}` }
  return errorReply(200, id, error, 'upstream')
}

/** RFC 6750 §3.1: the client may retry with a token that has more scopes. */
function stepUp({ id }: ClientMessage, challenge: string) {
  const error = {
    code: CODES.invalidRequest,
    message: 'The token does not have the required scope.',
  }
  const denied = errorReply(403, id, error, 'authorization')
  const headers = new HeaderEdit(['www-authenticate'], [['www-authenticate', challenge]])
  return { ...denied, headers }
}

/** Searches the servers' lists for the one that offers it. */
async function find<P>(serving: Serving<P>, wanted: Target): Promise<Named | undefined> {
  const { plan, exchange, sendings } = serving
  const { kind, name } = wanted
  const { names, catalog, servers } = plan
  const known = () => {
    if (names.isPrefixed) {
      return names.isShortened(name) ? undefined : names.fromClient(kind, name)
    }
    const pinned = kind === 'tool' ? pinnedBy(plan, name) : undefined
    const server = pinned ?? catalog.serverOf(kind, servers.length, name)
    return server === undefined ? undefined : { server, name }
  }
  const found = known()
  if (found !== undefined) return found
  const permit = plan.rules.admit(exchange, attributesOf(serving, `${kind}s/list`))
  if (permit === undefined || sendings.isStopped) return undefined
  await Promise.all(servers.map((_, server) => lookUp(serving, kind, server, permit)))
  if (!names.isPrefixed) return known()
  return known() ?? names.fromClient(kind, name) ?? byOwnName(plan, wanted)
}

/** The page of an MCP App calls the tools of its server by the names that it has there. */
function byOwnName<P>({ catalog, servers }: EndpointPlan<P>, { kind, name }: Target) {
  const server = catalog.onlyServerOf(kind, servers.length, name)
  return server === undefined ? undefined : { server, name }
}
