import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Backend } from '../model/backend.ts'
import type { Gateway, Listener } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Attached, Level, Section } from '../model/policy.ts'
import type { Parent, Route, RouteAction } from '../model/route.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import { layersOf, withPolicies } from './all-layers.ts'
import { type Point, pointsOf, type RuleStage } from './points.ts'
import { Reach } from './reach.ts'

/*
 * The twin does not use the records of policies and does not walk the Model: it tests every
 * combination of objects in a Model against the words of the specification.
 */

const ORIGIN = { kind: 'object', object: 'test', field: '' } as const

const COMPOSING = [
  'authorization',
  'networkAuthorization',
  'mcpAuthorization',
  'jwtAuthentication',
  'apiKey',
  'extAuthz',
  'authentication',
]
const IDENTIFIES: Readonly<Record<string, readonly string[]>> = {
  jwtAuthentication: ['jwt'],
  apiKey: ['apiKey'],
  extAuthz: ['extauthz'],
  authentication: ['jwt', 'apiKey', 'basicAuth'],
}
const VARIABLES = ['jwt', 'apiKey', 'basicAuth', 'extauthz'] as const
const KINDS: Readonly<Record<Section, readonly string[]>> = {
  frontend: ['networkAuthorization', 'frontendHttp', 'proxyProtocol', 'accessLog', 'novel'],
  traffic: ['authorization', 'jwtAuthentication', 'authentication', 'cors', 'timeout', 'novel'],
  backend: ['authorization', 'mcpAuthorization', 'extAuthz', 'http', 'requestHeaders'],
}

function policiesAt(level: Level, ...sections: readonly Section[]): fc.Arbitrary<Attached[]> {
  const one = fc.constantFrom(...sections).chain((section) =>
    fc.record({
      kind: fc.constantFrom(...KINDS[section]),
      section: fc.constant(section),
      level: fc.constant(level),
      policy: fc.constantFrom('a', 'b', 'c'),
      origin: fc.constant(ORIGIN),
      isInvalid: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
    }),
  )
  return fc.array(
    one.map(({ isInvalid, ...place }): Attached => {
      if (isInvalid) return { ...place, state: 'invalid', diagnostics: [] }
      return { ...place, state: 'valid', value: { rules: [], mode: 'Enforce' } }
    }),
    { maxLength: 3 },
  )
}

const NAMES = ['example.com', '*.example.com', 'a.example.com', '*.a.example.com', 'other.org', '*']
/** If two patterns have names in common, one of these is among them. */
const HOSTS = ['example.com', 'a.example.com', 'b.example.com', 'x.a.example.com', 'other.org', 'z']

function covers(pattern: string, host: string): boolean {
  if (pattern === '*') return true
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : pattern === host
}

const listener = fc
  .record({
    protocol: fc.constantFrom('HTTP', 'HTTPS', 'TCP', 'TLS', 'Invalid'),
    hostname: fc.option(fc.constantFrom(...NAMES), { nil: undefined }),
    policies: policiesAt('listener', 'traffic', 'backend', 'frontend'),
  })
  .map(({ hostname, ...rest }) => (hostname === undefined ? rest : { ...rest, hostname }))

const gateways = fc
  .array(
    fc.record({
      listeners: fc.array(listener, { minLength: 1, maxLength: 3 }),
      policies: policiesAt('gateway', 'frontend', 'traffic', 'backend'),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((list) =>
    list.map(({ listeners, policies }, number): Gateway => {
      const own = listeners.map((one, index) => ({
        ...one,
        name: `l${index}`,
        port: 80,
        origin: ORIGIN,
        tls: { mode: 'Terminate', certificates: [] },
      }))
      const all = own as unknown as readonly Listener[]
      return { name: `g${number}`, origin: ORIGIN, policies, listeners: all }
    }),
  )

const parent: fc.Arbitrary<Parent> = fc
  .record({
    gateway: fc.constantFrom('g0', 'g1', 'g2', 'nowhere'),
    listener: fc.option(fc.constantFrom('l0', 'l1', 'l2'), { nil: undefined }),
  })
  .map(({ gateway, listener: only }) =>
    only === undefined ? { gateway } : { gateway, listener: only },
  )

const forward = fc.record({
  kind: fc.constant('forward' as const),
  backends: fc.array(
    fc.record({
      backend: fc.constantFrom('host', 'ai', 'mcp', 'missing'),
      weight: fc.constantFrom(0, 1),
      policies: policiesAt('backend', 'backend'),
    }),
    { maxLength: 2 },
  ),
})

const action: fc.Arbitrary<RouteAction> = fc.oneof(
  { weight: 5, arbitrary: forward },
  { weight: 1, arbitrary: fc.constant({ kind: 'invalid' as const, diagnostics: [] }) },
)

const routes: fc.Arbitrary<Route[]> = fc
  .array(
    fc.record({
      parents: fc.array(parent, { minLength: 1, maxLength: 3 }),
      hostnames: fc.array(fc.constantFrom(...NAMES), { maxLength: 2 }),
      policies: policiesAt('route', 'traffic', 'backend'),
      rules: fc.array(fc.record({ policies: policiesAt('route', 'traffic', 'backend'), action }), {
        minLength: 1,
        maxLength: 2,
      }),
    }),
    { maxLength: 4 },
  )
  .map((list) =>
    list.map((route, number) => ({
      ...route,
      name: `r${number}`,
      origin: ORIGIN,
      rules: route.rules.map((rule) => ({ ...rule, name: '', origin: ORIGIN, matches: [] })),
    })),
  )

const tcpRoutes: fc.Arbitrary<TcpRoute[]> = fc
  .array(
    fc.record({
      parents: fc.array(parent, { minLength: 1, maxLength: 2 }),
      hostnames: fc.array(fc.constantFrom(...NAMES), { maxLength: 2 }),
      policies: policiesAt('route', 'backend'),
      action,
    }),
    { maxLength: 3 },
  )
  .map((list) => list.map((route, number) => ({ ...route, name: `t${number}`, origin: ORIGIN })))

const backends: fc.Arbitrary<Backend[]> = fc
  .record({
    host: policiesAt('backend', 'backend'),
    ai: policiesAt('backend', 'backend'),
    mcp: policiesAt('backend', 'backend'),
    parts: fc.array(policiesAt('provider', 'backend'), { minLength: 2, maxLength: 2 }),
  })
  .map(({ host, ai, mcp, parts }) => {
    const named = parts.map((policies, index) => ({ name: `p${index}`, origin: ORIGIN, policies }))
    return [
      { kind: 'host', name: 'host', origin: ORIGIN, policies: host, endpoints: [] },
      {
        kind: 'ai',
        name: 'ai',
        origin: ORIGIN,
        policies: ai,
        groups: named.map((one) => ({ providers: [{ ...one, provider: 'openAI' }] })),
      },
      { kind: 'mcp', name: 'mcp', origin: ORIGIN, policies: mcp, targets: named, options: {} },
    ] as unknown as Backend[]
  })

const models: fc.Arbitrary<Model> = fc.record({
  gateways,
  routes,
  tcpRoutes,
  backends,
  frontend: policiesAt('frontend', 'frontend'),
})

/** A place in the twin: the names on the way, and the policies of each level around it. */
interface Plain {
  readonly at: string
  readonly stage: RuleStage
  readonly levels: readonly (readonly Attached[])[]
}

function isReached(route: Route | TcpRoute, gateway: Gateway, { name, hostname }: Listener) {
  const isParent = ({ gateway: wanted, listener: only = name }: Parent) =>
    wanted === gateway.name && only === name
  if (!route.parents.some(isParent)) return false
  const wanted = route.hostnames.length === 0 ? ['*'] : route.hostnames
  return HOSTS.some(
    (host) => covers(hostname ?? '*', host) && wanted.some((one) => covers(one, host)),
  )
}

function plainPoints(model: Model): readonly Plain[] {
  const found: Plain[] = []
  const add = (stage: RuleStage, names: readonly unknown[], ...levels: Plain['levels']) =>
    found.push({ at: names.join(' '), stage, levels })
  for (const gateway of model.gateways) {
    for (const own of gateway.listeners) {
      const door = [gateway.name, own.name]
      const outer = [model.frontend, gateway.policies, own.policies]
      add('connection', door, ...outer)
      if (!own.protocol.startsWith('HTTP')) continue
      add('traffic', door, ...outer)
      for (const route of model.routes.filter((one) => isReached(one, gateway, own))) {
        for (const [index, rule] of route.rules.entries()) {
          const at = [...door, route.name, index]
          const around = [...outer, route.policies, rule.policies]
          add('traffic', at, ...around)
          const refs = rule.action.kind === 'forward' ? rule.action.backends : []
          for (const [number, ref] of refs.entries()) {
            const backend = model.backends.find(({ name }) => name === ref.backend)
            if (backend === undefined) continue
            const there = [...at, number, backend.name]
            const behind = [...around, backend.policies, ref.policies]
            if (backend.kind !== 'ai') add('backend', there, ...behind)
            if (backend.kind === 'mcp') add('mcp', there, ...behind)
            const parts =
              backend.kind === 'ai'
                ? backend.groups.flatMap(({ providers }) => providers)
                : backend.kind === 'mcp'
                  ? backend.targets
                  : []
            for (const part of parts) {
              const stage = backend.kind === 'ai' ? 'backend' : 'mcp'
              add(stage, [...there, part.name], ...behind, part.policies)
            }
          }
        }
      }
    }
  }
  return found
}

const SECTIONS = { connection: 'frontend', traffic: 'traffic', backend: 'backend', mcp: 'backend' }

/** The policies that apply, by kind: found by sorting all of them, not by walking levels. */
function plainEffective({ levels, stage }: Plain) {
  const all = levels.flatMap((policies, depth) =>
    policies.map((policy, order) => ({ policy, depth, order })),
  )
  const own = all.filter(({ policy }) => policy.section === SECTIONS[stage])
  const held = [...Map.groupBy(own, ({ policy }) => policy.kind)].flatMap(([kind, list]) => {
    if (COMPOSING.includes(kind) || kind === 'novel') return list
    return list.toSorted((a, b) => b.depth - a.depth || a.order - b.order).slice(0, 1)
  })
  return held.map(({ policy }) => policy)
}

function isDenying(policy: Attached, { at, stage }: Plain): boolean {
  const isAboutMcp = policy.kind === 'mcpAuthorization'
  if (stage === 'connection') {
    return ['networkAuthorization', 'frontendHttp', 'proxyProtocol', 'novel'].includes(policy.kind)
  }
  if (stage === 'mcp') return isAboutMcp
  if (stage === 'traffic' || !isAboutMcp) return true
  return !/ mcp( |$)/.test(at) && ['route', 'backend', 'provider'].includes(policy.level)
}

const RULES = {
  connection: 'networkAuthorization',
  traffic: 'authorization',
  backend: 'authorization',
  mcp: 'mcpAuthorization',
}

function plainSeen({ levels, stage }: Plain, policy: string, depth: number, variable: string) {
  const says = (one: Attached) =>
    (one.section === 'traffic' || one.section === SECTIONS[stage]) &&
    IDENTIFIES[one.kind]?.includes(variable) === true
  const own = (levels[depth] ?? []).filter((one) => says(one) && one.policy === policy)
  if (own.length > 0) return own
  return (
    levels
      .slice(0, depth)
      .map((list) => list.filter(says))
      .findLast((one) => one.length > 0) ?? []
  )
}

function placeOf({ where }: Point): string {
  const { gateway, listener: own, route, index, number, backend, provider, server } = where
  return [
    gateway.name,
    own.name,
    ...(route === undefined ? [] : [route.name, index]),
    ...(backend === undefined ? [] : [number, backend.name]),
    ...[provider ?? server].flatMap((part) => part?.name ?? []),
  ].join(' ')
}

describe('reach', () => {
  it('finds the points, layers, effective policies and sources of a plain implementation', () => {
    fc.assert(
      fc.property(models, (model) => {
        const plain = plainPoints(model)
        const points = [...pointsOf(model)]
        assert.deepEqual(
          points.map((point) => `${point.stage} ${placeOf(point)}`),
          plain.map(({ stage, at }) => `${stage} ${at}`),
        )
        for (const [index, point] of points.entries()) compare(point, plain[index] as Plain)
      }),
      { numRuns: 300 },
    )
  })

  it('lists every layer that applies anywhere, under the same name', () => {
    fc.assert(
      fc.property(models, (model) => {
        const all = new Map([...layersOf(model)].map(({ place, policies }) => [place, policies]))
        for (const { layers } of pointsOf(model)) {
          for (const { place, policies } of layers) assert.equal(all.get(place), policies, place)
        }
      }),
    )
  })

  it('replaces the policies of every layer, and changes nothing else', () => {
    fc.assert(
      fc.property(models, (model) => {
        const same = withPolicies(model, (policies) => policies)
        assert.deepEqual(structuredClone(same), structuredClone(model))
        const twice = (policies: readonly Attached[]) => [...policies, ...policies]
        assert.deepEqual(
          [...layersOf(withPolicies(model, twice))],
          [...layersOf(model)].map(({ place, policies }) => ({ place, policies: twice(policies) })),
        )
      }),
    )
  })

  it('finds the connection routes of a plain implementation', () => {
    fc.assert(
      fc.property(models, (model) => {
        const reach = new Reach(model)
        for (const { gateway, listener: own } of reach.listeners()) {
          const isStream = own.protocol === 'TCP' || own.protocol === 'TLS'
          const wanted = model.tcpRoutes.filter((one) => isStream && isReached(one, gateway, own))
          const found = [...reach.streamsOn({ gateway, listener: own })]
          assert.deepEqual(
            found.map(({ stream }) => stream.name),
            wanted.map(({ name }) => name),
          )
        }
      }),
      { numRuns: 300 },
    )
  })
})

function compare(point: Point, plain: Plain): void {
  const filled = plain.levels.filter((policies) => policies.length > 0)
  assert.deepEqual(
    point.layers.map(({ policies }) => policies),
    filled,
  )
  const held = plainEffective(plain)
  const valid = held.filter(({ state }) => state === 'valid')
  assert.deepEqual(new Set([...point.effective.byKind.values()].flat()), new Set(valid))
  const denying = held.filter((one) => one.state === 'invalid' && isDenying(one, plain))
  assert.deepEqual(new Set(point.invalid), new Set(denying))
  const kind = RULES[plain.stage]
  assert.deepEqual(
    [...point.rules()].map(([policy]) => policy),
    filled
      .flat()
      .filter((one) => one.section === point.section && one.kind === kind && one.state === 'valid'),
  )
  for (const depth of Array.from({ length: filled.length + 1 }, (_, number) => number)) {
    for (const policy of ['a', 'b', 'c', '']) {
      for (const variable of VARIABLES) {
        assert.deepEqual(
          point.sources.seenBy(policy, depth, variable),
          plainSeen({ ...plain, levels: filled }, policy, depth, variable),
        )
      }
    }
  }
}
