// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts name variables

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { locate } from '../../diagnostics/places.ts'
import { type Document, type Path, positionAt, spanOf } from './document.ts'
import { DocumentPlaces } from './document-places.ts'
import type { Node, ScalarNode } from './node.ts'
import { NotQuick, type ReadOptions, readDocument } from './read.ts'
import { offsetsOf } from './scalar-offsets.ts'
import { SectionNode } from './section-node.ts'
import { readYaml } from './yaml-tree.ts'

const nodeAt = (document: Document, path: Path) => SectionNode.of(document).inner(...path)
const valueAt = (document: Document, path: Path) => nodeAt(document, path).value
const isExpanded = (document: Document, path: Path) => nodeAt(document, path).isExpanded
const positionOf = (document: Document, path: Path) =>
  positionAt(document, spanOf(document, path, 'key').start)
const originInside = (document: Document, path: Path) => (offset: number) =>
  locate(new DocumentPlaces(document), nodeAt(document, path).originInside(offset))

function read(text: string, environment = {}, how: ReadOptions['how'] = 'whole') {
  const { value, diagnostics } = readDocument(text, { file: 'a.yaml', environment, how })
  assert.deepEqual(diagnostics, [])
  assert.ok(value !== undefined)
  return value
}

describe('reading', () => {
  for (const [name, text, value] of [
    ['nothing', '', {}],
    ['a comment', '# x', {}],
    ['JSON', '{"a": [1, true, null, "x"]}', { a: [1, true, null, 'x'] }],
    ['numbers', 'a: 0x1f\nb: 0o17\nc: 1e3\nd: .5\ne: -7', { a: 31, b: 15, c: 1000, d: 0.5, e: -7 }],
    ['what YAML 1.1 took for booleans', 'a: yes\nb: on', { a: 'yes', b: 'on' }],
    ['a byte order mark', '\ufeffa: 1', { a: 1 }],
    ['keys that look like numbers', '404: a', { 404: 'a' }],
    ['Windows line ends', 'a: 1\r\nb:\r\n- 2\r\n', { a: 1, b: [2] }],
    [
      'anchors and merge keys',
      'a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}',
      {
        a: { p: 1, q: 2 },
        b: { p: 1, q: 3 },
      },
    ],
  ] as const) {
    it(name, () => assert.deepEqual(read(text).value, value))
  }

  it('gives a variable the type of its expanded text', () => {
    const text = 'a: ${N}\nb: "${N}"\nc: ${T}\nd: ${N}0'
    const { value } = read(text, { N: '8', T: 'true' })
    assert.deepEqual(value, { a: 8, b: '8', c: true, d: 80 })
  })

  it('never lets a variable add structure', () => {
    const { value } = read('a: ${X}', { X: '1\nb: {c: 2}' })
    assert.deepEqual(value, { a: '1\nb: {c: 2}' })
  })

  for (const [name, text] of [
    ['brackets', '['.repeat(50_000)],
    ['braces', '{a: '.repeat(20_000)],
    ['lists', Array.from({ length: 3000 }, (_, i) => `${' '.repeat(i)}-\n`).join('')],
  ] as const) {
    it(`responses to ${name} that are nested without end`, () => {
      const { value, diagnostics } = readDocument(text, {
        file: 'a.yaml',
        environment: {},
        how: 'whole',
      })
      assert.ok(value !== undefined || diagnostics.length > 0)
    })
  }
})

for (const how of ['quickly', 'whole'] as const) {
  describe(`places, read ${how}`, () => {
    const text = 'routes:\n- name: é😀\n  rules: ["a", b]\n'
    const document = read(text, {}, how)
    for (const [path, line, column] of [
      [['routes'], 1, 1],
      [['routes', 0], 2, 3],
      [['routes', 0, 'name'], 2, 3],
      [['routes', 0, 'rules', 1], 3, 16],
      [['routes', 0, 'no'], 2, 3],
      [['nothing'], 1, 1],
    ] as const) {
      it(`${path.join('.')} is at ${line}:${column}`, () => {
        assert.deepEqual(positionOf(document, path), { kind: 'file', file: 'a.yaml', line, column })
      })
    }

    it('counts characters, not UTF-16 units', () => {
      const inside = originInside(read('a: "😀😀x"'), ['a'])
      assert.deepEqual(inside(4), { kind: 'file', file: 'a.yaml', line: 1, column: 7 })
    })

    it('finds values by the same paths', () => {
      assert.equal(valueAt(document, ['routes', 0, 'rules', 1]), 'b')
      assert.equal(valueAt(document, ['routes', 1]), undefined)
      assert.equal(valueAt(document, ['routes', 'constructor']), undefined)
      assert.equal((valueAt(document, ['routes']) as unknown[]).length, 1)
    })

    it('reports unset variables anywhere', () => {
      const text = 'a: ${A}\nroutes:\n- ${B}\n- x: ${C:-c}\n'
      const document = read(text, {}, how)
      const found = [0, 1].map((index) => valueAt(document, ['routes', index]))
      assert.deepEqual(found, [null, { x: 'c' }])
      const said = document.unfilled().map(({ origin }) => ('line' in origin ? origin.line : 0))
      assert.deepEqual(said, [1, 3])
      assert.deepEqual(
        [isExpanded(document, ['routes', 1, 'x']), isExpanded(document, ['routes'])],
        [true, false],
      )
    })
  })
}

describe('quick reading', () => {
  it('leaves text to the full reader if only that supports it', () => {
    assert.throws(() => read('a: &x 1\nb: *x', {}, 'quickly'), NotQuick)
  })

  it('detects this at the affected item', () => {
    const document = read('routes:\n- name: a\n- name: &x b\n', {}, 'quickly')
    assert.deepEqual(valueAt(document, ['routes', 0]), { name: 'a' })
    assert.throws(() => valueAt(document, ['routes', 1]), NotQuick)
  })
})

function scalarsOf(node: Node): readonly ScalarNode[] {
  if (node.kind === 'scalar') return [node]
  if (node.kind === 'list') return node.items.flatMap(scalarsOf)
  return node.entries.flatMap(({ value }) => scalarsOf(value))
}

describe('identical items', () => {
  const item = (name: string, rule: string) =>
    `- name: ${name}\n  policies:\n    rules:\n    - allow: ${rule}\n`
  const text = `routes:\n${item('a', 'x')}${item('longer', 'x')}${item('c', 'y')}${item('d', '${V}')}`
  const document = read(text, { V: 'x' }, 'quickly')
  const rule = (index: number) => ['routes', index, 'policies', 'rules', 0, 'allow']

  it('have their own places, and share one value', () => {
    assert.deepEqual(
      [0, 1, 2].map((index) => positionOf(document, rule(index))),
      [5, 9, 13].map((line) => ({ kind: 'file', file: 'a.yaml', line, column: 7 })),
    )
    const { start, end } = spanOf(document, rule(1), 'value')
    assert.deepEqual(
      [start, text.slice(start, end)],
      [text.indexOf('x', text.indexOf('longer')), 'x'],
    )
    const [first, second] = [0, 1].map((index) => valueAt(document, ['routes', index, 'policies']))
    assert.equal(first, second)
    const first9 = { kind: 'file', file: 'a.yaml', line: 9, column: 14 }
    assert.deepEqual(originInside(document, rule(1))(0), first9)
  })

  it('are distinguished from those with a variable of the same value', () => {
    assert.equal(valueAt(document, rule(3)), 'x')
    assert.deepEqual(
      [1, 3].map((index) => isExpanded(document, rule(index))),
      [false, true],
    )
  })
})

describe('offsets within a scalar', () => {
  const styles = fc.constantFrom(
    'PLAIN',
    'QUOTE_SINGLE',
    'QUOTE_DOUBLE',
    'BLOCK_LITERAL',
    'BLOCK_FOLDED',
  )
  const words = fc.array(
    fc.constantFrom(
      'a',
      'jwt.sub',
      "'",
      '"',
      '\\',
      ' ',
      '  ',
      '\n',
      '\n\n',
      ' \n',
      '\t',
      '#',
      ': ',
      'é',
      '😀',
      '&&',
    ),
    { maxLength: 12 },
  )

  it('map to the same character in every scalar style', () => {
    fc.assert(
      fc.property(words, styles, fc.nat(3), (parts, style, depth) => {
        const value = parts.join('')
        let nested: unknown = { key: value, after: 1 }
        for (let i = 0; i < depth; i++) nested = { list: [nested] }
        const text = stringify(nested, { defaultStringType: style, lineWidth: 20 } as object)
        const { root } = readYaml(text)
        const node = root && scalarsOf(root).find((one) => one.value === value)
        if (node === undefined || value.trim() === '') return
        const offsets = offsetsOf(node, text)
        assert.ok(offsets !== undefined, `${style} ${JSON.stringify(text)}`)
        assert.equal(offsets.length, value.length + 1)
        for (let i = 0; i < value.length; i++) {
          const written = text.charAt(offsets[i] as number)
          const isKept = written === value.charAt(i) || written === '\\'
          assert.ok(isKept || /\s/.test(value.charAt(i)), `${JSON.stringify(text)} at ${i}`)
        }
      }),
      { numRuns: 500, seed: 7 },
    )
  })
})
