import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readDocument } from '../../src/sources/file/read.ts'
import { stageAt } from '../../ui/src/forms/expression-at.ts'
import { KINDS } from '../../ui/src/kinds/resource-id.ts'
import { checkResource, secretSpans } from '../../ui/src/text/check-resource.ts'
import { nameOfPath, TextPlaces } from '../../ui/src/text/places.ts'
import { isSame, readText, textOf, withValue } from '../../ui/src/text/with-value.ts'
import { schemaOfResource, valuesOf } from './schema-values.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 100)

describe('the text beside a form', () => {
  for (const kind of KINDS) {
    it(`of ${kind} has the value of the form, whatever it was before, as the gateway reads it`, () => {
      const values = valuesOf(schemaOfResource(kind))
      fc.assert(
        fc.property(values, values, (before, after) => {
          const text = withValue(textOf(before), after)
          const read = readText(text)
          assert.ok('value' in read && isSame(read.value, after), text)
          const { value } = readDocument(text, { file: '', environment: undefined, how: 'whole' })
          assert.deepEqual(value?.value ?? null, JSON.parse(JSON.stringify(after)), text)
          assert.equal(withValue(text, after), text)
        }),
        { numRuns: RUNS },
      )
    })
  }

  const COMMENTED = `# The models of all teams.
models:
  # Cheap and fast.
  - name: 'small' # for everyone
    provider: openAI

  - name: large
    provider: anthropic
    params: { model: claude } # the newest
policies:
  authorization:
    rules:
      - allow: |
          apiKey.team == 'a' ||
          apiKey.team == 'b'
`
  const yamlOf = (text: string) => (readText(text) as { value: never }).value

  for (const [what, change, removed, added] of [
    [
      'a changed word',
      (v: never) => edit(v, 'models.1.name', 'huge'),
      '  - name: large',
      '  - name: huge',
    ],
    [
      'a new field',
      (v: never) => edit(v, 'models.0.params', { apiKey: 'x' }),
      '',
      '    params:\n      apiKey: x',
    ],
    [
      'a changed field in braces',
      (v: never) => edit(v, 'models.1.params.model', 'opus'),
      '    params: { model: claude } # the newest',
      '    params: { model: opus } # the newest',
    ],
    [
      'a new item',
      (v: { models: object[] }) => ({ ...v, models: [...v.models, { name: 'x' }] }),
      '',
      '  - name: x',
    ],
  ] as const) {
    it(`keeps comments, order and quotes of everything but ${what}`, () => {
      const text = withValue(COMMENTED, change(yamlOf(COMMENTED)))
      const lines = text.split('\n')
      const kept = COMMENTED.split('\n').filter((line) => line !== removed)
      let at = 0
      for (const line of kept) {
        const next = lines.indexOf(line, at)
        assert.ok(next >= at, `${line}\nis not in\n${text}`)
        at = next
      }
      for (const line of added.split('\n')) assert.ok(lines.includes(line), `${line}\n${text}`)
    })
  }

  it('moves the comments of items with them', () => {
    const value = yamlOf(COMMENTED) as { models: unknown[] }
    const text = withValue(COMMENTED, { ...value, models: value.models.toReversed() })
    assert.match(text, /# Cheap and fast\.\n {2}- name: 'small' # for everyone/)
    assert.ok(text.indexOf('large') < text.indexOf('small'), text)
  })

  it('knows the line of every field', () => {
    const places = new TextPlaces(COMMENTED)
    for (const [field, line] of [
      ['models', 2],
      ['models[0].name', 4],
      ['models[1].params.model', 9],
      ['policies.authorization.rules[0].allow', 13],
      ['policies.authorization.rules[0].none', 13],
      ['policies.none[3]', 10],
    ] as const) {
      const path = places.pathOfField(field)
      assert.equal(nameOfPath(path), field)
      assert.equal(places.lineAt(places.spanOf(path).from), line, field)
    }
    const dotted = new TextPlaces('a.b:\n  c: 1\n')
    assert.deepEqual(dotted.pathOfField('a.b.c'), ['a.b', 'c'])
    assert.deepEqual(places.pathAt(COMMENTED.indexOf('claude')), ['models', 1, 'params', 'model'])
  })
})

describe('the checker beside a form', () => {
  for (const [kind, id, text, line, field, message] of [
    [
      'llm',
      'default',
      'models:\n- name: a\n  provider: openAI\n  colour: red\n',
      4,
      'models[0].colour',
      /unknown field `colour`/,
    ],
    [
      'llm',
      'default',
      '# x\nmodels: [{ name: a, provider: openAI }]\npolicies:\n  budgets:\n  - per: Day\n    dollars: 1\n',
      6,
      'policies.budgets[0].dollars',
      /unknown field `dollars`/,
    ],
    [
      'routes',
      'api',
      'name: api\nbackends: [{ host: "x:1" }]\npolicies:\n  authorization:\n    rules:\n    - allow: request.pth == 1\n',
      6,
      'policies.authorization.rules[0].allow',
      /pth/,
    ],
    ['gateways', 'default', 'port: 1\nprot: 2\n', 2, 'prot', /unknown field `prot`/],
    [
      'routes',
      'api',
      'name: api\nbackends:\n- host: x:1\npolices: 1',
      4,
      'polices',
      /unknown field `polices`/,
    ],
    ['backends', 'b', 'name: b\n', 1, 'name', /must be set/],
    [
      'mcp',
      'default',
      'targets:\n- name: a_b\n  mcp: { host: x }\n',
      2,
      'targets[0].name',
      /must not contain/,
    ],
    [
      'policies',
      'p',
      'name: p\ntarget: { route: r }\ntraffic:\n  csfr: {}\n',
      4,
      'traffic.csfr',
      /unknown policy `csfr`/,
    ],
    ['routes', 'api', 'name: [\n', 2, 'name', /./],
    ['routes', 'api', '---\nname: x\n', 1, '', /document markers/],
  ] as const) {
    it(`says which line of ${kind} is wrong, and in which field: ${String(message)}`, () => {
      const marks = checkResource(kind, id, text)
      const found = marks.find((one) => message.test(one.message))
      assert.ok(found !== undefined, JSON.stringify(marks))
      assert.equal(found.line, line)
      if (field !== 'name') assert.equal(nameOfPath(found.path), field)
    })
  }

  it('has nothing to say about a resource that refers to others', () => {
    const text = 'name: api\ngateways: other\nbackends: [{ backend: elsewhere }]\n'
    assert.deepEqual(checkResource('routes', 'api', text), [])
  })

  it('finds the secrets of a text, even if the rest is incomplete', () => {
    const text =
      'models:\n- name: a\n  params: { apiKey: sk-1 }\npolicies: { apiKey: { keys: [{ key: k-2 }] } }\n'
    const spans = secretSpans('llm', 'default', text).map(({ from, to }) => text.slice(from, to))
    assert.deepEqual(spans, ['sk-1', 'k-2'])
  })

  it('knows the stage of an expression, at a path of the text', () => {
    const value = {
      models: [{ name: 'a', authorization: { rules: [{ allow: 'x' }] } }],
      policies: { budgets: [{ key: 'x' }], mcpAuthorization: { rules: ['x'] } },
    }
    const at = (...path: (string | number)[]) => stageAt('llm', value, path)
    assert.equal(at('models', 0, 'authorization', 'rules', 0, 'allow'), 'backend')
    assert.equal(at('policies', 'budgets', 0, 'key'), 'traffic')
    assert.equal(at('models', 0, 'name'), undefined)
    const inMcp = { policies: { mcpAuthorization: { rules: ['x'] } } }
    assert.equal(stageAt('mcp', inMcp, ['policies', 'mcpAuthorization', 'rules', 0]), 'mcp')
  })
})

function edit(value: unknown, path: string, next: unknown): unknown {
  const [step = '', ...rest] = path.split('.')
  if (step === '') return next
  const inner = edit((value as Record<string, unknown>)?.[step], rest.join('.'), next)
  if (!Array.isArray(value)) return { ...(value as object), [step]: inner }
  return value.map((one, index) => (String(index) === step ? inner : one))
}
