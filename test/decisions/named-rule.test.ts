import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { reportExplained } from '../../src/cli/explanation.ts'
import { idleServices } from '../../src/cli/idle-deps.ts'
import { NO_SAMPLER, type RulePlace } from '../../src/exchange/decision.ts'
import { runToCompletion } from '../../src/model/steps.ts'
import { compileProgram } from '../../src/program/compile.ts'
import { explainRequest, type HypotheticalRequest } from '../../src/program/explain.ts'
import { closeKept, retiredKept } from '../../src/program/kept.ts'
import { fuzz } from '../fuzz/runs.ts'
import { modelOf } from './gateway.ts'

const CONDITIONS = [
  "request.path.startsWith('/a')",
  "request.path == '/a'",
  "request.path == '/b'",
  "request.path in ['/a', '/b']",
  "request.path.startsWith('/')",
  "request.method == 'GET'",
  "request.headers['x-a'] == '1'",
  "request.headers['x-a'] == '1' || request.path == '/a'",
  "request.path == '/a' && request.method == 'GET'",
  "cidr('10.0.0.0/8').containsIP(source.address)",
  "'x-b' in request.headers",
]

const rule = fc
  .tuple(fc.constantFrom('allow', 'allow', 'require', 'deny'), fc.constantFrom(...CONDITIONS))
  .map(([action, text]) => ({ [action]: text }))

const block = fc.record({
  rules: fc.array(rule, { minLength: 1, maxLength: 8 }),
  mode: fc.constantFrom('Enforce', 'Enforce', 'Audit'),
})

/** Policies for one target each: the gateway, the listener and the route. */
const configs = fc.record({
  gateway: fc.option(block, { nil: undefined }),
  listener: fc.option(block, { nil: undefined }),
  route: fc.option(block, { nil: undefined }),
  backend: fc.option(block, { nil: undefined }),
  more: fc.array(block, { maxLength: 2 }),
})

const requests: fc.Arbitrary<HypotheticalRequest> = fc.record({
  method: fc.constantFrom('GET', 'POST'),
  path: fc.constantFrom('/a', '/b', '/ab'),
  search: fc.constant(''),
  host: fc.constant('a.test'),
  headers: fc.constantFrom<HypotheticalRequest['headers']>([], [['x-a', '1']], [['x-b', '']]),
  source: fc.constantFrom('10.0.0.7', '192.0.2.1'),
  sourcePort: fc.constant(40_000),
  identity: fc.constant({}),
})

describe('the rule that decided', () => {
  it('is the same in a record and in an explanation, also for allowed requests', () => {
    const property = fc.property(
      configs,
      fc.array(requests, { minLength: 1, maxLength: 5 }),
      ({ gateway, listener, route, backend, more }, all) => {
        const of = (own: object | undefined) => (own === undefined ? {} : { authorization: own })
        const model = modelOf(
          JSON.stringify({
            gateways: {
              edge: {
                port: 8080,
                policies: of(gateway),
                listeners: [{ name: 'web', policies: of(listener) }],
              },
            },
            routes: [
              { name: 'r', policies: of(route), backends: [{ backend: 'b' }], gateways: ['edge'] },
            ],
            backends: [{ name: 'b', host: '127.0.0.1:1', policies: of(backend) }],
            policies: more.map((own, i) => ({
              name: `more-${i}`,
              target: { route: 'r' },
              policy: of(own),
            })),
          }),
        )
        const dice = { value: 0 }
        const services = idleServices(dice)
        const plain = compileProgram(model, undefined, services)
        const recording = compileProgram(model, undefined, {
          ...services,
          sampler: { ...NO_SAMPLER, share: 1 },
        })
        for (const hypothetical of all) {
          const explained = explainRequest(plain, hypothetical, dice)
          const recorded = explainRequest(recording, hypothetical, dice)
          assert.ok(typeof explained !== 'string' && typeof recorded !== 'string')
          const { stages } = runToCompletion(reportExplained(explained))
          for (const [at, { decision }] of recorded.stages.entries()) {
            const stage = stages[at]
            assert.equal(nameOf(stage?.rules[stage.deciding]), nameOf(decision?.rule))
          }
        }
        closeKept(retiredKept(plain, undefined))
        closeKept(retiredKept(recording, undefined))
      },
    )
    fc.assert(property, fuzz(0.5))
  })
})

function nameOf(own: Omit<RulePlace, 'origin'> | undefined): string {
  return own === undefined
    ? ''
    : `${own.policy} ${own.level} ${own.action} ${own.index} ${own.mode}`
}
