import { compileRules } from '../../src/cel/index.ts'
import type { BodyPart } from '../../src/exchange/body-part.ts'
import { HeaderEdit } from '../../src/exchange/header-edit.ts'
import type { ResponseStep } from '../../src/exchange/response-draft.ts'
import type { Step } from '../../src/exchange/step.ts'
import type { Policy } from '../../src/policies/define.ts'
import { POLICIES } from '../../src/policies/index.ts'
import { ModelCall } from '../../src/program/model-call.ts'
import type { Program } from '../../src/program/program.ts'
import { ProviderSelection } from '../../src/program/provider-selection.ts'
import { Streams } from '../../src/program/streams.ts'
import { UsageReservation } from '../../src/program/usage-reservation.ts'
import { StreamMasker } from '../../src/protocols/llm/guards/masker.ts'
import { recognizersOf } from '../../src/protocols/llm/guards/recognizers.ts'
import { HttpMcpServer } from '../../src/protocols/mcp/http-server.ts'
import { InOrder } from '../../src/protocols/mcp/in-order.ts'
import { Relay } from '../../src/protocols/mcp/relay.ts'
import { ConnectionCounts } from '../../src/proxy/connection-counts.ts'
import { Decisions } from '../../src/proxy/decisions.ts'
import { Delivery } from '../../src/proxy/delivery.ts'
import { Forward } from '../../src/proxy/forward.ts'
import { HttpListeners } from '../../src/proxy/http-listeners.ts'
import { KeptBody } from '../../src/proxy/kept-body.ts'
import { Observing } from '../../src/proxy/observe.ts'
import { RequestTrace } from '../../src/proxy/tracing.ts'
import { ClientReads } from '../../src/wire/http1/client-reads.ts'
import { Http1Headers } from '../../src/wire/http1/header-view.ts'
import { ServerStream } from '../../src/wire/http2/server-stream.ts'
import { NameTable } from '../../src/wire/tls/certificate-names.ts'
import { HelloReader } from '../../src/wire/tls/client-hello.ts'
import { Terminators } from '../../src/wire/tls/terminators.ts'

let armed = ''
let isTripped = false

/** Makes every call of this place throw until it is disarmed. */
export function arm(place: string): void {
  armed = place
  isTripped = false
}

export function disarm(): void {
  armed = ''
}

/** Whether the armed place has thrown. */
export function hasThrown(): boolean {
  return isTripped
}

export function trip(place: string): void {
  if (armed !== place) return
  isTripped = true
  throw new Error(`planted: ${place}`)
}

type Method = (...values: never[]) => unknown

const restores: (() => void)[] = []

/** Makes a method throw before it runs. */
function plantIn(owner: object, name: string, place: string): void {
  const found = Object.getOwnPropertyDescriptor(owner, name)
  const own = found ?? Object.getOwnPropertyDescriptor(Object.getPrototypeOf(owner), name)
  if (own === undefined) throw new Error(`nothing is called ${name}`)
  const call = (own.value ?? own.get) as Method
  const tripping = function (this: unknown, ...values: never[]) {
    trip(place)
    return call.apply(this, values)
  }
  const changed = own.get === undefined ? { value: tripping } : { get: tripping }
  Object.defineProperty(owner, name, { ...own, ...changed })
  restores.push(() => {
    if (found === undefined) Reflect.deleteProperty(owner, name)
    else Object.defineProperty(owner, name, found)
  })
}

/** Plants throws in the prototypes that the request path calls, regardless of the configuration. */
export function plantEverywhere(): void {
  for (const [owner, name, place] of [
    [HttpListeners.prototype, 'forHost', 'finding the listener'],
    [ProviderSelection.prototype, 'next', 'choosing a provider'],
    [ModelCall.prototype, 'read', 'reading a call to a model'],
    [ModelCall.prototype, 'prepare', 'preparing a call to a model'],
    [ModelCall.prototype, 'finish', 'the end of a call to a model'],
    [UsageReservation.prototype, 'take', 'reserving a budget'],
    [UsageReservation.prototype, 'settle', 'settling a budget'],
    [recognizersOf('email')[0] as object, 'find', 'a guard'],
    [StreamMasker.prototype, 'push', 'a guarded stream'],
    [HttpMcpServer.prototype, 'send', 'sending to an MCP server'],
    [Relay.prototype, 'received', 'a message of an MCP server'],
    [Relay.prototype, 'failed', 'a failure of an MCP server'],
    [InOrder.prototype, 'run', 'the order of what an MCP server sends'],
    [InOrder.prototype, 'after', 'a long list of an MCP server'],
    [ProviderSelection.prototype, 'responded', 'the latency of a provider'],
    [Delivery.prototype, 'start', 'delivery'],
    [Delivery.prototype, 'stop', 'stopping a delivery'],
    [Delivery.prototype, 'accepts', 'reading a response head'],
    [Delivery.prototype, 'finish', 'finishing a delivery'],
    [Forward.prototype, 'start', 'an attempt'],
    [KeptBody.prototype, 'bytes', 'a body that was read'],
    [HeaderEdit.prototype, 'with', 'rendering a reply'],
    [Decisions.prototype, 'request', 'recording a decision'],
    [Decisions.prototype, 'connection', 'recording a decision on a connection'],
    [Observing.prototype, 'began', 'the beginning of a request'],
    [Observing.prototype, 'finished', 'the end of a request'],
    [Observing.prototype, 'attempted', 'the end of an attempt'],
    [Observing.prototype, 'served', 'counting a connection'],
    [Observing.prototype, 'secured', 'counting a handshake'],
    [Observing.prototype, 'unsecured', 'counting a failed handshake'],
    [Observing.prototype, 'streamed', 'the end of a stream'],
    [Observing.prototype, 'requestRejected', 'counting bytes that are no request'],
    [RequestTrace.prototype, 'attempting', 'the span of an attempt'],
    [RequestTrace.prototype, 'end', 'the end of a trace'],
    [ConnectionCounts.prototype, 'enter', 'counting connections'],
    [ConnectionCounts.prototype, 'enterFrom', 'counting connections of an address'],
    [HelloReader.prototype, 'read', 'reading a ClientHello'],
    [NameTable.prototype, 'find', 'the SNI callback'],
    [Streams.prototype, 'choose', 'choosing where a stream goes'],
    [ClientReads.prototype, 'read', 'reading bytes of HTTP/1.1'],
    [ServerStream.prototype, 'begin', 'reading a stream of HTTP/2'],
    [Terminators.prototype, 'get', 'planning ports'],
  ] as const)
    plantIn(owner, name, place)
  plantInCards()
  plantInRules()
  for (const policy of POLICIES) plantInPolicy(policy)
}

/** The name of a card; computing the canonical form of that card throws, in a later turn. */
export const PLANTED_CARD = 'planted-card'

function plantInCards(): void {
  const { from } = Buffer
  Object.assign(Buffer, {
    from(value: string, ...rest: never[]) {
      const isCard = typeof value === 'string' && value.includes(PLANTED_CARD)
      if (isCard) trip('the signature of a card')
      return from(value, ...rest)
    },
  })
  restores.push(() => Object.assign(Buffer, { from }))
}

/**
 * Plants throws in the rule index, and in a header that rules may read, in the middle of an
 * expression.
 */
function plantInRules(): void {
  const rules = Object.getPrototypeOf(compileRules([]))
  const { decide, denying, admitting } = rules
  type Variables = { readonly request?: unknown }
  rules.decide = function (variables: Variables) {
    trip(variables.request === undefined ? 'the index of network rules' : 'the rule index')
    return decide.call(this, variables)
  }
  rules.denying = function (variables: Variables) {
    trip(variables.request === undefined ? 'the index of network rules' : 'the rule index')
    return denying.call(this, variables)
  }
  rules.admitting = function (variables: Variables) {
    trip('the index of Allow rules')
    return admitting.call(this, variables)
  }
  restores.push(() => Object.assign(rules, { decide, denying, admitting }))
  const { get } = Http1Headers.prototype
  Http1Headers.prototype.get = function (name: string) {
    if (name === 'x-thrower') trip('a rule')
    if (name === 'a2a-version') trip('reading a message to an agent')
    return get.call(this, name)
  }
  restores.push(() => {
    Http1Headers.prototype.get = get
  })
}

function plantInPolicy(policy: Policy): void {
  const { compile } = policy
  const open = policy as { compile: Policy['compile'] }
  open.compile = (policies, context) => {
    const part = compile.call(policy, policies, context)
    const [{ kind, section, level }] = policies
    return {
      ...part,
      ...(part.step && { step: tripping(part.step, kind, `${section} of ${level}`) }),
      ...(part.response && { response: trippingBack(part.response, kind) }),
      ...(part.requestBody && { requestBody: trippingBody(part.requestBody, `${kind}, request`) }),
      ...(part.responseBody && {
        responseBody: trippingBody(part.responseBody, `${kind}, response`),
      }),
    }
  }
  restores.push(() => {
    open.compile = compile
  })
}

function tripping(inner: Step, kind: string, place: string): Step {
  return (exchange) => {
    trip(`${kind} at ${place}`)
    const outcome = inner(exchange)
    if (!(outcome instanceof Promise)) return outcome
    return outcome.then((response) => {
      trip(`${kind}, later`)
      return response
    })
  }
}

function trippingBack(inner: ResponseStep, kind: string): ResponseStep {
  return (exchange, draft) => {
    trip(`${kind} on the response`)
    return inner(exchange, draft)
  }
}

function trippingBody(inner: BodyPart, place: string): BodyPart {
  if (inner.mode === 'beginning') return inner
  if (inner.mode === 'whole') {
    const { change } = inner
    if (change === undefined) return inner
    const own: NonNullable<typeof change> = (...given) => {
      trip(`${place}, whole`)
      return change.call(inner, ...given)
    }
    return { ...inner, change: own }
  }
  return {
    ...inner,
    open: (...given) => {
      trip(`${place}, opened`)
      const opened = inner.open(...given)
      if (opened === undefined) return undefined
      const { write, end } = opened
      return Object.assign(opened, {
        write(bytes: Uint8Array) {
          trip(`${place}, a piece`)
          return write.call(opened, bytes)
        },
        end() {
          trip(`${place}, the end`)
          return end.call(opened)
        },
      })
    },
  }
}

/** Plants throws in the parts that exist only in a Program. */
export function plantInProgram(program: Program): void {
  for (const cluster of program.clusters.values())
    plantIn(cluster, 'choose', 'choosing an endpoint')
  for (const listener of program.listeners) {
    const open = listener as { match: typeof listener.match }
    const { match } = listener
    open.match = (exchange) => {
      trip('finding the route')
      const route = match.call(listener, exchange)
      const choose: typeof route.choose = (own) => {
        trip('choosing a backend')
        return route.choose(own)
      }
      const mirrors = route.mirrors.map((mirror) => {
        const cluster = Object.create(mirror.cluster) as typeof mirror.cluster
        cluster.choose = (own, tried) => {
          trip('choosing an endpoint of a mirror')
          return mirror.cluster.choose(own, tried)
        }
        return { ...mirror, cluster }
      })
      return { ...route, choose, mirrors }
    }
    if (listener.network !== undefined)
      plantIn(listener.network, 'decide', `network authorization of ${listener.gateway}`)
    if (listener.accessLog !== undefined)
      plantIn(listener.accessLog, 'filter', 'the filter of the access log')
    if (listener.metricLabels !== undefined)
      plantIn(listener.metricLabels, 'valuesIn', 'labels of metrics')
  }
}

export function unplant(): void {
  for (const restore of restores.splice(0).reverse()) restore()
  armed = ''
}
