import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compile, environment } from '../../src/cel/index.ts'
import { canonical } from '../conformance/canonical.ts'
import { inBatches, runAllModes } from './all-modes.ts'
import { assertProperty } from './assert-property.ts'
import { anyExpression, anyOwnExpression } from './cel-expressions.ts'
import { anyBindings, literal, VARIABLES } from './cel-values.ts'
import { BUFBUILD, knownDifference } from './known-differences.ts'
import { runPeer } from './peer.ts'
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

describe('well-typed expressions', () => {
  const runs = fuzz(0.4)

  it(`${runs.numRuns} of them: all modes agree with each other and with @bufbuild/cel`, async () => {
    let agreed = 0
    let known = 0
    let rejected = 0
    await inBatches(runs, (generator, parameters) => {
      const property = fc.property(anyExpression(), anyBindings(), (text, bindings) => {
        const { expression, diagnostics } = compile(text, ENVIRONMENT, { backend: 'closures' })
        if (expression === undefined) {
          // Expressions that always fail or may cost too much are rejected at load time.
          const errors = diagnostics.filter(({ severity }) => severity === 'error')
          assert.deepEqual(
            errors.filter(({ code }) => code !== 'PC0112' && code !== 'PC0113'),
            [],
          )
          rejected++
          return
        }
        const { result, disagreement } = runAllModes(expression, generator, bindings)
        assert.equal(disagreement, undefined, context(bindings))
        const peer = runPeer(text, bindings)
        if (peer === result) agreed++
        else if (knownDifference(BUFBUILD, text) !== undefined) known++
        else assert.equal(result, peer, context(bindings))
      })
      assertProperty('cel-differential', property, parameters)
    })
    const share = (count: number) => count / (agreed + known + rejected)
    assert.ok(share(known) < 0.08, `${known} known differences hide too much`)
    assert.ok(share(rejected) < 0.08, `${rejected} were refused`)
  })

  const own = fuzz(0.3)

  it(`${own.numRuns} with forms that no other CEL has: all modes agree`, async () => {
    let evaluated = 0
    let checked = 0
    await inBatches(own, (generator, parameters) => {
      const property = fc.property(anyOwnExpression(), anyBindings(), (text, bindings) => {
        const { expression } = compile(text, ENVIRONMENT, { backend: 'closures' })
        if (expression === undefined) return
        checked++
        const { result, disagreement } = runAllModes(expression, generator, bindings)
        assert.equal(disagreement, undefined, context(bindings))
        if (result !== 'error') evaluated++
        // Without static types, the result depends on the values alone and must be the same.
        const plain = compile(text, ENVIRONMENT, { backend: 'closures', check: false }).expression
        assert.equal(canonical(plain?.evaluate()(bindings)), result, context(bindings))
      })
      assertProperty('cel-differential-own', property, parameters)
    })
    assert.ok(evaluated > checked / 4, `only ${evaluated} of ${checked} came to a value`)
  })
})

function context(bindings: Parameters<typeof runPeer>[1]): string {
  return Object.entries(bindings)
    .map(([name, value]) => `${name} = ${literal(value)}`)
    .join('\n')
}
