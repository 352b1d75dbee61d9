import type { Exchange } from '../../src/exchange/exchange.ts'
import { type Reply, reply } from '../../src/exchange/reply.ts'
import type { Backend } from '../../src/model/backend.ts'
import { freeze } from '../../src/model/freeze.ts'
import type { Gateway, Listener } from '../../src/model/gateway.ts'
import type { Model } from '../../src/model/model.ts'
import type { Attached, Level, Section, ValidPolicy } from '../../src/model/policy.ts'
import type { BackendRef, Match, Route, RouteRule } from '../../src/model/route.ts'
import { POLICY_SCHEMAS, policySchema } from '../../src/policies/schema.ts'
import { compileProgram } from '../../src/program/compile.ts'
import type { CompileDeps } from '../../src/program/compile-deps.ts'
import {
  type BackendProgram,
  isReply,
  type Program,
  type RouteProgram,
} from '../../src/program/program.ts'
import type { Cluster } from '../../src/upstream/cluster.ts'
import { type Asked, exchangeOf } from '../fuzz/exchanges.ts'

const ORIGIN = { kind: 'object', object: 'test', field: '' } as const

/**
 * Policies as a user writes them, by kind, in the form that the schema of the kind accepts; `null`
 * is an invalid policy.
 */
export type Written = Readonly<Record<string, unknown>>

export function policies(
  written: Written = {},
  level: Level = 'route',
  section?: Section,
  policy = 'own',
): readonly Attached[] {
  return Object.entries(written).map(([kind, value]): Attached => {
    const known = POLICY_SCHEMAS.find((schema) => schema.kind === kind)
    const own = section ?? ((Object.keys(known?.sections ?? {})[0] ?? 'traffic') as Section)
    const place = { kind, section: own, level, policy, origin: { ...ORIGIN, field: kind } }
    if (value === null) return { ...place, state: 'invalid', diagnostics: [] }
    return { ...place, state: 'valid', value: policySchema(kind).parse(value) }
  })
}

export interface WrittenRoute {
  readonly name?: string
  readonly hostnames?: readonly string[]
  readonly matches?: readonly Partial<Match>[]
  readonly policies?: Written | readonly Attached[]
  readonly backends?: readonly (string | Partial<BackendRef>)[]
  readonly listener?: string
  readonly isInvalid?: boolean
}

export interface WrittenModel {
  readonly gateway?: Written | readonly Attached[]
  readonly listeners?: readonly Partial<Listener>[]
  readonly routes?: readonly WrittenRoute[]
  readonly backends?: readonly Backend[]
  readonly frontend?: Written
}

export function modelOf(written: WrittenModel): Model {
  const routes = written.routes ?? [{}]
  const gateway: Gateway = {
    name: 'default',
    origin: ORIGIN,
    listeners: (written.listeners ?? [{}]).map((listener, index) => ({
      name: `listener-${index}`,
      origin: ORIGIN,
      protocol: 'HTTP',
      port: 80,
      policies: [],
      ...listener,
    })) as Listener[],
    policies: attached(written.gateway, 'gateway'),
  }
  const named = routes.flatMap(({ backends = ['up'] }) =>
    backends.map((one) => (typeof one === 'string' ? one : (one.backend ?? 'up'))),
  )
  const given = written.backends ?? []
  const missing = [...new Set(named)].filter((name) => !given.some((one) => one.name === name))
  return freeze({
    gateways: [gateway],
    routes: routes.map(routeOf),
    tcpRoutes: [],
    backends: [
      ...given,
      ...missing.filter((name) => name !== 'missing').map((name) => hostBackend(name)),
    ],
    frontend: policies(written.frontend, 'frontend', 'frontend'),
  })
}

export function hostBackend(name: string, own: readonly Attached[] = []): Backend {
  const endpoints = [{ host: '127.0.0.1', port: 8080 }]
  return { kind: 'host', name, origin: ORIGIN, policies: own, endpoints }
}

function attached(written: Written | readonly Attached[] | undefined, level: Level) {
  return Array.isArray(written) ? (written as Attached[]) : policies(written as Written, level)
}

function routeOf(written: WrittenRoute, index: number): Route {
  const { name = `route-${index}`, hostnames = [], matches = [{}], listener, isInvalid } = written
  const rule: RouteRule = {
    name,
    origin: ORIGIN,
    matches: matches.map((match) => ({
      path: { kind: 'prefix', value: '/' },
      headers: [],
      query: [],
      ...match,
    })),
    policies: [],
    action: isInvalid
      ? { kind: 'invalid', diagnostics: [] }
      : {
          kind: 'forward',
          backends: (written.backends ?? ['up']).map((ref) => {
            const own = typeof ref === 'string' ? { backend: ref } : ref
            return { backend: 'up', weight: 1, policies: [], ...own }
          }),
        },
  }
  return {
    name,
    origin: ORIGIN,
    hostnames,
    parents: [listener === undefined ? { gateway: 'default' } : { gateway: 'default', listener }],
    rules: [rule],
    policies: attached(written.policies, 'route'),
  }
}

/** Clusters that connect to nothing, and a clock and dice that tests control. */
export class TestServices implements CompileDeps {
  time = 0
  dice = 0
  readonly opened: string[] = []
  now = () => this.time
  readonly random = () => this.dice

  /** The policy values that each cluster was opened with, by kind. */
  readonly reached: Readonly<Record<string, unknown>>[] = []

  openCluster(backend: Backend, own: readonly ValidPolicy[]): Cluster {
    this.opened.push(backend.name)
    const all = [...backend.policies, ...own] as readonly ValidPolicy[]
    this.reached.push(Object.fromEntries(all.map(({ kind, value }) => [kind, value])))
    const state = { isHealthy: true, active: 0 }
    return { name: backend.name, ...state, choose: () => 'no-endpoint', close: () => {} }
  }
}

export interface Decided {
  readonly exchange: Exchange
  readonly route: RouteProgram
  /** The gateway's own response, after response policies have modified it. */
  readonly reply: Reply | undefined
  readonly backend: BackendProgram | undefined
}

/** Runs a request through the program as the proxy does, up to the backend. */
export async function decide(program: Program, asked: Asked = {}, at = 0): Promise<Decided> {
  const exchange = exchangeOf(asked)
  const listener = program.listeners[at]
  if (listener === undefined) throw new Error(`there is no listener ${at}`)
  const route = listener.match(exchange)
  const response = await route.run(exchange)
  if (response !== undefined) return { exchange, route, reply: response, backend: undefined }
  const chosen = route.choose(exchange)
  if (isReply(chosen)) return { exchange, route, reply: chosen, backend: undefined }
  const rejected = await chosen.run(exchange)
  return { exchange, route, reply: rejected, backend: chosen }
}

export function programOf(written: WrittenModel, services = new TestServices()): Program {
  return compileProgram(modelOf(written), undefined, services)
}

/** The name of the backend, or the gateway's response: `403 authorization`. */
export async function outcome(program: Program, asked: Asked = {}, at = 0): Promise<string> {
  const { reply, backend } = await decide(program, asked, at)
  return reply === undefined ? (backend?.name ?? '') : `${reply.status} ${reply.reason}`
}

export function headersOf({ headers }: Pick<Reply, 'headers'> = reply(200, 'direct-response')) {
  return Object.fromEntries(headers.added)
}
