import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { locate } from '../../diagnostics/places.ts'
import { runToCompletion } from '../../model/steps.ts'
import { type PieceList, positionAt, spanOf } from './document.ts'
import { DocumentPlaces } from './document-places.ts'
import { namedFiles } from './files.ts'
import { readDocument } from './read.ts'
import { SectionNode } from './section-node.ts'
import { toModel } from './to-model.ts'

const route = (n: number) => `- name: route-${n}
  matches:
  - path:
      pathPrefix: /p-${n}
  policies:
    authorization:
      rules:
      - require: request.headers['x-team'] == 'team-${n}'
  backends:
  - backend: up
`
const ROUTES = 200
const text = `gateways:
  default:
    port: 24173
backends:
- name: up
  host: 127.0.0.1:24174
routes:
${Array.from({ length: ROUTES }, (_, n) => route(n)).join('')}`

function read() {
  const { value } = readDocument(text, { file: 'gateway.yaml', environment: {}, how: 'quickly' })
  return value ?? assert.fail()
}

describe('a section node', () => {
  it('serves all reads of its section: each route is read from the file once', () => {
    const document = read()
    let taken = 0
    const counted = (list: PieceList): PieceList => ({
      ...list,
      at(index) {
        taken++
        return list.at(index)
      },
    })
    const lists = new Map([...document.lists].map(([key, list]) => [key, counted(list)]))
    assert.ok(lists.has('routes'))
    const { result } = runToCompletion(
      toModel(
        { ...document, lists },
        {
          files: namedFiles(
            (name) => [name],
            () => assert.fail(),
          ),
        },
      ),
    )
    assert.equal(result.value?.routes.length, ROUTES)
    assert.deepEqual(result.diagnostics, [])
    const others = lists.get('backends')?.length ?? 0
    assert.equal(taken, ROUTES + others)
  })

  it('has the origin of its path, even if nothing is there', () => {
    const document = read()
    const root = SectionNode.of(document)
    for (const path of [
      [],
      ['gateways', 'default', 'port'],
      ['gateways', 'other', 'port'],
      ['routes'],
      ['routes', 7],
      ['routes', 7, 'policies', 'authorization', 'rules', 0, 'require'],
      ['routes', 7, 'policies', 'cors', 'allowOrigins', 0],
      ['routes', ROUTES],
      ['routes', ROUTES, 'name'],
      ['nothing', 'at', 'all'],
    ]) {
      const node = root.inner(...path)
      assert.deepEqual(node.path, path)
      const position = positionAt(document, spanOf(document, path, 'key').start)
      assert.deepEqual(locate(new DocumentPlaces(document), node.origin), position, String(path))
      for (const part of ['key', 'value'] as const) {
        const { start, end } = node.span(part)
        const { start: from, end: to } = spanOf(document, path, part)
        assert.deepEqual([start, end], [from, to], String(path))
      }
    }
    assert.equal(root.inner('routes', 7, 'name').value, 'route-7')
    assert.equal(root.inner('routes', ROUTES).value, undefined)
    assert.equal(root.inner('routes', 7, 'name').step, 'name')
    assert.equal(root.inner('routes', 7, 'toString').value, undefined)
  })
})
