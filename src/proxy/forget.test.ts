import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { hostBackend, modelOf, policies, TestServices } from '../../test/program/models.ts'
import { compileProgram } from '../program/compile.ts'
import type { Program } from '../program/program.ts'
import { Streams } from '../program/streams.ts'
import { defineCounter } from '../telemetry/counter.ts'
import { label } from '../telemetry/label.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { Forgetting } from './forget.ts'

/** A counter for each label whose values come from the configuration. */
const COUNTERS = ['listener', 'backend', 'route', 'policy'].map((name) =>
  defineCounter({ name: `requests_by_${name}_total`, help: '', labels: [label(name, '')] }),
)

/** A configuration: its names by label. */
interface Written {
  readonly listener: readonly string[]
  readonly backend: readonly string[]
  readonly route: readonly string[]
  /** Policies of the first route, its backends and the gateway, by place. */
  readonly policy: readonly string[]
}

const POLICY = { requestHeaders: { set: { x: 'y' } } }
const named = (name: string) => policies(POLICY, 'route', undefined, name)

function programOf({ listener, backend, route, policy }: Written, previous?: Program): Program {
  const [gateway, ...others] = policy
  const model = modelOf({
    listeners: listener.map((name, index) => ({ name, port: 80 + index })),
    routes: route.map((name, index) => ({
      name,
      backends: index === 0 ? [...backend] : [],
      policies: index === 0 ? others.flatMap(named).slice(0, 1) : [],
    })),
    backends: backend.map((name, index) =>
      hostBackend(name, index === 0 ? others.slice(1).flatMap(named) : []),
    ),
    gateway: gateway === undefined ? [] : named(gateway),
  })
  return compileProgram(model, previous, new TestServices())
}

/** The names that metrics may have while this is served. */
function namesOf({ listener, backend, route, policy }: Written): ReadonlySet<string> {
  const hasRoute = route.length > 0
  const all = {
    listener: ['default', ...listener.map((name) => `default/${name}`)],
    backend: hasRoute ? backend : [],
    route,
    policy: policy.slice(0, 1 + (hasRoute ? 1 : 0) + (backend.length > 0 ? policy.length : 0)),
  }
  return new Set(
    Object.entries(all).flatMap(([kind, names]) => names.map((name) => `${kind} ${name}`)),
  )
}

const some = (prefix: string, min = 0) =>
  fc.subarray(
    ['a', 'b', 'c'].map((name) => `${prefix}-${name}`),
    { minLength: min },
  )
const written = fc.record({
  listener: some('listener', 1),
  backend: some('backend'),
  route: some('route', 1),
  policy: some('policy'),
})

describe('series of what is no longer configured', () => {
  it('are removed when it goes, and once more at the next change for late requests', () => {
    fc.assert(
      fc.property(fc.array(written, { minLength: 2, maxLength: 6 }), (all) => {
        const metrics = createMetrics({ catalogue: COUNTERS })
        const forgetting = new Forgetting(metrics)
        const names = [...new Set(all.flatMap((one) => [...namesOf(one)]))]
        let program: Program | undefined
        let streams: Streams | undefined
        let [present, left]: ReadonlySet<string>[] = [new Set(), new Set()]
        for (const one of all) {
          // Each series exists, as if a request that began long ago had just ended.
          for (const name of names) {
            const [kind = '', value = ''] = name.split(' ')
            const counter = COUNTERS.find(({ name: own }) => own.includes(kind))
            if (counter !== undefined)
              metrics
                .counter(counter)
                .of({ [kind]: value })
                .at()
                .inc()
          }
          program = programOf(one, program)
          streams = new Streams(program.model, new TestServices(), streams)
          forgetting.swapped(program, streams)
          const now = namesOf(one)
          const gone = [...(present ?? [])].filter((name) => !now.has(name))
          const expected = names.filter(
            (name) => now.has(name) || !(gone.includes(name) || left?.has(name)),
          )
          const series = [...metrics.read()].flatMap(({ definition, series }) =>
            [...series].map(({ labels }) => `${definition.labels[0]?.name} ${labels[0]}`),
          )
          assert.deepEqual(series.sort(), expected.sort())
          ;[present, left] = [now, new Set(gone)]
        }
      }),
      { numRuns: 30, seed: 26 },
    )
  })
})
