import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Diagnostic, Severity } from './diagnostic.ts'
import { collector } from './report.ts'
import { all, andThen, hasErrors, rejection, success } from './result.ts'

function at(line: number, severity: Severity = 'error', message = `line ${line}`): Diagnostic {
  const origin = { kind: 'file', file: 'a.yaml', line, column: 1 } as const
  return { code: 'PC0101', severity, message, origin }
}

const messages = (diagnostics: readonly Diagnostic[]) => diagnostics.map((d) => d.message)

describe('a result', () => {
  it('continues if there is a value, with the diagnostics of both stages', () => {
    const result = andThen(success(2, [at(1, 'warning')]), (n) => success(n + 1, [at(2, 'error')]))
    assert.deepEqual(result, { value: 3, diagnostics: [at(1, 'warning'), at(2, 'error')] })
  })

  it('stops if there is none', () => {
    const stop = () => assert.fail('must not be called')
    assert.deepEqual(andThen(rejection([at(1)]), stop), rejection([at(1)]))
  })

  it('keeps the diagnostics of the first stage when the second rejects', () => {
    const result = andThen(success(1, [at(1, 'info')]), () => rejection([at(2)]))
    assert.deepEqual(result, rejection([at(1, 'info'), at(2)]))
  })

  it('of several is a list, with null and false as values', () => {
    assert.deepEqual(all([success(null), success(false, [at(1, 'info')])]), {
      value: [null, false],
      diagnostics: [at(1, 'info')],
    })
  })

  it('of several reports all errors, not only the first', () => {
    const result = all([rejection([at(1)]), success(1), rejection([at(2)])])
    assert.equal(result.value, undefined)
    assert.deepEqual(messages(result.diagnostics), ['line 1', 'line 2'])
  })

  it('without a value requires a reason', () => {
    assert.throws(() => rejection([at(1, 'warning')]), /must say why/)
  })

  for (const [severity, expected] of [
    ['error', true],
    ['warning', false],
    ['info', false],
  ] as const) {
    it(`${severity}: hasErrors is ${expected}`, () => {
      assert.equal(hasErrors([at(1, severity)]), expected)
    })
  }
})

describe('a collector', () => {
  it('sorts by place and drops duplicates', () => {
    const { report, diagnostics } = collector()
    for (const line of [3, 1, 2, 1]) report(at(line))
    assert.deepEqual(messages(diagnostics()), ['line 1', 'line 2', 'line 3'])
  })

  it('keeps the order of objects, after files', () => {
    const { report, diagnostics } = collector()
    const inObject = (field: string): Diagnostic => ({
      ...at(0, 'error', field),
      origin: { kind: 'object', object: 'ProxyPolicy a/b', field },
    })
    for (const diagnostic of [inObject('z'), inObject('a'), at(1)]) report(diagnostic)
    assert.deepEqual(messages(diagnostics()), ['line 1', 'z', 'a'])
  })

  it('keeps no more than its limit, errors before warnings, and reports what is omitted', () => {
    const collected = collector(3)
    for (const line of [1, 2, 3]) collected.report(at(line, 'warning'))
    for (const line of [4, 5, 6, 7]) collected.report(at(line))
    collected.report(at(8, 'warning'))
    assert.deepEqual(messages(collected.diagnostics()), [
      'line 4',
      'line 5',
      'line 6',
      '5 more messages were omitted',
    ])
    assert.equal(collected.hasErrors(), true)
  })

  it('returns a value with its diagnostics, or the reason why there is none', () => {
    const { report, result, hasErrors } = collector()
    assert.equal(hasErrors(), false)
    assert.throws(() => result(undefined), /must say why/)
    report(at(1))
    assert.deepEqual(result('model'), { value: 'model', diagnostics: [at(1)] })
    assert.deepEqual(result(undefined), { value: undefined, diagnostics: [at(1)] })
  })
})
