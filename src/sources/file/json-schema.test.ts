import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { editorJsonSchema, fileJsonSchema } from './json-schema.ts'

interface Node {
  readonly type?: unknown
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: Node
}

const portOf = (schema: unknown) =>
  (schema as Node).properties?.gateways?.additionalProperties?.properties?.port

describe('the schema for editors', () => {
  it('accepts variables in place of numbers', () => {
    assert.equal(portOf(fileJsonSchema())?.type, 'integer')
    const { type, pattern = '' } = portOf(editorJsonSchema()) ?? {}
    assert.deepEqual(type, ['integer', 'string'])
    const texts = [
      '$PORT',
      ...['{PORT}', '{PORT:-80}'].map((name) => `$${name}`),
      'http',
      '$',
      '$8',
    ]
    assert.deepEqual(
      texts.filter((text) => new RegExp(pattern, 'u').test(text)),
      texts.slice(0, 3),
    )
  })
})
