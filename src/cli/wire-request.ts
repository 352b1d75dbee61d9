import { servesRequests } from '../model/gateway.ts'
import { rankOf } from '../model/hostnames.ts'
import type { ListenerProgram, Program } from '../program/program.ts'
import { isAlike, type PortPlan, planPorts } from '../proxy/port-plan.ts'
import { RequestHead, readRequestHead } from '../wire/http1/head.ts'
import { Http1Headers } from '../wire/http1/header-view.ts'
import { normalisePath } from '../wire/http1/path.ts'
import { rejectionOf } from '../wire/http1/rejections.ts'
import { readHttp2Head } from './http2-head.ts'

export type HttpVersion = 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2'

/** A request as written by a client. */
export interface WrittenRequest {
  readonly method: string
  readonly target: string
  readonly version: HttpVersion
  /** Includes `Host`, if there is one. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** A request as read by the gateway. */
export interface ReadRequest {
  readonly method: string
  readonly path: string
  readonly search: string
  readonly host: string
  readonly version: string
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** A request that reaches no route and no rule. */
export interface Rejected {
  /** If undefined, the connection is closed. */
  readonly status: number | undefined
  /** As in logs and metrics. */
  readonly word: string
}

export interface PlacedRequest {
  readonly listener: ListenerProgram
  readonly request: ReadRequest
}

/** The bytes of a body that expressions may read. */
interface BodyLimits {
  readonly body: number
  readonly json: number
  /** Of a call to a model. */
  readonly call: number
}

/** Reads requests of clients like the ports of a Program. */
export class RequestReader {
  readonly #ports: readonly PortPlan[]

  constructor(program: Program) {
    // Selecting a listener by name requires no certificate.
    const plans = planPorts(program, () => 'not served here', false)
    this.#ports = [...plans.values()].filter(({ listeners }) => listeners.some(isHttp))
  }

  /** How much of a body expressions may read at this listener, by `gateway/listener`. */
  limitsAt(name: string): BodyLimits | undefined {
    const isNamed = ({ gateway, listener }: ListenerProgram) =>
      `${gateway}/${listener.name}` === name
    const plan = this.#ports.find(({ listeners }) => listeners.some(isNamed))
    return plan && { body: plan.maxBody, json: plan.maxJson, call: plan.maxModelBody }
  }

  /**
   * Returns the request and the listener that serves it: on the port of the wanted listener, or on
   * the one whose listener matches the host most precisely.
   */
  read(
    written: WrittenRequest,
    isWanted: (listener: ListenerProgram) => boolean,
    serverName?: string,
  ): PlacedRequest | Rejected {
    const read = this.#readAtEach(written, isWanted, serverName)
    const [best] = placedIn(read, isWanted).toSorted((a, b) => rank(b) - rank(a))
    const rejected = read.findLast((one) => !('listener' in one))
    return best ?? rejected ?? { status: 404, word: 'bad-host' }
  }

  /** The request at each port whose wanted listener serves it. */
  placesOf(
    written: WrittenRequest,
    isWanted: (listener: ListenerProgram) => boolean,
    serverName?: string,
  ): readonly PlacedRequest[] {
    return placedIn(this.#readAtEach(written, isWanted, serverName), isWanted)
  }

  #readAtEach(
    written: WrittenRequest,
    isWanted: (listener: ListenerProgram) => boolean,
    serverName: string | undefined,
  ): readonly (PlacedRequest | Rejected)[] {
    return this.#ports
      .filter(({ listeners }) => listeners.some((one) => isHttp(one) && isWanted(one)))
      .map((plan) => readAt(plan, written, serverName))
  }
}

function placedIn(
  read: readonly (PlacedRequest | Rejected)[],
  isWanted: (listener: ListenerProgram) => boolean,
): readonly PlacedRequest[] {
  return read.filter((one) => 'listener' in one).filter(({ listener }) => isWanted(listener))
}

function isHttp({ listener }: ListenerProgram): boolean {
  return servesRequests(listener)
}

function rank({ listener: { listener } }: PlacedRequest): number {
  return rankOf(listener.hostname)
}

/** Follows the steps of `RequestLoop.request` in order; a test keeps the two in sync. */
function readAt(
  plan: PortPlan,
  written: WrittenRequest,
  serverName: string | undefined,
): PlacedRequest | Rejected {
  const entered = serverName === undefined ? undefined : plan.names.forHost(serverName)
  if (plan.kind === 'tls' && serverName !== undefined && entered === undefined) {
    return { status: undefined, word: 'no-listener' }
  }
  const head = new RequestHead()
  head.lowersNames = plan.http.lowersNames
  const isHttp2 = written.version === 'HTTP/2'
  const end = isHttp2
    ? readHttp2Head({ ...written, scheme: schemeAt(plan) }, plan.http2, head)
    : readHttp1Head(written, plan, head)
  if (end < 0) return rejectedBy(end)
  const { keepsSlashes, names } = plan.reading
  const path = head.form === 'authority' ? '' : normalisePath(head.path, keepsSlashes)
  if (typeof path === 'number') return rejectedBy(path)
  if (path === '') return { status: 405, word: 'bad-target' }
  const listener = plan.names.forHost(head.host)
  if (listener === undefined) return { status: 404, word: 'bad-host' }
  if (plan.kind === 'tls' && entered !== undefined && !isAlike(listener, entered)) {
    return { status: 421, word: 'bad-host' }
  }
  const verdict = names.checkHeaders(head.fields)
  if (verdict < 0) return rejectedBy(verdict)
  const view = new Http1Headers(head.fields)
  const request = {
    method: head.method,
    path,
    search: head.query,
    host: head.host,
    version: isHttp2 ? 'HTTP/2' : `HTTP/1.${head.minor}`,
    headers: [...view.keys()].map((name) => [name, view.get(name) ?? ''] as const),
  }
  if (head.framing === 'length' && head.length > plan.http.body) {
    return { status: 413, word: 'body-too-large' }
  }
  return { listener, request }
}

function readHttp1Head(written: WrittenRequest, plan: PortPlan, head: RequestHead): number {
  const bytes = Buffer.from(textOf(written))
  return readRequestHead(bytes, 0, bytes.length, plan.http, head)
}

function schemeAt({ kind }: PortPlan): 'http' | 'https' {
  return kind === 'tls' ? 'https' : 'http'
}

function rejectedBy(code: number): Rejected {
  const { status, word } = rejectionOf(code)
  return { status, word }
}

function textOf({ method, target, version, headers }: WrittenRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${target} ${version}`, ...lines, '', ''].join('\r\n')
}
