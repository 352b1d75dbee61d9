import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compile, environment } from '../../src/cel/index.ts'
import { canonical } from '../conformance/canonical.ts'
import { inBatches, runAllModes } from './all-modes.ts'
import { assertProperty } from './assert-property.ts'
import { anyGenericCall } from './cel-expressions.ts'
import { anyBindings, literal, VARIABLES } from './cel-values.ts'
import { fuzz } from './runs.ts'

const ENVIRONMENT = environment({
  name: 'fuzz',
  variables: Object.entries(VARIABLES).map(([name, { type }]) => ({
    name,
    type,
    set: name === 'unset' ? 'never' : 'always',
    doc: '',
  })),
})

describe('generic calls on values of unknown type', () => {
  const runs = fuzz(0.4)

  it(`${runs.numRuns} of them: all modes agree, and types take nothing away`, async () => {
    let evaluated = 0
    let checked = 0
    await inBatches(runs, (generator, parameters) => {
      const property = fc.property(anyGenericCall(), anyBindings(), (text, bindings) => {
        const { expression } = compile(text, ENVIRONMENT, { backend: 'closures' })
        if (expression === undefined) return
        checked++
        const { result, disagreement } = runAllModes(expression, generator, bindings)
        assert.equal(disagreement, undefined, context(text, bindings))
        // Without type checks, the values select the overload at run time.
        const plain = compile(text, ENVIRONMENT, { backend: 'closures', check: false }).expression
        const wanted = canonical(plain?.evaluate()(bindings))
        if (result !== 'error') evaluated++
        assert.equal(result, wanted, context(text, bindings))
      })
      assertProperty('cel-generic-calls', property, parameters)
    })
    assert.ok(evaluated > checked / 8, `only ${evaluated} of ${checked} came to a value`)
  })
})

function context(text: string, bindings: Readonly<Record<string, Parameters<typeof literal>[0]>>) {
  const values = Object.entries(bindings).map(([name, value]) => `${name} = ${literal(value)}`)
  return [text, ...values].join('\n')
}
