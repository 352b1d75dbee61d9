import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { DYN } from '../../src/cel/check/types.ts'
import { compile, environment, type Variables } from '../../src/cel/index.ts'
import { parse } from '../../src/cel/syntax/parse.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import type { Generator } from '../conformance/generator.ts'
import { inBatches, runAllModes } from './all-modes.ts'
import { assertProperty } from './assert-property.ts'
import { mutatedText, SEEDS } from './mutated-text.ts'
import { fuzz } from './runs.ts'
import { startWatchdog } from './watchdog.ts'

const NAMES = 'x y z a b c i s m k v msg jwt request'.split(' ')

const ENVIRONMENT = environment({
  name: 'fuzz',
  variables: NAMES.map((name) => ({ name, type: DYN, set: 'always', doc: '' })),
})

const VALUES: readonly Variables[] = [
  {},
  { x: 1, y: 'y', z: [1, 2], m: { a: { b: 'c' }, k: null }, jwt: { sub: 'alice' }, i: 2n ** 62n },
]

describe('hostile strings', () => {
  const watchdog = startWatchdog()
  after(() => watchdog.stop())
  const runs = fuzz(0.5)

  it(`${runs.numRuns} of them: none throws, hangs or points outside itself`, async () => {
    await inBatches(runs, (generator, parameters) => {
      const property = fc.property(mutatedText(), ({ text }) => {
        const slow = watchdog.watch(text, () => examine(text, generator))
        assert.equal(slow, undefined)
      })
      assertProperty('cel-text', property, parameters)
    })
  })

  it(`all ${SEEDS.length} expressions of cel-spec and cel-go's tests as they are`, async () => {
    await inBatches({ numRuns: SEEDS.length, seed: 0 }, (generator, { numRuns, seed }) => {
      for (const text of SEEDS.slice(seed, seed + numRuns)) {
        assert.equal(
          watchdog.watch(text, () => examine(text, generator)),
          undefined,
          text,
        )
      }
    })
  })
})

function examine(text: string, generator: Generator): void {
  const { expr, problem } = parse(text)
  assert.notEqual(expr === undefined, problem === undefined, 'a tree or a problem, not both')
  if (problem !== undefined) inside(text, problem.start, problem.end)
  if (expr !== undefined) inside(text, expr.start, expr.end)
  for (const check of [true, false]) {
    const { expression, diagnostics } = compile(text, ENVIRONMENT, { check, backend: 'closures' })
    const failed = diagnostics.some(({ severity }) => severity === 'error')
    assert.equal(failed, expression === undefined, 'an expression or an error, not both')
    for (const diagnostic of diagnostics) wellFormed(text, diagnostic)
    if (expression === undefined) continue
    for (const variables of VALUES) {
      assert.equal(runAllModes(expression, generator, variables).disagreement, undefined)
    }
  }
}

function wellFormed(text: string, { code, message, excerpt }: Diagnostic): void {
  assert.match(code, /^PC\d{4}$/)
  assert.notEqual(message, '')
  assert.ok(message.isWellFormed(), 'a message that can be written as UTF-8')
  assert.equal(excerpt?.text, text)
  if (excerpt !== undefined) inside(text, excerpt.start, excerpt.end)
}

function inside(text: string, start: number, end: number): void {
  assert.ok(start >= 0 && start <= end && end <= text.length, `${start}..${end} of ${text.length}`)
}
