import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { stringify } from 'yaml'
import type { Node } from '../../src/sources/file/node.ts'
import { readListItem, readOutline, readQuickly } from '../../src/sources/file/quick-yaml.ts'
import { readYaml } from '../../src/sources/file/yaml-tree.ts'
import { fuzz } from './runs.ts'

/** Read piece by piece, it is the same tree; undefined if any piece cannot be read. */
function inPieces(text: string): Node | undefined {
  const outline = readOutline(text)
  if (outline === undefined || outline.root.kind !== 'mapping') return outline?.root
  const entries = outline.root.entries.map((entry) => {
    const places = outline.lists.get(entry.key)
    if (places === undefined) return entry
    const items = places.starts.map((_, index) => readListItem(text, places, index))
    return { ...entry, value: { ...entry.value, items } as Node }
  })
  const isRead = entries.every(
    ({ value }) => value.kind !== 'list' || !value.items.some((item) => item === undefined),
  )
  return isRead ? { ...outline.root, entries } : undefined
}

/** What the quick reader takes, the whole one takes as well, and understands in the same way. */
function compare(text: string): boolean {
  const quick = readQuickly(text)
  const pieces = inPieces(text)
  assert.deepEqual(pieces && shown(pieces), quick && shown(quick), JSON.stringify(text))
  if (quick === undefined) return false
  const { root, problems } = readYaml(text)
  assert.deepEqual(problems, [], JSON.stringify(text))
  assert.ok(root !== undefined, JSON.stringify(text))
  assert.deepEqual(shown(quick), shown(root), JSON.stringify(text))
  return true
}

/** All but where large things end, which nothing looks at. */
function shown(node: Node): unknown {
  if (node.kind === 'list') return { start: node.start, items: node.items.map(shown) }
  if (node.kind === 'mapping') {
    const entries = node.entries.map(({ value, ...key }) => ({ ...key, value: shown(value) }))
    return { start: node.start, entries }
  }
  const { value, style, start, end } = node
  const isBlock = style === 'literal' || style === 'folded'
  return isBlock ? { value, style, start } : { value, style, start, end }
}

const FILES = globSync(join(import.meta.dirname, '../config/*.in.{yaml,json}')).sort()
const SEEDS = FILES.map((path) => readFileSync(path, 'utf8'))

const TOKENS = [
  ...[': ', ':', '- ', '-', '\n', '\n  ', '\n    ', '\n- ', '\n  - ', ' ', '  ', '#', ' #', ', '],
  ...['{', '}', '[', ']', '{ ', ' }', '[ ', ' ]', '"', "'", '\\', '\\n', '\\u00e9', '\\x41', "''"],
  ...['|\n', '>\n', '|-\n', '>+\n', '|2\n', '&a ', '*a', '!t ', '? ', '<<: ', '---\n', '...', '%'],
  ...[
    'a',
    'b',
    'key',
    'a b',
    '1',
    '0x1f',
    '1.5',
    'true',
    'null',
    '~',
    '.inf',
    'é',
    '😀',
    '\t',
    '\r\n',
  ],
  ...['a: ', 'b: ', '"c": ', "'d': ", 'a: 1\n', '- a: 1\n', '- b\n', '"x"', "'y'", '{a: b}', '[c]'],
]

describe('the quick reader of YAML', () => {
  it('takes most of the files that people write', () => {
    const taken = FILES.filter((_, index) => compare(SEEDS[index] as string))
    assert.ok(taken.length > FILES.length / 2, `${taken.length} of ${FILES.length}`)
  })

  it('agrees with the whole one on any tokens', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...TOKENS), { maxLength: 16 }), (tokens) => {
        compare(tokens.join(''))
      }),
      fuzz(2),
    )
  })

  it('agrees with the whole one on any value, however it is written', () => {
    const style = fc.constantFrom('PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL')
    const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme-ascii' })
    fc.assert(
      fc.property(value, style, fc.boolean(), (value, defaultStringType, indentSeq) => {
        compare(stringify({ value }, { defaultStringType, indentSeq }))
        compare(JSON.stringify(value, undefined, indentSeq ? 2 : 0))
      }),
      fuzz(0.2),
    )
  })

  it('agrees with the whole one on mutated files', () => {
    const place = fc.double({ min: 0, max: 1, noNaN: true })
    const edits = fc.array(fc.tuple(place, fc.nat(6), fc.constantFrom(...TOKENS)), { maxLength: 3 })
    let taken = 0
    fc.assert(
      fc.property(fc.constantFrom(...SEEDS), edits, (seed, changes) => {
        const text = changes.reduce((text, [at, length, by]) => {
          const start = Math.floor(at * text.length)
          return text.slice(0, start) + by + text.slice(start + length)
        }, seed)
        if (compare(text)) taken++
      }),
      fuzz(0.2),
    )
    assert.ok(taken > 0)
  })
})
