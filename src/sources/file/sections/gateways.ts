import * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import { hasErrors } from '../../../diagnostics/result.ts'
import type { Gateway, Listener, Protocol } from '../../../model/gateway.ts'
import type { Attached, Section } from '../../../model/policy.ts'
import { choice, hostname, name, POLICY_SCHEMAS, port } from '../../../policies/schema.ts'
import {
  invalidPolicy,
  kindAt,
  type PolicyPlace,
  policiesSchema,
  policyShape,
  readPolicies,
} from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import { listenerTls } from './tls.ts'

const TRAFFIC: readonly Section[] = ['traffic', 'backend']

/** Policies that can be set directly next to `port` and `tls`, without `policies:`. */
const INLINE = POLICY_SCHEMAS.filter(({ isInline }) => isInline).map(({ kind }) => kind)
const inlineShape = (level: 'gateway' | 'listener') => policyShape(['traffic'], level, INLINE)
const INLINE_KEYS = Object.keys(inlineShape('gateway'))

const listenerHead = {
  protocol: choice('HTTP', 'HTTPS', 'TLS', 'TCP')
    .optional()
    .describe('HTTP by default, or HTTPS if `tls` is set. TLS and TCP listeners use `tcpRoutes`.'),
  hostname: hostname()
    .optional()
    .describe('The hostname to serve, such as `*.example.com`. Default: all.'),
  tls: listenerTls.optional().describe('TLS settings, including certificates.'),
}

const namedHead = {
  name: name()
    .optional()
    .describe('The name that routes use to reference this listener: `gateways: gateway/listener`.'),
  ...listenerHead,
}

const policyMappings = (level: 'gateway' | 'listener') => ({
  ...inlineShape(level),
  policies: policiesSchema(TRAFFIC, level)
    .optional()
    .describe('Policies for all requests received here.'),
})

export const listenerSchema = z.strictObject({ ...namedHead, ...policyMappings('listener') })

const gatewayHead = {
  port: port().describe('The port to listen on.'),
  ...listenerHead,
}

export const gatewaySchema = z.strictObject({
  ...gatewayHead,
  listeners: z
    .array(listenerSchema)
    .min(1)
    .max(64)
    .optional()
    .describe('Several listeners on the same port, selected by `hostname`.'),
  ...policyMappings('gateway'),
  frontendPolicies: policiesSchema(['frontend'], 'gateway')
    .optional()
    .describe('Policies for the connections of this gateway.'),
})

const gatewayHeadSchema = z.strictObject(gatewayHead)
const listenerHeadSchema = z.strictObject(namedHead)
const listenerList = z.array(z.unknown()).min(1).max(64)
const GATEWAY_KEYS = ['listeners', 'policies', 'frontendPolicies', ...INLINE_KEYS]

/** Reads one entry of `gateways`. */
export function readGateway(reading: Reading, node: SectionNode, gateway: string): Gateway {
  const listenersAt = node.inner('listeners')
  const list = listenersAt.value
  const head = parseAt(reading, gatewayHeadSchema, node, { except: GATEWAY_KEYS })
  const policies = [
    ...readPolicies(reading, node.inner('frontendPolicies'), {
      sections: ['frontend'],
      level: 'gateway',
      policy: `gateway:${gateway}`,
    }),
    ...readBoth(reading, node, 'gateway', `gateway:${gateway}`),
  ]
  const origin = node.origin
  if (list === undefined) {
    const listener = toListener(reading, node, head, { name: 'default', policies: [] })
    return { name: gateway, origin, listeners: [listener], policies }
  }
  const { port } = head.value ?? {}
  const checked = parseAt(reading, listenerList, listenersAt)
  const excluded = (['protocol', 'hostname', 'tls'] as const).flatMap((key) => {
    if (node.inner(key).value === undefined) return []
    const message = `\`${key}\` and \`listeners\` are mutually exclusive`
    const hint = `move \`${key}\` to the listeners it applies to`
    return [complain(reading, node.inner(key), { code: 'PC0216', message, hint }, 'key')]
  })
  const around = { name: gateway, port, diagnostics: [...head.diagnostics, ...excluded] }
  const listeners = (checked.value ?? []).map((_, index) =>
    readListener(reading, listenersAt.inner(index), around, index),
  )
  if (listeners.length > 0) return { name: gateway, origin, listeners, policies }
  const diagnostics = [...checked.diagnostics, ...around.diagnostics]
  const none = {
    name: 'default',
    origin,
    protocol: 'Invalid',
    ...(port === undefined ? {} : { port }),
    policies: [],
    diagnostics,
  } as const
  return { name: gateway, origin, listeners: [none], policies }
}

/** The properties that a listener takes from its gateway. */
interface AroundListener {
  readonly name: string
  readonly port: number | undefined
  /** Errors of the gateway apply to each of its listeners. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Reads one entry of `listeners`. */
export function readListener(
  reading: Reading,
  node: SectionNode,
  around: AroundListener,
  index: number,
  furtherKeys: readonly string[] = [],
): Listener {
  const except = ['policies', ...INLINE_KEYS, ...furtherKeys]
  const head = parseAt(reading, listenerHeadSchema, node, { except })
  // An invalid listener keeps its name, so that routes can refer to it.
  const written = node.inner('name').value
  const called = head.value?.name ?? (isName(written) ? written : `listener-${index}`)
  const known = head.value ?? extentOf(node)
  // If it is not a mapping, it has no policies: a policy error would be confined to no hostname.
  const isMapping = isPlainObject(node.value)
  const policies = isMapping
    ? readBoth(reading, node, 'listener', `listener:${around.name}/${called}`)
    : []
  // If its hostname is unknown, the error is not confined to this listener.
  const own = known === undefined ? [] : head.diagnostics
  const diagnostics = [...around.diagnostics, ...own]
  const isInvalid = head.value === undefined || hasErrors(diagnostics)
  const extent = { port: around.port, hostname: known?.hostname }
  const value = isInvalid ? undefined : { ...head.value, port: around.port }
  return toListener(reading, node, { value, diagnostics, extent }, { name: called, policies })
}

/** The hostname of a listener with errors; undefined if an unknown key may be meant to set it. */
function extentOf(node: SectionNode) {
  const written = node.value
  const { data } = anyListener.safeParse(written)
  const isSaid = data?.hostname !== undefined
  const isKnown = isSaid || Object.keys(data ?? {}).every((key) => LISTENER_KEYS.has(key))
  return isKnown ? data : undefined
}

const anyListener = z.looseObject({ hostname: listenerHead.hostname })
const LISTENER_KEYS: ReadonlySet<string> = new Set(Object.keys(listenerSchema.shape))

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isName(value: unknown): value is string {
  return name().safeParse(value).success
}

/** Policies under `policies` and next to it form one policy. */
function readBoth(
  reading: Reading,
  node: SectionNode,
  level: 'gateway' | 'listener',
  policy: string,
): Gateway['policies'] {
  const place = { sections: TRAFFIC, level, policy }
  return [
    // Of two at the same level, the first wins.
    ...readTwins(reading, node, place),
    ...readPolicies(reading, node, { ...place, keys: INLINE_KEYS }),
    ...readPolicies(reading, node.inner('policies'), place),
  ]
}

/** Reports a kind that is set both next to `policies` and under it: the intent is ambiguous. */
function readTwins(reading: Reading, node: SectionNode, place: PolicyPlace): readonly Attached[] {
  const beside = Object.keys(node.value ?? {})
  const inline = beside.filter((key) => INLINE_KEYS.includes(key))
  const keys = Object.keys(node.inner('policies').value ?? {})
  return keys.flatMap((key) => {
    const kind = kindAt(key, place)
    const twin = inline.find((other) => kind !== undefined && kindAt(other, place) === kind)
    if (kind === undefined || twin === undefined) return []
    const message = `\`${key}\` is set twice, under \`policies\` and next to it`
    const said = { code: 'PC0216', message, hint: 'remove one of them' }
    const at = node.inner('policies', key)
    return [invalidPolicy(at, kind, place, [complain(reading, at, said, 'key')])]
  })
}

interface Head {
  readonly value:
    | {
        readonly port?: number | undefined
        readonly protocol?: Protocol | undefined
        readonly hostname?: string | undefined
        readonly tls?: z.output<typeof listenerTls> | undefined
      }
    | undefined
  readonly diagnostics: readonly Diagnostic[]
  /** The known extent of an invalid listener. */
  readonly extent?: { readonly port: number | undefined; readonly hostname: string | undefined }
}

export function toListener(
  reading: Reading,
  node: SectionNode,
  head: Head,
  rest: { readonly name: string; readonly policies: Gateway['policies'] },
): Listener {
  const origin = node.origin
  const { tls, protocol: named } = head.value ?? {}
  const { port, hostname: written } = head.value ?? head.extent ?? {}
  const hostname = written === '*' ? undefined : written
  const identity = { ...rest, origin, ...(hostname === undefined ? {} : { hostname }) }
  const invalid = (diagnostics: readonly Diagnostic[]): Listener => ({
    ...identity,
    protocol: 'Invalid',
    ...(port === undefined ? {} : { port }),
    diagnostics,
  })
  if (head.value === undefined || port === undefined) return invalid(head.diagnostics)
  const protocol = named ?? (tls === undefined ? 'HTTP' : 'HTTPS')
  const reject = (key: string, message: string, hint: string) =>
    invalid([complain(reading, node.inner(key), { code: 'PC0308', message, hint })])
  if (protocol === 'HTTP' || protocol === 'TCP') {
    if (tls === undefined) return { ...identity, protocol, port }
    const other = protocol === 'HTTP' ? 'HTTPS' : 'TLS'
    return reject(
      'tls',
      `${protocol} listeners do not support TLS`,
      `set \`protocol\` to ${other}, or remove \`tls\``,
    )
  }
  if (protocol === 'TLS') {
    return { ...identity, protocol, port, tls: tls ?? { mode: 'Passthrough' } }
  }
  if (tls?.mode === 'Terminate') return { ...identity, protocol, port, tls }
  const hint = 'set `tls.cert` and `tls.key`, or use `protocol: TLS` for passthrough'
  return reject('protocol', 'HTTPS requires a certificate', hint)
}

/**
 * The port of a section that can set its own. If a file defines no gateways, as in files written
 * for other gateways, the usual port is the default.
 */
export function portOf(
  { root }: Reading,
  section: { readonly port?: number | undefined; readonly gateways?: unknown } | undefined,
  usual: number,
): number | undefined {
  if (section?.port !== undefined || section?.gateways !== undefined) return section.port
  const hasGateways = ['gateways', 'binds'].some((key) => root.inner(key).value !== undefined)
  return hasGateways ? undefined : usual
}
