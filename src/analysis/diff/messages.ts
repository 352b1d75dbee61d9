import type { McpBackend } from '../../model/backend.ts'
import { canonicalJson } from '../../model/json.ts'
import type { Model } from '../../model/model.ts'
import { isText, serversAt, toolsOf } from '../mcp-facts.ts'
import { type Point, pointsOf } from '../points.ts'
import type { Fact } from '../symbolic/attribute-tree.ts'
import { compareCalls } from './calls.ts'
import { changedRoutes } from './changed-routes.ts'
import type { Decide, SemanticDiff, Untold } from './difference.ts'
import { type CalledMessage, type Entry, type Ways, waysThrough } from './entries.ts'
import { withoutMessageRules } from './unlooked.ts'

type Part = Exclude<CalledMessage['part'], 'none'>

/** The methods for each kind of feature that a server offers. */
export const PART_METHODS: Readonly<Record<Part, readonly string[]>> = {
  tool: ['tools/call'],
  prompt: ['prompts/get', 'completion/complete'],
  resource: [
    'resources/read',
    'resources/subscribe',
    'resources/unsubscribe',
    'completion/complete',
  ],
}

export const LIST_METHODS: Readonly<Record<Part, readonly string[]>> = {
  tool: ['tools/list'],
  prompt: ['prompts/list'],
  resource: ['resources/list', 'resources/templates/list'],
}

/** Of messages that name none of these; examples have the first. */
export const GENERAL_METHODS: readonly string[] = [
  'ping',
  'initialize',
  'server/discover',
  ...Object.values(LIST_METHODS).flat(),
  'tasks/list',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
  'logging/setLevel',
  'subscriptions/listen',
  // What the gateway calls its own events.
  'session/listen',
  'session/end',
]

const PARTS: readonly Part[] = ['tool', 'prompt', 'resource']

/** With more tools than this, tools are not analyzed one by one. */
const MAX_TOOLS = 64

/**
 * The calls of tools, prompts and resources of MCP servers that a change newly admits or rejects.
 * Covers backends that have the same servers in both configurations; other differences are reported
 * elsewhere.
 */
export function compareMessages(
  before: Model,
  after: Model,
  decide: { readonly old: Decide; readonly now: Decide },
): SemanticDiff {
  const hasMcp = ({ backends }: Model) => backends.some(({ kind }) => kind === 'mcp')
  if (!hasMcp(before) || !hasMcp(after)) return NO_DIFFERENCES
  const changed = changedRoutes(before, after)?.compared
  const [old, now] = [waysThrough(before, changed), waysThrough(after, changed)]
  // A fact that only one of the two assumes would hide what changes without it.
  const read = new RulesRead([before, after].flatMap(messagePoints))
  const [was, is] = [messagesIn(before, old, read), messagesIn(after, now, read)]
  const compare = (kind: keyof Messages, how: typeof decide) =>
    compareCalls({ ways: old, calls: was[kind] }, { ways: now, calls: is[kind] }, how, ABOUT[kind])
  const calls = compare('calls', decide)
  const others = compare('others', decide)
  // What is listed follows from what can be called, unless a proof fails.
  const shown = new Set(calls.differences.map(placeIn))
  const lists = compare('lists', UNDECIDED).untold.filter((one) => !shown.has(placeIn(one)))
  // One example of messages that name nothing is enough.
  const firsts = new Map(others.differences.toReversed().map((one) => [placeIn(one), one]))
  return {
    differences: [...calls.differences, ...firsts.values()],
    untold: [...calls.untold, ...others.untold, ...lists],
  }
}

function placeIn({ kind, listener, route }: Omit<Untold, 'why'>): string {
  return `${kind} ${listener} ${route}`
}

const NO_DIFFERENCES: SemanticDiff = { differences: [], untold: [] }
/** Lists are no requests that are admitted or denied, so there is no example of one. */
const UNDECIDED = { old: () => undefined, now: () => undefined }

const ABOUT: Readonly<Record<keyof Messages, (entry: Entry) => string>> = {
  calls: ({ message }) => `${message?.part}s of \`${message?.server}\``,
  others: () => 'messages that name no tool, prompt or resource',
  lists: ({ message }) => `lists of ${message?.part}s of \`${message?.server}\` may change`,
}

/** Keyed by what is the same in both: the way, the server and what is called. */
interface Messages {
  readonly calls: ReadonlyMap<string, Entry>
  /** The same in lists, where arguments are unknown. */
  readonly lists: ReadonlyMap<string, Entry>
  /** Messages that name nothing. */
  readonly others: ReadonlyMap<string, Entry>
}

/** What rules for messages read, in both configurations. */
class RulesRead {
  readonly #fields = new Map<string, (readonly string[])[]>()

  constructor(points: readonly Point[]) {
    for (const { where, rules } of points) {
      const name = where.backend?.name ?? ''
      const fields = this.#fields.get(name) ?? []
      this.#fields.set(name, fields)
      for (const { variable, fields: steps } of rules.flatMap(({ reads }) => reads)) {
        if (variable === 'mcp') fields.push(steps)
      }
    }
  }

  /** Whether a rule for this backend reads the attribute as a whole, or what contains it. */
  has(backend: string, ...steps: readonly string[]): boolean {
    return (this.#fields.get(backend) ?? []).some(
      (fields) =>
        fields.length <= steps.length && fields.every((field, index) => field === steps[index]),
    )
  }
}

function messagePoints(model: Model): readonly Point[] {
  return [...pointsOf(model)].filter(({ stage }) => stage === 'mcp')
}

function messagesIn(model: Model, { entries }: Ways, read: RulesRead): Messages {
  const points = new Map(messagePoints(model).map((point) => [placeOf(point.where), point]))
  const [calls, lists, others] = [new Map(), new Map(), new Map()] as [
    ...[Map<string, Entry>, Map<string, Entry>, Map<string, Entry>],
  ]
  for (const entry of entries) {
    const { backend } = entry.where
    if (backend?.kind !== 'mcp') continue
    const general = points.get(placeOf(entry.where))
    const { options } = backend
    const shape = canonicalJson([backend.targets.map(({ name }) => name), options])
    const own: Point[] = []
    for (const server of backend.targets) {
      const where = { ...entry.where, server }
      const special = points.get(placeOf(where))
      const point = special ?? general
      if (special !== undefined) own.push(special)
      if (point === undefined) continue
      for (const part of PARTS) {
        for (const tool of part === 'tool' ? toolsToTry({ ...entry.where, server }) : [undefined]) {
          const key = [entry.key, shape, server.name, part, tool ?? ''].join(' ')
          const names = { server: server.name, part, tool }
          const call = messageEntry(entry, point, backend, names, read)
          calls.set(key, call)
          lists.set(key, listEntry(call, part))
        }
      }
    }
    if (general === undefined) continue
    const key = `${entry.key} ${shape}`
    others.set(`${key} known`, generalEntry(entry, general, own, 'known'))
    others.set(`${key} notified`, generalEntry(entry, general, own, 'notified'))
    // Only a single server is sent methods that the gateway does not know.
    if (backend.targets.length === 1) others.set(`${key} unknown`, unknownEntry(entry, general))
  }
  return { calls, lists, others }
}

/** Whether a list shows what the call is about: see `McpVisibility`. */
function listEntry(call: Entry, part: Part): Entry {
  const unknown = part === 'tool' ? [['mcp', 'tool', 'arguments']] : []
  const methods: Fact = { kind: 'values', values: LIST_METHODS[part], isSet: true }
  const points = call.points.map((point, index) => {
    if (index < call.points.length - 1) return point
    const facts = new Map([...point.facts, ['mcp.methodName', methods] as const])
    return { ...point, facts, unknown }
  })
  return { ...call, points }
}

/**
 * Messages that name nothing are denied only if nothing at all could be allowed. Notifications may
 * have any name, and rules know a response as `response`.
 */
function generalEntry(
  entry: Entry,
  general: Point,
  servers: readonly Point[],
  kind: 'known' | 'notified',
): Entry {
  const isGuarded = general.rules.length + general.invalid.length > 0
  const methods: Fact =
    kind === 'known' ? { kind: 'values', values: GENERAL_METHODS, isSet: true } : { kind: 'set' }
  const facts: Point['facts'] = new Map([['mcp.methodName', methods]])
  const own = isGuarded ? [general, ...servers] : []
  return withMessage(
    entry,
    own.map((point) => ({ ...atBackend(point, facts), unknown: PARTS.map((one) => ['mcp', one]) })),
    kind === 'known' ? 'ping' : 'notifications/initialized',
    kind === 'notified',
  )
}

/** Messages whose method the gateway does not know: rules see no tool, prompt or resource. */
function unknownEntry(entry: Entry, general: Point): Entry {
  const facts: Point['facts'] = new Map([
    ['request.method', isText('POST')],
    ['mcp.methodName', { kind: 'set' }],
    ...PARTS.map((one) => [`mcp.${one}`, { kind: 'unset' }] as const),
  ])
  return withMessage(entry, [atBackend(general, facts)], 'unknown')
}

function withMessage(
  entry: Entry,
  own: readonly Point[],
  method: string,
  isNotification = false,
): Entry {
  const { unlooked } = withoutMessageRules(entry)
  const none = { server: '', part: 'none', prefix: '', name: '' } as const
  const message = { ...none, method, ...(isNotification ? { isNotification } : {}) }
  return { ...entry, unlooked, points: [...entry.points, ...own], message }
}

/** Rules for messages are evaluated after those of the backend, and in the same way. */
function atBackend(point: Point, facts: Iterable<readonly [string, Fact]>): Point {
  return { ...point, stage: 'backend', facts: new Map([...point.facts, ...facts]) }
}

function toolsToTry(where: Entry['where']): readonly (string | undefined)[] {
  const known = toolsOf(serversAt(where))
  return known === undefined || known.length === 0 || known.length > MAX_TOOLS ? [undefined] : known
}

function placeOf(where: Point['where']): string {
  const { gateway, listener, route, index, number, backend, server } = where
  return [
    ...[gateway.name, listener.name, route?.name, index, number],
    ...[backend?.name, server?.name],
  ].join(' ')
}

interface Called {
  readonly server: string
  readonly part: Part
  readonly tool: string | undefined
}

function messageEntry(
  entry: Entry,
  point: Point,
  { name: backend, targets, options }: McpBackend,
  { server, part, tool }: Called,
  read: RulesRead,
): Entry {
  const { prefixMode } = options
  const isPrefixed = prefixMode === 'Always' || (prefixMode !== 'Never' && targets.length > 1)
  const prefix = isPrefixed ? `${server}${part === 'resource' ? '+' : '_'}` : ''
  const methods: Fact = { kind: 'values', values: PART_METHODS[part], isSet: true }
  const others = PARTS.filter((one) => one !== part)
  const mayLackArguments = part === 'tool' && read.has(backend, 'tool', 'arguments')
  const facts: readonly (readonly [string, Fact])[] = [
    ['request.method', isText('POST')],
    ["request.headers['content-type']", isText('application/json')],
    ['mcp.methodName', methods],
    ...(read.has(backend, 'sessionId') ? [] : [['mcp.sessionId', { kind: 'unset' }] as const]),
    ...others.map((one) => [`mcp.${one}`, { kind: 'unset' }] as const),
    [`mcp.${part}`, { kind: 'set' }],
    [`mcp.${part}.target`, isText(server)],
    [`mcp.${part}.name`, tool === undefined ? { kind: 'set' } : isText(tool)],
    // Arguments that are no object are not set.
    ...(part === 'tool' && !mayLackArguments
      ? [['mcp.tool.arguments', { kind: 'set' }] as const]
      : []),
  ]
  const [method = ''] = PART_METHODS[part]
  const named = { server, part, prefix, name: tool ?? 'any', method }
  const message: CalledMessage = mayLackArguments ? { ...named, mayLackArguments } : named
  const { unlooked } = withoutMessageRules(entry)
  return { ...entry, unlooked, points: [...entry.points, atBackend(point, facts)], message }
}
