import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { stringify } from 'yaml'
import type { Node } from '../../src/sources/file/node.ts'
import { readListItem, readOutline, readQuickly } from '../../src/sources/file/quick-yaml.ts'
import { RepeatedBlocks } from '../../src/sources/file/repeated-blocks.ts'
import { readYaml } from '../../src/sources/file/yaml-tree.ts'
import { areSizesUsual } from '../thresholds/sizes.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

/**
 * Reads the text piece by piece, which gives the same tree; undefined if any piece cannot be read.
 */
function inPieces(text: string): Node | undefined {
  const outline = readOutline(text)
  if (outline === undefined || outline.root.kind !== 'mapping') return outline?.root
  const entries = outline.root.entries.map((entry) => {
    const places = outline.lists.get(entry.key)
    if (places === undefined) return entry
    const blocks = new RepeatedBlocks()
    const items = places.starts.map((_, index) => readListItem(text, places, index, blocks))
    return { ...entry, value: { ...entry.value, items } as Node }
  })
  const isRead = entries.every(
    ({ value }) => value.kind !== 'list' || !value.items.some((item) => item === undefined),
  )
  return isRead ? { ...outline.root, entries } : undefined
}

/** The full reader accepts whatever the quick reader accepts, and returns the same tree. */
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

/** Everything except the end offsets of collections and block scalars, which no code reads. */
function shown(node: Node, by = 0): unknown {
  const start = node.start + by
  if (node.kind === 'list') return { start, items: node.items.map((item) => shown(item, by)) }
  if (node.kind === 'mapping') {
    const entries = node.entries.map(({ key, keyStart, keyEnd, value, shift = 0 }) => ({
      key,
      keyStart: keyStart + by,
      keyEnd: keyEnd + by,
      value: shown(value, by + shift),
    }))
    return { start, entries }
  }
  const { value, style } = node
  const end = node.end + by
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

/** Text that may follow the key of an item, on the same line and below it. */
const LINES = [
  ...['\n', ' # why\n', '\n\n', '\n    # here\n', '\n# there\n', ' v\n', ' |\n', ' "q"\n'],
  ...['      k: 1\n', '      - 1\n', '      - k: 2\n', '        l: 3\n', '        - 4\n'],
  ...[
    '    - 5\n',
    '    - k: 6\n',
    '      k: |\n',
    '      k: >-\n',
    '         text\n',
    '     odd\n',
  ],
  ...['  - name: y\n', '      # deep\n', '      k:\n', '      l: $A\n', '      m: {n: [o]}\n'],
]

describe('the quick YAML reader', () => {
  it('accepts most files that users write', () => {
    const taken = FILES.filter((_, index) => compare(SEEDS[index] as string))
    assert.ok(
      taken.length > FILES.length / 2 || !areSizesUsual,
      `${taken.length} of ${FILES.length}`,
    )
  })

  it('agrees with the full reader on any tokens', () => {
    assertProperty(
      'quick-yaml-tokens',
      fc.property(fc.array(fc.constantFrom(...TOKENS), { maxLength: 16 }), (tokens) => {
        compare(tokens.join(''))
      }),
      fuzz(2),
    )
  })

  it('agrees with the full reader on any value in any style', () => {
    const style = fc.constantFrom('PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL')
    const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme-ascii' })
    assertProperty(
      'quick-yaml-values',
      fc.property(value, style, fc.boolean(), (value, defaultStringType, indentSeq) => {
        compare(stringify({ value }, { defaultStringType, indentSeq }))
        compare(JSON.stringify(value, undefined, indentSeq ? 2 : 0))
      }),
      fuzz(0.2),
    )
  })

  it('distinguishes items that only begin alike', () => {
    const item = (rest: string) => `  - n: 1\n    a:${rest}`
    const blocks = ['\n', '\n    - 5\n', '\n      - 5\n', ' # x\n      k: 1\n', '\n      k: 1\n\n']
    const all = [...blocks, ...blocks, '\n      k: |\n        t\n\n', '\n      k: |\n        t\n']
    assert.ok(compare(`list:\n${[...all, ...all].map(item).join('')}`))
  })

  it('agrees with the full reader on similar items', () => {
    const line = fc.constantFrom(...LINES)
    const block = fc.array(line, { maxLength: 4 }).map((lines) => lines.join(''))
    const blocks = fc.uniqueArray(block, { minLength: 1, maxLength: 3 })
    const item = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(2)), {
      minLength: 1,
      maxLength: 3,
    })
    let taken = 0
    assertProperty(
      'quick-yaml-items',
      fc.property(blocks, fc.array(item, { minLength: 2, maxLength: 6 }), (pool, items) => {
        const written = items.map((keys, index) => {
          const lines = keys.map(([key, at]) => `    ${key}:${pool[at % pool.length]}`)
          return `  - name: ${'x'.repeat(index)}1\n${lines.join('')}`
        })
        if (compare(`list:\n${written.join('')}rest: 1\n`)) taken++
      }),
      fuzz(1),
    )
    assert.ok(taken > 0)
  })

  it('agrees with the full reader on mutated files', () => {
    const place = fc.double({ min: 0, max: 1, noNaN: true })
    const edits = fc.array(fc.tuple(place, fc.nat(6), fc.constantFrom(...TOKENS)), { maxLength: 3 })
    let taken = 0
    assertProperty(
      'quick-yaml-mutated',
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
