import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { JsonValue } from '../../model/json.ts'
import type { Document, Path } from '../file/document.ts'
import { FilePlace } from '../file/file-place.ts'
import { readDocument } from '../file/read.ts'
import { SectionNode } from '../file/section-node.ts'
import { mergeResources, type StoredResource } from './merge.ts'
import { overlayDocument } from './overlay.ts'
import type { ResourceKind } from './resource-kinds.ts'
import { resourcesOf } from './resources.ts'

const FILE = `gateways:
  default: { port: 8080 }
routes:
- name: home
  matches: [{ path: { exact: /home } }]
- name: about
`

function stored(kind: ResourceKind, id: string, value: JsonValue, created = 1): StoredResource {
  const rest = { base: null, revision: 1, created, author: 'test', time: '' }
  return { kind, id, state: 'set', value, ...rest }
}

function overlaid(edits: readonly StoredResource[]): Document {
  const { value: document } = readDocument(FILE, { file: 'f', environment: {}, how: 'whole' })
  assert.ok(document)
  return overlayDocument(document, mergeResources(resourcesOf(document.value), edits))
}

/** Paths of everything in the value, and of a missing member next to it. */
function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path, [...path, 'absent', 0]]
  const inner = Object.entries(value).flatMap(([key, member]) =>
    pathsOf(member, [...path, Array.isArray(value) ? Number(key) : key]),
  )
  return [path, [...path, 'absent', 'more'], ...inner]
}

describe('stored resources in the document of a baseline', () => {
  it('have the origins of their text', () => {
    const key = fc.constantFrom('name', 'a', 'b.c', '0', '', 'x"y', 'line\nbreak')
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<JsonValue>('text', 'two\nlines', '', 7, true, null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 3 }),
      ),
    }))
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), (values) => {
        const edits = values.map((one, index) =>
          stored('routes', `r${index}`, one as JsonValue, index),
        )
        const document = overlaid(edits)
        for (const [index, one] of values.entries()) {
          const at = index + 2
          for (const path of pathsOf(one)) {
            const node = SectionNode.of(document).inner('routes', at, ...path)
            const origin = node.origin
            assert.deepEqual(origin, new FilePlace(document, ['routes', at, ...path]).origin)
            assert.deepEqual(node.originInside(0), origin)
            assert.ok(origin.kind === 'object' && origin.object === `database routes/r${index}`)
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  it('do not move places of the file, whatever was shown before', () => {
    const document = overlaid([
      stored('routes', 'new', { name: 'new' }),
      stored('ui', 'default', {}),
    ])
    const root = SectionNode.of(document)
    const about = { kind: 'part', file: 'f', part: 'routes/about', field: '' }
    assert.deepEqual(root.inner('routes', 1).origin, about)
    assert.deepEqual(root.inner('routes', 2, 'name').origin, {
      kind: 'object',
      object: 'database routes/new',
      field: 'name',
    })
    // Renders the text.
    assert.equal(document.text, FILE + document.text.slice(FILE.length))
    assert.deepEqual(root.inner('routes', 2).span('value'), root.inner('routes', 2).span('value'))
    assert.deepEqual(new FilePlace(document, ['routes', 1]).origin, about)
    assert.deepEqual(new FilePlace(document, ['gateways', 'default']).origin.kind, 'part')
    assert.equal(root.inner('routes', 3).value, undefined)
  })

  it('are read in order, and replace those of the file', () => {
    const edits = [stored('routes', 'home', { name: 'home', hostnames: ['a'] })]
    const root = SectionNode.of(overlaid(edits))
    const names = [0, 1].map((index) => root.inner('routes', index, 'name').value)
    assert.deepEqual(names, ['home', 'about'])
    assert.equal(root.inner('routes', 0).origin.kind, 'object')
    assert.equal(root.inner('routes', 1).origin.kind, 'part')
  })
})
