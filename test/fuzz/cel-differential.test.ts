import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compile, environment } from '../../src/cel/index.ts'
import { inBatches, runAllModes } from './all-modes.ts'
import { anyExpression } from './cel-expressions.ts'
import { anyBindings, literal, VARIABLES } from './cel-values.ts'
import { knownDifference } from './known-differences.ts'
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
    await inBatches(runs, (generator, parameters) => {
      const property = fc.property(anyExpression(), anyBindings(), (text, bindings) => {
        const { expression, diagnostics } = compile(text, ENVIRONMENT, { backend: 'closures' })
        if (expression === undefined) {
          // What always fails is refused when it is loaded, wherever it stands in the expression.
          assert.deepEqual(
            diagnostics.filter(({ code }) => code !== 'PC0112'),
            [],
          )
          return
        }
        const { result, disagreement } = runAllModes(expression, generator, bindings)
        assert.equal(disagreement, undefined, context(bindings))
        const peer = runPeer(text, bindings)
        if (peer === result || knownDifference(text, result, peer) !== undefined) return
        assert.equal(result, peer, context(bindings))
      })
      fc.assert(property, parameters)
    })
  })
})

function context(bindings: Parameters<typeof runPeer>[1]): string {
  return Object.entries(bindings)
    .map(([name, value]) => `${name} = ${literal(value)}`)
    .join('\n')
}
