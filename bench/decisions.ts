import { compile, compileRules, type Rule, STAGES, type Variables } from '../src/cel/index.ts'
import { type DecisionSampler, NO_SAMPLER } from '../src/exchange/decision.ts'
import type { Exchange } from '../src/exchange/exchange.ts'
import type { ValidPolicy } from '../src/model/policy.ts'
import type { Authorization } from '../src/policies/authorization-rules.ts'
import { compileProgram } from '../src/program/compile.ts'
import type { ListenerProgram, RouteProgram } from '../src/program/program.ts'
import { MeteredSampler } from '../src/proxy/decision-sampler.ts'
import { Decisions } from '../src/proxy/decisions.ts'
import type { RequestState } from '../src/proxy/request-state.ts'
import { createLogger } from '../src/telemetry/log.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { exchangeOf } from '../test/fuzz/exchanges.ts'
import { modelOf, TestServices } from '../test/program/models.ts'
import { contender, interleave, sink } from './measure.ts'
import { nanoseconds, type Report, type Table } from './report.ts'

/** Cost of a request through this gateway without rules; see the bench `proxy`. */
const REQUEST = 20_000
const SIZES = [10, 1_000, 100_000] as const

const texts = (size: number): readonly string[] =>
  Array.from(
    { length: size },
    (_, i) => `jwt.sub == 'user-${i}' && request.path.startsWith('/api')`,
  )

/** Cost of recording allowed requests, and cost of a denial. */
export async function decisions(): Promise<Report> {
  const allow = await allowPath()
  const deny = await denials()
  const added = allow.cost('counted') - allow.cost('a boolean alone')
  const storm = deny.cost(10, true)
  return {
    intro: [
      'CPU time of one decision about a request with claims, without the request itself. A storm is',
      'what comes when the searches of a second are spent. A denial is explained, counted, made a',
      'record, and kept.',
    ],
    tables: [allow.table, deny.table],
    targets: [
      {
        what: `records on the allow path, of a request of ${nanoseconds(REQUEST)}`,
        wanted: '< 1 %',
        measured: `${((added / REQUEST) * 100).toFixed(2)} %`,
        met: added < REQUEST / 100,
      },
      {
        what: 'a denial of 100,000 rules in a storm against one of 10',
        wanted: '< 3 x',
        measured: `${(deny.cost(100_000, true) / storm).toFixed(2)} x`,
        met: deny.cost(100_000, true) < 3 * storm,
      },
      {
        what: 'a denial in a storm, 10 rules',
        wanted: `< ${nanoseconds(REQUEST)}`,
        measured: nanoseconds(storm),
        met: storm < REQUEST,
      },
    ],
  }
}

async function allowPath() {
  const size = 10
  const exchange = exchangeFor('user-7')
  const variables = exchange as unknown as Variables
  const rules = compileRules(
    texts(size).map((text): Rule => {
      const { expression } = compile(text, STAGES.traffic)
      if (expression === undefined) throw new Error(`${text} does not compile`)
      return { action: 'Allow', expression }
    }),
  )
  const counted = sampler(0)
  const all = [
    contender('a boolean alone', (times) => {
      for (let i = 0; i < times; i++) if (rules.decide(variables)) sink.count++
    }),
    deciding('told to nobody', routeOf(size, NO_SAMPLER), exchange),
    deciding('counted', routeOf(size, counted), exchange),
    deciding('counted, with a block in audit mode', routeOf(size, counted, true), exchange),
    deciding('counted, 1 % recorded', routeOf(size, sampler(0.01)), exchange),
  ]
  const figures = await interleave(all)
  const cost = (name: string) => figures.get(name)?.p10 ?? Number.NaN
  const table: Table = {
    title: 'Allowed by one of 10 rules (CPU time, p10)',
    columns: ['', 'a decision'],
    rows: all.map(({ name }) => [name, nanoseconds(cost(name))]),
  }
  return { cost, table }
}

async function denials() {
  const exchange = exchangeFor('nobody')
  const metrics = createMetrics()
  const records = new Decisions({
    settings: { keep: 1_000, show: [], allowed: 0 },
    sensitiveHeaders: [],
    metrics,
    log: createLogger({ format: 'text', level: 'off', write: () => {} }),
  })
  const spent: DecisionSampler = { ...sampler(0), ...NO_SAMPLER, search: () => undefined }
  const nameOf = (size: number, isStorm: boolean) => `${size} ${isStorm ? 'storm' : 'searched'}`
  const all = SIZES.flatMap((size) =>
    [false, true].map((isStorm) => {
      const route = routeOf(size, isStorm ? spent : NO_SAMPLER)
      const listener = { gateway: 'default', listener: { name: 'http' } } as ListenerProgram
      const run = { exchange, listener, route, backend: undefined } as unknown as RequestState
      return contender(nameOf(size, isStorm), (times) => {
        for (let i = 0; i < times; i++) {
          exchange.decisions = []
          if (route.run(exchange) === undefined) throw new Error('it was allowed')
          records.request(run, 403)
        }
      })
    }),
  )
  const figures = await interleave(all)
  const cost = (size: number, isStorm: boolean) =>
    figures.get(nameOf(size, isStorm))?.p10 ?? Number.NaN
  const table: Table = {
    title: 'Denied, since no Allow rule is true (CPU time, p10)',
    columns: ['rules', 'with the nearest miss', 'in a storm'],
    rows: SIZES.map((size) => [
      size.toLocaleString('en-US'),
      nanoseconds(cost(size, false)),
      nanoseconds(cost(size, true)),
    ]),
  }
  return { cost, table }
}

function sampler(share: number): DecisionSampler {
  return new MeteredSampler(createMetrics(), share)
}

function exchangeFor(sub: string): Exchange {
  const exchange = exchangeOf({ url: '/api/items' })
  exchange.jwt = { sub, iss: 'https://issuer.test', group: 'eng' }
  return exchange
}

function deciding(name: string, route: RouteProgram, exchange: Exchange) {
  return contender(name, (times) => {
    for (let i = 0; i < times; i++) {
      exchange.decisions = []
      if (route.run(exchange) === undefined) sink.count++
    }
  })
}

function routeOf(size: number, own: DecisionSampler, isAudited = false): RouteProgram {
  const origin = { kind: 'object', object: 'bench', field: '' } as const
  const block = (mode: Authorization['mode'], policy: string): ValidPolicy<Authorization> => ({
    state: 'valid',
    kind: 'authorization',
    section: 'traffic',
    level: 'route',
    policy,
    origin,
    value: {
      mode,
      rules: texts(size).map((expression, i) => ({
        action: 'Allow',
        expression,
        field: `rules[${i}]`,
      })),
    },
  })
  const policies = [block('Enforce', 'own'), ...(isAudited ? [block('Audit', 'next')] : [])]
  const services = Object.assign(new TestServices(), { sampler: own })
  const program = compileProgram(modelOf({ routes: [{ policies }] }), undefined, services)
  const route = program.listeners[0]?.match(exchangeFor('user-7'))
  if (route === undefined) throw new Error('there is no route')
  return route
}
