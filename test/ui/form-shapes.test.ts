import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import {
  RESOURCE_KINDS,
  shapeOf as shapeOfKind,
} from '../../src/sources/database/resource-kinds.ts'
import { fileJsonSchema } from '../../src/sources/file/json-schema.ts'
import { readDocument } from '../../src/sources/file/read.ts'
import { stageAt } from '../../ui/src/forms/expression-at.ts'
import { generateKey, hashKey } from '../../ui/src/forms/new-key.ts'
import { fileSchema, type Schema, schemaOfKind } from '../../ui/src/forms/schema.ts'
import { type Shape, shapeOf } from '../../ui/src/forms/shape.ts'
import { startOf, startOfItem, variantOf } from '../../ui/src/forms/values.ts'
import { HINTS, hintsAt, started } from '../../ui/src/kinds/hints.ts'
import { KINDS, shapeOfKind as uiShapeOfKind } from '../../ui/src/kinds/resource-id.ts'
import { checkResource, secretSpans } from '../../ui/src/text/check-resource.ts'
import { nameOfPath, TextPlaces } from '../../ui/src/text/places.ts'
import { isSame, readText, textOf, withValue } from '../../ui/src/text/with-value.ts'
import { type RawSchema, valuesOf } from './schema-values.ts'

const RAW = fileJsonSchema() as RawSchema
const rawOfKind = (kind: string): RawSchema => {
  const section = RAW.properties?.[kind] ?? {}
  const { items, additionalProperties } = section
  return items ?? (typeof additionalProperties === 'object' ? additionalProperties : section)
}
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 100)

/** Every schema of the kind, by where it is. */
function schemasIn(kind: (typeof KINDS)[number]): ReadonlyMap<Schema, string> {
  const found = new Map<Schema, string>()
  const shapes = new Set<Shape>()
  const visit = (schema: Schema, at: string): void => {
    if (found.has(schema)) return
    found.set(schema, at)
    const shape = shapeOf(schema)
    if (shapes.has(shape)) return
    shapes.add(shape)
    if (shape.kind === 'object')
      for (const one of shape.members) visit(one.schema, `${at}.${one.key}`)
    if (shape.kind === 'map') visit(shape.value, `${at}.*`)
    if (shape.kind === 'list') visit(shape.item, `${at}[]`)
    if (shape.kind === 'union') for (const one of shape.variants) visit(one.schema, at)
  }
  visit(schemaOfKind(kind), kind)
  return found
}

describe('forms from the schema of the file', () => {
  it('exist for every kind of resource that the admin API stores', () => {
    assert.deepEqual([...KINDS].sort(), [...RESOURCE_KINDS].sort())
    for (const kind of RESOURCE_KINDS) assert.equal(uiShapeOfKind(kind), shapeOfKind(kind), kind)
    assert.deepEqual(Object.keys(HINTS).sort(), [...RESOURCE_KINDS].sort())
  })

  for (const kind of KINDS) {
    it(`know the shape of every schema of ${kind}: none is shown as raw YAML without reason`, () => {
      const opaque: string[] = []
      for (const [schema, at] of schemasIn(kind)) {
        const shape = shapeOf(schema)
        const isAny = shape.name === 'anything' || /^__schema/.test(shape.name ?? '')
        if (shape.kind === 'anything' && !isAny) opaque.push(at)
        if (shape.kind === 'union') {
          const labels = shape.variants.map(({ label }) => label)
          assert.equal(new Set(labels).size, labels.length, `${at}: ${labels}`)
        }
        assert.ok(startOfItem(schema) !== undefined, `${at} begins with a value`)
      }
      assert.deepEqual(opaque, [])
    })

    it(`offer every key of ${kind} that is no alias, and say which are required`, () => {
      const properties = Object.entries(rawOfKind(kind).properties ?? {})
      const shape = shapeOf(schemaOfKind(kind))
      assert.ok(shape.kind === 'object')
      const isAlias = (one: RawSchema) =>
        /^An alias of/.test((one as { description?: string }).description ?? '')
      const written = properties.filter(([, one]) => !isAlias(one)).map(([key]) => key)
      // Some mappings of policies are only references.
      const offered = shape.members.filter(({ aliasOf }) => aliasOf === undefined)
      if (written.length > 0)
        assert.deepEqual(
          offered.map(({ key }) => key),
          written,
        )
      const required = shape.members.filter((one) => one.isRequired).map(({ key }) => key)
      if (written.length > 0) assert.deepEqual(required, rawOfKind(kind).required ?? [])
    })
  }

  it('have hints only for members that exist', () => {
    for (const [kind, { forms }] of Object.entries(HINTS)) {
      for (const place of Object.keys(forms)) {
        const [name = '', path = ''] = place.split(':')
        let schema = (KINDS as readonly string[]).includes(name)
          ? schemaOfKind(name as (typeof KINDS)[number])
          : (fileSchema().$defs?.[name] as Schema)
        for (const step of path.match(/\[\]|[^.[\]]+/g) ?? []) {
          const shape = shapeOf(schema)
          if (step === '[]') schema = (shape as Shape & { kind: 'list' }).item
          else if (shape.kind === 'object') {
            schema = shape.members.find(({ key }) => key === step)?.schema as Schema
          }
        }
        const shape = shapeOf(schema)
        assert.ok(shape.kind === 'object', `${kind}: ${place}`)
        const keys = shape.members.map(({ key }) => key)
        for (const key of hintsAt(place).first ?? [])
          assert.ok(keys.includes(key), `${place} ${key}`)
      }
    }
  })

  for (const [text, label] of [
    ['10s', 'Duration'],
    ["duration('1s')", 'CEL expression'],
  ] as const) {
    it(`tell \`${text}\` as the duration of a delay by its form`, () => {
      const { delay } = fileSchema().$defs ?? {}
      const shape = shapeOf(delay as Schema)
      assert.ok(shape.kind === 'object')
      const member = shape.members.find(({ key }) => key === 'duration')
      const union = shapeOf(member?.schema as Schema)
      assert.ok(union.kind === 'union', JSON.stringify(union))
      assert.equal(union.variants[variantOf(union, text)]?.label, label)
    })
  }

  it('choose the variant of a union that accepts the value, as ajv does', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false })
    const seen = new Map<string, { at: string; shape: Shape & { kind: 'union' } }>()
    for (const kind of KINDS) {
      for (const [schema, at] of schemasIn(kind)) {
        const shape = shapeOf(schema)
        if (shape.kind === 'union') seen.set(JSON.stringify(schema), { at, shape })
      }
    }
    assert.ok(seen.size > 20, String(seen.size))
    const wrong: string[] = []
    for (const { at, shape } of seen.values()) {
      const accepts = shape.variants.map(({ schema }) =>
        ajv.compile({ ...schema, $defs: fileSchema().$defs } as object),
      )
      const each = shape.variants.map(({ schema }) => valuesOf(RAW, schema as RawSchema, 4))
      fc.assert(
        fc.property(fc.oneof(...each), (value) => {
          if (!accepts.some((one) => one(value))) return
          if (accepts[variantOf(shape, value)]?.(value) !== true) {
            wrong.push(
              `${at}: ${JSON.stringify(value)} as ${shape.variants[variantOf(shape, value)]?.label}`,
            )
          }
        }),
        { numRuns: Math.ceil(RUNS / 5) },
      )
    }
    assert.deepEqual(wrong.slice(0, 5), [])
  })
})

describe('the text beside a form', () => {
  for (const kind of KINDS) {
    it(`of ${kind} has the value of the form, whatever it was before, as the gateway reads it`, () => {
      const values = valuesOf(RAW, rawOfKind(kind))
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

describe('what buttons add', () => {
  for (const kind of KINDS) {
    for (const start of HINTS[kind].starts) {
      it(`${start.label} to ${kind} is of the schema, and nothing else changes`, () => {
        const { value, path } = started(HINTS[kind].start, start)
        const unknown = checkResource(kind, 'x', textOf(value)).filter(({ message }) =>
          /unknown|cannot be set here|expected a/.test(message),
        )
        assert.deepEqual(
          unknown.map(({ message, path: at }) => `${nameOfPath(at)}: ${message}`),
          [],
        )
        assert.ok(path.length > 0)
        const twice = started(value, start)
        if (start.isItem) assert.notDeepEqual(twice.path, path)
        else assert.deepEqual(twice.value, value)
      })
    }
  }

  it('begin with values that a form can show', () => {
    for (const kind of KINDS) assert.notEqual(startOf(schemaOfKind(kind)), undefined, kind)
  })
})

describe('a key that is generated in the browser', () => {
  it('is random, and its hash is the one that `portcullis hash-key` prints', () => {
    const keys = Array.from({ length: 100 }, generateKey)
    assert.equal(new Set(keys).size, 100)
    for (const key of keys) assert.match(key, /^[A-Za-z0-9_-]{43}$/)
    const entry = join(import.meta.dirname, '../../bin/portcullis.ts')
    const [input = ''] = keys
    const { stdout } = spawnSync(process.execPath, [entry, 'hash-key'], { input, encoding: 'utf8' })
    assert.equal(hashKey(input), stdout.trim())
  })
})

function edit(value: unknown, path: string, next: unknown): unknown {
  const [step = '', ...rest] = path.split('.')
  if (step === '') return next
  const inner = edit((value as Record<string, unknown>)?.[step], rest.join('.'), next)
  if (!Array.isArray(value)) return { ...(value as object), [step]: inner }
  return value.map((one, index) => (String(index) === step ? inner : one))
}
