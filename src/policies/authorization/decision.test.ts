import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import {
  decide,
  modelOf,
  policies,
  programOf,
  TestServices,
  type Written,
} from '../../../test/program/models.ts'
import {
  type Decision,
  type DecisionSampler,
  NO_SAMPLER,
  type RulePlace,
} from '../../exchange/decision.ts'
import { compileProgram } from '../../program/compile.ts'

type Rules = readonly Readonly<Record<string, string>>[]

const at = (level: 'gateway' | 'route', policy: string, written: Written) =>
  policies(written, level, 'traffic', policy)

async function decisions(
  rules: Rules,
  headers: Readonly<Record<string, string>> = {},
  sampler: DecisionSampler = NO_SAMPLER,
): Promise<readonly Decision[]> {
  const model = modelOf({
    routes: [{ policies: at('route', 'own', { authorization: { rules } }) }],
  })
  const services = Object.assign(new TestServices(), { sampler })
  const program = compileProgram(model, undefined, services)
  return (await decide(program, { headers })).exchange.decisions
}

async function denial(rules: Rules, headers: Readonly<Record<string, string>> = {}) {
  const [decision, ...more] = await decisions(rules, headers)
  assert.deepEqual(more, [])
  return decision ?? assert.fail('it was allowed')
}

const has = (name: string) => `request.headers['${name}'] == '1'`

describe('a denial is reported', () => {
  it('by the Deny rule that matched', async () => {
    const { cause, rule, isAllowed, isEnforced } = await denial([
      { deny: has('a') },
      { deny: "request.path == '/'" },
    ])
    assert.deepEqual([cause, rule?.index, rule?.action], ['matched', 1, 'Deny'])
    assert.deepEqual([isAllowed, isEnforced], [false, true])
  })

  for (const [what, expression, cause, failure] of [
    ['is false', "request.method == 'POST'", 'false', undefined],
    ['reads a variable that is not set', "jwt.group == 'eng'", 'unset', 'jwt'],
    ['reads a header that is not there', has('x'), 'unset', 'request.headers.x'],
    ['fails', "int(request.headers['n']) > 1", 'error', undefined],
  ] as const) {
    it(`by the Require rule that ${what}`, async () => {
      const reported = await denial([{ require: expression }], { n: 'no number' })
      assert.deepEqual([reported.cause, reported.failure?.variable], [cause, failure])
      assert.deepEqual(reported.rule?.expression, expression)
      if (cause === 'error') assert.notEqual(reported.failure?.reason, undefined)
    })
  }

  it('with the names of the headers present, without values', async () => {
    const { failure } = await denial([{ require: has('x') }], { 'x-team': 'secret' })
    assert.deepEqual(failure?.present, ['x-team'])
  })

  it('by the nearest Allow rule', async () => {
    const reported = await denial(
      [
        { allow: `${has('a')} && ${has('b')}` },
        { allow: `${has('c')} && request.method == 'GET'` },
      ],
      { c: '0' },
    )
    assert.deepEqual([reported.cause, reported.rule], ['no-allow-match', undefined])
    assert.equal(reported.nearest?.rule.index, 1)
    assert.deepEqual(reported.nearest?.misses, [
      { condition: has('c'), wanted: true, cause: 'false', failure: undefined },
    ])
    assert.deepEqual(reported.search, { rules: 2, of: 2, extent: 'all' })
  })

  it('with the attributes that rules read, the deciding rule first', async () => {
    const { attributes } = await denial([{ allow: has('a') }, { require: has('b') }], {
      a: '1',
      b: '2',
    })
    assert.deepEqual(
      attributes.map(({ name, value }) => [name, value]),
      [
        ['request.headers.b', '2'],
        ['request.headers.a', '1'],
      ],
    )
  })

  it('with its policy, level, section and place', async () => {
    const { rule } = await denial([{ deny: 'request.path == "/"' }])
    assert.deepEqual(rule, {
      policy: 'own',
      section: 'traffic',
      level: 'route',
      kind: 'authorization',
      action: 'Deny',
      index: 0,
      field: 'rules[0].deny',
      expression: 'request.path == "/"',
      mode: 'Enforce',
      origin: { kind: 'object', object: 'test', field: 'authorization.rules[0].deny' },
    } satisfies RulePlace)
  })

  it('with a bounded search over very many rules, marked as such', async () => {
    const rules = Array.from({ length: 5_000 }, (_, i) => ({ allow: `request.path == '/${i}'` }))
    const { search, nearest } = await denial(rules)
    assert.equal(search?.extent, 'bounded')
    assert.equal(search?.of, 5_000)
    assert.ok((search?.rules ?? 0) <= 64)
    assert.notEqual(nearest, undefined)
  })

  it('without a search if there were too many, marked as such', async () => {
    const sampler: DecisionSampler = { ...NO_SAMPLER, search: () => undefined }
    const [reported] = await decisions([{ allow: has('a') }], {}, sampler)
    assert.deepEqual([reported?.cause, reported?.nearest], ['no-allow-match', undefined])
    assert.deepEqual(reported?.search, { rules: 0, of: 1, extent: 'skipped' })
  })
})

describe('an allowed request', () => {
  it('is not reported', async () => {
    assert.deepEqual(await decisions([{ allow: has('a') }], { a: '1' }), [])
  })

  it('is reported if all are requested', async () => {
    const sampler: DecisionSampler = { ...NO_SAMPLER, share: 1 }
    const [reported] = await decisions(
      [{ allow: has('b') }, { allow: has('a') }],
      { a: '1' },
      sampler,
    )
    assert.deepEqual(
      [reported?.isAllowed, reported?.cause, reported?.rule?.index],
      [true, 'matched', 1],
    )
    const [free] = await decisions([{ deny: has('b') }], { a: '1' }, sampler)
    assert.deepEqual([free?.isAllowed, free?.cause], [true, 'no-rules'])
  })

  it('is counted by the rule that admits it', async () => {
    const counted: (string | undefined)[] = []
    const admitted = (rule: RulePlace | undefined) => ({
      inc: () => void counted.push(rule && `${rule.policy} ${rule.index}`),
    })
    const sampler: DecisionSampler = { ...NO_SAMPLER, admitted }
    await decisions([{ allow: has('b') }, { allow: has('a') }], { a: '1' }, sampler)
    await decisions([{ deny: has('b') }], {}, sampler)
    assert.deepEqual(counted, ['own 1', undefined])
  })
})

describe('rules that fail', () => {
  it('are reported when a denial evaluates them, and when an audit is due', async () => {
    const failed: string[] = []
    const sampler: DecisionSampler = {
      ...NO_SAMPLER,
      shouldAudit: () => true,
      failed: ({ action, index }, why) => void failed.push(`${action} ${index} ${why}`),
    }
    const rules = [
      { deny: "jwt.group != 'eng'" },
      { allow: has('a') },
      { allow: 'int(request.headers["n"]) > 1' },
    ]
    await decisions(rules, { n: 'x' }, { ...sampler, shouldAudit: () => false })
    assert.deepEqual(failed, ['Allow 1 unset', 'Allow 2 error'])
    failed.length = 0
    await decisions(rules, { n: 'x', a: '1' }, sampler)
    assert.deepEqual(failed, ['Deny 0 unset', 'Allow 2 error'])
  })
})

describe('rules that fail beside blocks in audit mode', () => {
  it('are reported once', async () => {
    let failures = 0
    const sampler: DecisionSampler = { ...NO_SAMPLER, failed: () => void failures++ }
    const policies = [
      ...at('route', 'own', { authorization: { rules: [{ require: has('x') }] } }),
      ...at('route', 'next', { authorization: { mode: 'Audit', rules: [{ allow: has('y') }] } }),
    ]
    const services = Object.assign(new TestServices(), { sampler })
    const program = compileProgram(modelOf({ routes: [{ policies }] }), undefined, services)
    const { exchange } = await decide(program)
    assert.equal(exchange.decisions[0]?.audited?.isAllowed, false)
    assert.equal(failures, 1)
  })
})

describe('blocks in audit mode', () => {
  interface Block {
    readonly isAudited: boolean
    readonly level: 'gateway' | 'route'
    readonly rules: readonly {
      readonly action: 'allow' | 'require' | 'deny'
      readonly name: string
    }[]
  }
  const NAMES = ['a', 'b', 'c']
  const block: fc.Arbitrary<Block> = fc.record({
    isAudited: fc.boolean(),
    level: fc.constantFrom('gateway', 'route'),
    rules: fc.array(
      fc.record({
        action: fc.constantFrom('allow', 'require', 'deny'),
        name: fc.constantFrom(...NAMES),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  })

  /** The evaluation order of the specification, over the union. */
  function verdict(blocks: readonly Block[], set: ReadonlySet<string>): boolean {
    const rules = blocks.flatMap((own) => own.rules)
    const of = (action: string) => rules.filter((rule) => rule.action === action)
    if (of('deny').some(({ name }) => set.has(name))) return false
    if (of('require').some(({ name }) => !set.has(name))) return false
    return of('allow').length === 0 || of('allow').some(({ name }) => set.has(name))
  }

  it('never enforce, and are reported for the whole set with and without them', async () => {
    const property = fc.asyncProperty(
      fc.array(block, { minLength: 1, maxLength: 5 }),
      fc.subarray(NAMES),
      async (blocks, present) => {
        const written = (level: string) =>
          blocks
            .map((own, i) => ({ own, i }))
            .filter(({ own }) => own.level === level)
            .flatMap(({ own, i }) =>
              at(own.level, `p${i}`, {
                authorization: {
                  mode: own.isAudited ? 'Audit' : 'Enforce',
                  rules: own.rules.map(({ action, name }) => ({ [action]: has(name) })),
                },
              }),
            )
        const program = programOf({
          gateway: written('gateway'),
          routes: [{ policies: written('route') }],
        })
        const headers = Object.fromEntries(present.map((name) => [name, '1']))
        const { exchange, reply } = await decide(program, { headers })
        const set = new Set(present)
        const enforced = verdict(
          blocks.filter((own) => !own.isAudited),
          set,
        )
        const all = verdict(blocks, set)
        assert.equal(reply?.status, enforced ? undefined : 403)
        const [reported] = exchange.decisions
        if (enforced && all) assert.equal(reported, undefined)
        else if (enforced)
          assert.deepEqual([reported?.isAllowed, reported?.isEnforced], [false, false])
        else {
          assert.deepEqual([reported?.isAllowed, reported?.isEnforced], [false, true])
          const isAudited = blocks.some((own) => own.isAudited)
          assert.equal(reported?.audited?.isAllowed, isAudited ? all : undefined)
        }
      },
    )
    await fc.assert(property, fuzz(0.5))
  })
})
