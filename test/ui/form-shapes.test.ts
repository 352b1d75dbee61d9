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
import { generateKey, hashKey } from '../../ui/src/forms/new-key.ts'
import { fileSchema, type Schema, schemaOfKind } from '../../ui/src/forms/schema.ts'
import { type Shape, shapeOf } from '../../ui/src/forms/shape.ts'
import { startOf, startOfItem, variantOf } from '../../ui/src/forms/values.ts'
import { HINTS, hintsAt, started } from '../../ui/src/kinds/hints.ts'
import { KINDS, shapeOfKind as uiShapeOfKind } from '../../ui/src/kinds/resource-id.ts'
import { checkResource } from '../../ui/src/text/check-resource.ts'
import { nameOfPath } from '../../ui/src/text/places.ts'
import { textOf } from '../../ui/src/text/with-value.ts'
import { type RawSchema, schemaOfResource, valuesOf } from './schema-values.ts'

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
      const properties = Object.entries(schemaOfResource(kind).properties ?? {})
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
      if (written.length > 0) assert.deepEqual(required, schemaOfResource(kind).required ?? [])
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
      const each = shape.variants.map(({ schema }) => valuesOf(schema as RawSchema, 4))
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
