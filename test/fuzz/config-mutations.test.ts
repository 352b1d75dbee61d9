// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings name variables

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import { renderTerminal } from '../../src/diagnostics/render.ts'
import { canonicalJson } from '../../src/model/json.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

/** All case files, both valid and invalid. */
const SEEDS = globSync(join(import.meta.dirname, '../config/*.in.{yaml,json}'))
  .sort()
  .filter((path) => !path.includes('aliases-too-many'))
  .map((path) => readFileSync(path, 'utf8'))

const FRAGMENTS = [
  ...`{ } [ ] : , - ? & * ! | > ' " % @ # $ ~ \\ &a *a <<: --- ... null true 0 -1 1e999 .inf .nan`.split(
    ' ',
  ),
  ...[
    '${',
    '${A}',
    '${HOME}',
    '$$',
    '__proto__: ',
    'constructor',
    '\n',
    '\r\n',
    '\t',
    '\n\n',
    '  ',
  ],
  ...['\u0000', '\ufeff', '\u2028', '😀', '\ud800', 'é', '\x1b[31m', "'''", '|2-\n', '>+\n', '? '],
  ...'gateways routes backends policies authorization rules allow deny port tls jwt.sub name'.split(
    ' ',
  ),
]

type Edit = (text: string) => string

function mutated(): fc.Arbitrary<string> {
  const place = fc.double({ min: 0, max: 1, noNaN: true })
  const fragment = fc.constantFrom(...FRAGMENTS)
  const line = fc.tuple(place, place)
  const edit: fc.Arbitrary<Edit> = fc.oneof(
    fc.tuple(place, fc.nat(12), fragment).map(([at, length, by]) => spliced(at, length, by)),
    fc.tuple(place, fragment).map(([at, by]) => spliced(at, 0, by)),
    fc.tuple(place, fc.nat(40)).map(([at, length]) => spliced(at, length, '')),
    line.map(([from, to]) => withLines((lines) => moved(lines, from, to))),
    line.map(([from, to]) => withLines((lines) => copied(lines, from, to))),
    place.map((at) => withLines((lines) => dropped(lines, at))),
    fc.tuple(place, fc.nat(4)).map(([at, by]) => withLines((lines) => indented(lines, at, by))),
    place.map((at) => (text: string) => text.slice(0, Math.floor(at * text.length))),
    fc.tuple(place, fc.constantFrom(...SEEDS)).map(([at, by]) => spliced(at, 0, by)),
  )
  return fc
    .tuple(fc.constantFrom(...SEEDS), fc.array(edit, { minLength: 1, maxLength: 4 }))
    .map(([seed, edits]) => edits.reduce((text, change) => change(text), seed))
}

function spliced(at: number, length: number, by: string): Edit {
  return (text) => {
    const start = Math.floor(at * text.length)
    return text.slice(0, start) + by + text.slice(start + length)
  }
}

function withLines(change: (lines: string[]) => string[]): Edit {
  return (text) => change(text.split('\n')).join('\n')
}

function moved(lines: string[], from: number, to: number): string[] {
  const [line = ''] = lines.splice(Math.floor(from * lines.length), 1)
  return lines.toSpliced(Math.floor(to * lines.length), 0, line)
}

function copied(lines: string[], from: number, to: number): string[] {
  const line = lines[Math.floor(from * lines.length)] ?? ''
  return lines.toSpliced(Math.floor(to * lines.length), 0, line)
}

function dropped(lines: string[], at: number): string[] {
  return lines.toSpliced(Math.floor(at * lines.length), 1)
}

function indented(lines: string[], at: number, by: number): string[] {
  const index = Math.min(Math.floor(at * lines.length), lines.length - 1)
  const line = lines[index] ?? ''
  return lines.with(index, by === 0 ? line.trimStart() : ' '.repeat(by) + line)
}

describe('a mutated configuration', () => {
  it('gives a Model or an error, each with a position in the file, and never throws', () => {
    assertProperty(
      'config-mutations',
      fc.property(mutated(), (text) => {
        const { result } = loadText(text, 'gateway.yaml', { environment: { HOME: '/root' } })
        const { value, diagnostics } = result
        assert.ok(value !== undefined || diagnostics.some(({ severity }) => severity === 'error'))
        for (const diagnostic of diagnostics) checkPlace(diagnostic, text)
        // Diagnostics can be rendered, and the Model can be serialized and parsed again.
        renderTerminal(diagnostics)
        if (value !== undefined) JSON.parse(canonicalJson(value))
      }),
      { ...fuzz(0.1) },
    )
  })
})

function checkPlace({ code, message, origin, excerpt }: Diagnostic, text: string): void {
  assert.match(code, /^PC\d{4}$/)
  assert.notEqual(message, '')
  assert.equal(origin.kind, 'file')
  if (origin.kind !== 'file') return
  const lines = text.replace(/^\ufeff/, '').split('\n')
  assert.ok(origin.line >= 1 && origin.line <= lines.length, `line ${origin.line} of ${code}`)
  const line = lines[origin.line - 1] as string
  assert.ok(origin.column >= 1 && origin.column <= [...line].length + 1, `column of ${code}`)
  if (excerpt === undefined) return
  const { start, end } = excerpt
  assert.ok(start >= 0 && start <= end && end <= excerpt.text.length, `excerpt of ${code}`)
}
