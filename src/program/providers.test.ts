import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../test/fuzz/runs.ts'
import { decide, modelOf, policies, TestServices } from '../../test/program/models.ts'
import type { AiBackend, AiProvider, Backend } from '../model/backend.ts'
import type { Attached, ValidPolicy } from '../model/policy.ts'
import type { Cluster } from '../upstream/cluster.ts'
import { compileProgram } from './compile.ts'
import type { Program } from './program.ts'

const ORIGIN = { kind: 'object', object: 'test', field: '' } as const

interface Rule {
  readonly action: 'allow' | 'require' | 'deny'
  /** A header: the rule matches if the header is present. */
  readonly name: string
}

interface Written {
  readonly rules: readonly Rule[]
  readonly isHealthy: boolean
  readonly isAudited?: boolean
}

/** Providers with the given health, by name. */
class Faring extends TestServices {
  readonly #health: ReadonlyMap<string, boolean>

  constructor(health: ReadonlyMap<string, boolean>) {
    super()
    this.#health = health
  }

  override openCluster(backend: Backend, own: readonly ValidPolicy[]): Cluster {
    const isHealthy = this.#health.get(backend.name) ?? true
    return { ...super.openCluster(backend, own), isHealthy }
  }
}

function block(
  rules: readonly Rule[],
  level: 'provider' | 'backend',
  policy: string,
  mode = 'Enforce',
) {
  if (rules.length === 0) return []
  const written = rules.map(({ action, name }) => ({ [action]: has(name) }))
  return policies({ authorization: { mode, rules: written } }, level, 'backend', policy)
}

const has = (name: string) => `'${name}' in request.headers`

function programOf(groups: readonly (readonly Written[])[], own: readonly Attached[]): Program {
  const health = new Map<string, boolean>()
  const written = groups.map((providers, group) => ({
    providers: providers.map((one, index): AiProvider => {
      const name = `p${group}-${index}`
      health.set(`models/${name}`, one.isHealthy)
      const mode = one.isAudited === true ? 'Audit' : 'Enforce'
      return {
        name,
        origin: ORIGIN,
        provider: 'openAI',
        endpoint: { host: 'models.test', port: 443, scheme: 'https' },
        options: {},
        policies: block(one.rules, 'provider', `provider:models/${name}`, mode),
      }
    }),
  }))
  const models: AiBackend = {
    kind: 'ai',
    name: 'models',
    origin: ORIGIN,
    policies: own,
    groups: written,
  }
  const model = modelOf({ routes: [{ backends: ['models'] }], backends: [models] })
  return compileProgram(model, undefined, new Faring(health))
}

/** The evaluation order of the specification, over the union of rules. */
function admits(rules: readonly Rule[], set: ReadonlySet<string>): boolean {
  const of = (action: string) => rules.filter((rule) => rule.action === action)
  if (of('deny').some(({ name }) => set.has(name))) return false
  if (of('require').some(({ name }) => !set.has(name))) return false
  return of('allow').length === 0 || of('allow').some(({ name }) => set.has(name))
}

describe('provider selection', () => {
  const NAMES = ['a', 'b', 'c']
  const rule: fc.Arbitrary<Rule> = fc.record({
    action: fc.constantFrom('allow', 'require', 'deny'),
    name: fc.constantFrom(...NAMES),
  })
  const provider: fc.Arbitrary<Written> = fc.record({
    rules: fc.array(rule, { maxLength: 2 }),
    isHealthy: fc.boolean(),
    isAudited: fc.boolean(),
  })
  const groups = fc.array(fc.array(provider, { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  })

  it('picks a healthy admitted one first, in group order, or responds 403', async () => {
    const property = fc.asyncProperty(
      groups,
      fc.array(rule, { maxLength: 2 }),
      fc.subarray(NAMES),
      async (written, own, present) => {
        const set = new Set(present)
        const program = programOf(written, block(own, 'backend', 'backend:models'))
        const headers = Object.fromEntries(present.map((name) => [name, '1']))
        const { exchange, backend } = await decide(program, { headers })
        const upstream = backend?.upstream
        if (upstream?.kind !== 'ai') assert.fail('nothing to choose from')
        const selection = upstream.select(exchange)
        if ('status' in selection) assert.fail('nothing to choose from')
        const all = written.flatMap((providers, group) =>
          providers.map((one, index) => {
            const rules = one.isAudited === true ? own : [...own, ...one.rules]
            return { ...one, group, name: `p${group}-${index}`, isAllowed: admits(rules, set) }
          }),
        )
        const allowed = all.filter(({ isAllowed }) => isAllowed)
        const asked: string[] = []
        for (let turn = 0; turn < allowed.length; turn++) {
          assert.equal(selection.hasOther || turn > 0, true)
          assert.equal(await selection.next(), undefined)
          const chosen: (typeof all)[number] | undefined = all.find(
            ({ name }) => name === selection.chosen?.provider,
          )
          const left = allowed.filter(({ name }) => !asked.includes(name))
          const well = left.filter(({ isHealthy }) => isHealthy)
          const first = (well.length > 0 ? well : left)[0]
          assert.deepEqual(
            [chosen?.isAllowed, chosen?.group, chosen?.isHealthy],
            [true, first?.group, first?.isHealthy],
          )
          assert.deepEqual(exchange.backend, {
            name: 'models',
            type: 'ai',
            protocol: 'llm',
            provider: chosen?.name,
          })
          asked.push(chosen?.name ?? '')
        }
        assert.equal(new Set(asked).size, allowed.length)
        const response = await selection.next()
        if (allowed.length > 0) {
          assert.equal(response, undefined)
          assert.ok(asked.includes(selection.chosen?.provider ?? ''))
        } else {
          assert.ok(response !== undefined)
          assert.deepEqual([response.status, response.reason], [403, 'authorization'])
          assert.equal(selection.chosen, undefined)
          const last = exchange.decisions.filter(({ isEnforced }) => isEnforced).at(-1)
          assert.deepEqual([last?.isAllowed, last?.isSkipped], [false, false])
        }
        const denials = exchange.decisions.filter((one) => one.isEnforced && !one.isAllowed)
        for (const { provider, isSkipped } of denials) {
          assert.equal(all.find(({ name }) => name === provider)?.isAllowed, false)
          assert.ok(isSkipped || allowed.length === 0)
        }
      },
    )
    await fc.assert(property, fuzz(0.5))
  })
})
