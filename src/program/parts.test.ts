import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { collectGarbage } from '../../test/collect-garbage.ts'
import {
  hostBackend,
  modelOf,
  policies,
  TestServices,
  type WrittenRoute,
} from '../../test/program/models.ts'
import type { Backend } from '../model/backend.ts'
import type { Model } from '../model/model.ts'
import { reconcile } from '../model/reconcile.ts'
import { runToCompletion } from '../model/steps.ts'
import { compileProgram } from './compile.ts'
import { mentionedBackends } from './parts.ts'
import type { Program } from './program.ts'

const ROUTES = 20
const rule = (value: string) => ({
  action: 'Allow',
  policy: { matchExpressions: [`request.headers['x'] == '${value}'`] },
})

/** Each route has a rule, a limit, and a service that it calls. */
function routes(changed: number, value: string): readonly WrittenRoute[] {
  return Array.from({ length: ROUTES }, (_, n) => ({
    name: `r${n}`,
    matches: [{ path: { kind: 'prefix', value: `/${n}` } }],
    policies: {
      authorization: rule(n === changed ? value : 'same'),
      localRateLimit: [{ maxTokens: 10, tokensPerFill: 1, fillInterval: '1s' }],
      extAuthz: { backend: 'asked', protocol: { http: {} } },
    },
  }))
}

const model = (changed = -1, value = '') =>
  modelOf({ routes: routes(changed, value), backends: [hostBackend('up'), hostBackend('asked')] })

const after = (program: Program, now: Model, services: TestServices) =>
  compileProgram(runToCompletion(reconcile(program.model, now)), program, services)

const partsOf = ({ parts }: Program) =>
  [...(parts?.listeners.values() ?? [])].flatMap(({ routes }) => routes)

describe('parts of a Program', () => {
  it('are reused, except for the route that changed', () => {
    const services = new TestServices()
    const before = compileProgram(model(), undefined, services)
    const now = after(before, model(7, 'other'), services)
    const known = partsOf(before)
    const taken = partsOf(now).map((part) => known.includes(part))
    assert.deepEqual(
      taken,
      taken.map((_, n) => n !== 7),
    )
    assert.deepEqual([...now.clusters], [...before.clusters])
    assert.deepEqual([...now.state.keys()], [...before.state.keys()])
  })

  /** Every fifth route has its own backend, and all routes call another one. */
  const spread = (host: string, asked = 'asked', paths: Readonly<Record<number, string>> = {}) =>
    modelOf({
      routes: Array.from({ length: ROUTES }, (_, n) => ({
        name: `r${n}`,
        matches: [{ path: { kind: 'prefix', value: paths[n] ?? `/${n}` } }],
        backends: [{ backend: n % 5 === 2 ? 'few' : 'up' }],
        policies: {
          authorization: rule(`${n}`),
          extAuthz: { backend: asked, protocol: { http: {} } },
        },
      })),
      backends: [
        hostBackend('up'),
        { ...hostBackend('few'), endpoints: [{ host, port: 80 }] } as Backend,
        hostBackend('asked'),
        hostBackend('other'),
      ],
    })

  it('are recompiled for the routes of a changed backend, wherever these are', () => {
    const services = new TestServices()
    const compiledIn = (from: Program, to: Program) => {
      const known = new Set(partsOf(from))
      return partsOf(to).flatMap((part, n) => (known.has(part) ? [] : [n]))
    }
    const first = compileProgram(spread('a.test'), undefined, services)
    const second = after(first, spread('b.test'), services)
    assert.deepEqual(compiledIn(first, second), [2, 7, 12, 17])
    // The index of mentions survives edits that replace or move routes.
    const third = after(second, spread('b.test', 'asked', { 7: '/seven', 9: '/nine' }), services)
    assert.deepEqual(compiledIn(second, third), [7, 9])
    const fourth = after(third, spread('c.test', 'asked', { 7: '/seven', 9: '/nine' }), services)
    assert.deepEqual(compiledIn(third, fourth), [2, 7, 12, 17])
    const all = spread('d.test', 'other', { 7: '/seven', 9: '/nine' })
    const fifth = after(fourth, all, services)
    assert.equal(compiledIn(fourth, fifth).length, ROUTES)
    const whole = compileProgram(all, undefined, new TestServices())
    assert.deepEqual([...fifth.clusters.keys()].sort(), [...whole.clusters.keys()].sort())
  })

  it('are recompiled for routes of backends that reference a changed one, also if newly', () => {
    const services = new TestServices()
    const written = (host: string, asked: boolean) => {
      const extAuthz = { backend: 'asked', protocol: { http: {} } }
      const own = asked ? policies({ extAuthz }, 'backend', 'backend') : []
      return modelOf({
        routes: [
          { name: 'one', backends: ['up'] },
          { name: 'two', backends: ['other'] },
        ],
        backends: [
          hostBackend('up', own),
          hostBackend('other'),
          { ...hostBackend('asked'), endpoints: [{ host, port: 80 }] } as Backend,
        ],
      })
    }
    let program = compileProgram(written('a.test', false), undefined, services)
    const compiled = [
      written('b.test', false),
      written('b.test', true),
      written('c.test', true),
      written('c.test', false),
      written('d.test', false),
    ].map((next) => {
      const known = new Set(partsOf(program))
      program = after(program, next, services)
      return partsOf(program).flatMap((part, n) => (known.has(part) ? [] : [n]))
    })
    assert.deepEqual(compiled, [[], [0], [0], [0], []])
  })

  it('are all recompiled with other services', () => {
    const before = compileProgram(model(), undefined, new TestServices())
    const now = after(before, model(), new TestServices())
    const known = partsOf(before)
    assert.ok(partsOf(now).every((part) => !known.includes(part)))
  })

  it('retain no earlier Program or Model', async () => {
    const services = new TestServices()
    const earlier: WeakRef<object>[] = []
    let program = compileProgram(model(), undefined, services)
    for (let n = 0; n < 5; n++) {
      earlier.push(new WeakRef(program), new WeakRef(program.model))
      program = after(program, model(n, 'other'), services)
      // A WeakRef keeps its target alive until the end of the turn.
      await new Promise((resolve) => setImmediate(resolve))
    }
    collectGarbage()
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    assert.equal(earlier.filter((one) => one.deref() !== undefined).length, 0)
    assert.equal(partsOf(program).length, ROUTES)
  })

  it('mention every backend by name, at any depth', () => {
    const thing = {
      backends: [
        { backend: 'a', policies: [{ value: { target: { kind: 'backend', backend: 'b' } } }] },
      ],
      other: { backend: { backend: 'c' } },
    }
    assert.deepEqual(mentionedBackends(thing), ['a', 'b', 'c'])
  })
})
