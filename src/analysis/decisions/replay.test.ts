import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { modelOf, policies } from '../../../test/program/models.ts'
import { openRouter } from '../../cli/route-recorded.ts'
import { openVerdicts } from '../../cli/verdicts.ts'
import type { Model } from '../../model/model.ts'
import type { Match, RouteRule } from '../../model/route.ts'
import type { HypotheticalRequest } from '../../program/explain.ts'
import type { RecordedDecision } from './recorded.ts'
import { replay } from './replay.ts'

// Routes with several rules, as in Kubernetes: which of them a request took is not in its record.
// The gateway's own program decides the request before and after.

const CONDITIONS = [
  "request.method == 'GET'",
  "request.path.startsWith('/a')",
  "request.headers['x'] == '1'",
  "request.headers['x'] != '1'",
  'has(request.headers.x)',
  "request.host == 'a.test'",
  "cidr('10.0.0.0/8').containsIP(source.address)",
  'size(request.path) > 2',
] as const
const condition = fc.oneof(
  fc.constantFrom(...CONDITIONS),
  fc
    .tuple(fc.constantFrom(...CONDITIONS), fc.constantFrom(...CONDITIONS))
    .map(([a, b]) => `${a} && !(${b})`),
)
const authorization = fc
  .array(fc.tuple(fc.constantFrom('allow', 'require', 'deny'), condition), { maxLength: 2 })
  .map((all) => all.map(([action, text]) => ({ [action]: text })))

const match: fc.Arbitrary<Match> = fc
  .record({
    path: fc.constantFrom('/', '/a', '/b'),
    method: fc.constantFrom(undefined, 'GET', 'PUT'),
    x: fc.constantFrom(undefined, undefined, '1'),
  })
  .map(({ path, method, x }) => ({
    path: { kind: 'prefix', value: path },
    headers: x === undefined ? [] : [{ name: 'x', kind: 'exact', value: x }],
    query: [],
    ...(method === undefined ? {} : { method }),
  }))
const rule = fc.record({
  matches: fc.array(match, { minLength: 1, maxLength: 2 }),
  authorization,
  backend: fc.constantFrom('one', 'two'),
})
const written = fc.record({
  gateway: authorization,
  routes: fc.array(fc.array(rule, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
})

type Written = typeof written extends fc.Arbitrary<infer T> ? T : never

function modelFrom({ gateway, routes }: Written): Model {
  const block = (rules: readonly object[]) =>
    policies(rules.length === 0 ? {} : { authorization: { rules } })
  const model = modelOf({
    gateway: gateway.length === 0 ? {} : { authorization: { rules: gateway } },
    routes: routes.map((_, index) => ({ name: `r${index}`, backends: ['one', 'two'] })),
  })
  return {
    ...model,
    routes: model.routes.map((route, index) => {
      const [first] = route.rules as [RouteRule]
      const rules = routes[index]?.map((own, at): RouteRule => {
        const ref = { backend: own.backend, weight: 1, policies: [] }
        const action = { kind: 'forward', backends: [ref] } as unknown as RouteRule['action']
        const { matches } = own
        return { ...first, name: `rule-${at}`, matches, policies: block(own.authorization), action }
      })
      return { ...route, rules: rules ?? [] }
    }),
  } as Model
}

const request = fc.record({
  method: fc.constantFrom('GET', 'PUT', 'POST'),
  path: fc.constantFrom('/', '/a', '/ab', '/b/c'),
  host: fc.constantFrom('a.test', 'b.test'),
  x: fc.constantFrom(undefined, '1', '2'),
  source: fc.constantFrom('10.0.0.7', '192.0.2.1'),
  isRecorded: fc.boolean(),
})
type Drawn = typeof request extends fc.Arbitrary<infer T> ? T : never

function rulesFor({ routes }: Written, { method, path, x }: Drawn): number {
  const isMatched = (own: Match) =>
    (own.path.value === '/' || `${path}/`.startsWith(`${own.path.value}/`)) &&
    (own.method === undefined || own.method === method) &&
    own.headers.every(({ value }) => value === x)
  return routes.flat().filter(({ matches }) => matches.some(isMatched)).length
}

const asked = ({ method, path, host, x, source }: Drawn): HypotheticalRequest => ({
  method,
  path,
  host,
  source,
  sourcePort: 5,
  search: '',
  headers: x === undefined ? [] : [['x', x]],
  listener: 'default/listener-0',
  identity: {},
})

function recordOf(drawn: Drawn, isAdmitted: boolean, route: string): RecordedDecision {
  const { method, path, host, x, source, isRecorded } = drawn
  const name = "request.headers['x']"
  const header = x === undefined ? { name, state: 'unset' } : { name, state: 'shown', value: x }
  return {
    id: 'one',
    time: '2026-11-16T00:00:00Z',
    kind: 'authorization',
    stage: 'traffic',
    verdict: isAdmitted ? 'allowed' : 'denied',
    enforced: true,
    cause: isAdmitted ? 'matched' : 'no-allow-match',
    gateway: 'default',
    listener: 'listener-0',
    port: 80,
    route,
    method,
    path,
    host,
    source: `${source}:5`,
    identified: [],
    attributes: isRecorded ? [header as RecordedDecision['attributes'][number]] : [],
  }
}

describe('the replay of a recorded request', () => {
  it('predicts how the gateway decides it with another configuration', () => {
    const seen = { same: 0, changed: 0, unknown: 0, hidden: 0 }
    const requests = fc.array(request, { minLength: 8, maxLength: 8 })
    const property = fc.property(written, written, requests, (before, after, all) => {
      const [old, now] = [modelFrom(before), modelFrom(after)]
      const [was, is] = [openVerdicts(old), openVerdicts(now)]
      const routers = [old, now].map((model) => openRouter(model, () => true))
      const [wasRouter, isRouter] = routers as [(typeof routers)[0], (typeof routers)[0]]
      const sides = {
        old: { model: old, route: wasRouter.route },
        now: { model: now, route: isRouter.route },
      }
      for (const drawn of all) {
        const { isAdmitted, route } = was.decide(asked(drawn))
        if (route === '') continue
        const found = replay([recordOf(drawn, isAdmitted, route)], sides)
        const context = () => JSON.stringify({ drawn, isAdmitted, route, found })
        assert.equal(found.requests, 1)
        assert.equal(found.disagreeing, 0, context())
        assert.equal(found.unchanged + found.changed.length + found.unknown.length, 1)
        const { isAdmitted: isNow } = is.decide(asked(drawn))
        const [change] = found.changed
        if (found.unknown.length > 0) {
          seen[drawn.isRecorded ? 'unknown' : 'hidden']++
          // If one rule at most can match, everything that decides the request is in its record.
          const isOpen =
            !drawn.isRecorded || [before, after].some((own) => rulesFor(own, drawn) > 1)
          assert.ok(isOpen, context())
        } else if (change === undefined) {
          seen.same++
          assert.equal(isNow, isAdmitted, context())
        } else {
          seen.changed++
          assert.equal(change.kind, isNow ? 'admitted' : 'refused', context())
          assert.notEqual(isNow, isAdmitted, context())
        }
      }
      for (const one of [was, is, ...routers]) one.close()
    })
    fc.assert(property, fuzz(0.2))
    assert.ok(seen.same > 20 && seen.changed > 10 && seen.hidden > 5, JSON.stringify(seen))
  })
})
