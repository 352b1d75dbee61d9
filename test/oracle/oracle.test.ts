import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compile, type Environment, environment, type Variables } from '../../src/cel/index.ts'
import { canonicalType } from '../conformance/canonical.ts'
import { inBatches, runAllModes } from '../fuzz/all-modes.ts'
import { anyExpression } from '../fuzz/cel-expressions.ts'
import { anyBindings, literal, VARIABLES } from '../fuzz/cel-values.ts'
import { CEL_GO, type Difference, knownDifference } from '../fuzz/known-differences.ts'
import { fuzz } from '../fuzz/runs.ts'
import { buildGo } from './build-go.ts'
import { EXTENSION_CASES } from './extension-cases.ts'
import { EXTENSION_DIFFERENCES } from './known-differences.ts'
import { NETWORK_CASES } from './network-cases.ts'
import { networkExpression } from './network-texts.ts'
import { askOracle, type Question } from './oracle.ts'

const built = buildGo(new URL('go/', import.meta.url), 'cel-go-oracle')
const skip = 'missing' in built ? built.missing : false

interface Case {
  readonly question: Question
  readonly variables: Variables
}

const EMPTY = environment({ name: 'oracle' })

describe('cel-go as the oracle', { skip }, () => {
  it(`${EXTENSION_CASES.length} expressions over the libraries that both have`, async () => {
    const met = await compare(EMPTY, EXTENSION_CASES.map(bare), EXTENSION_DIFFERENCES)
    const gone = EXTENSION_DIFFERENCES.filter((difference) => !met.has(difference))
    assert.deepEqual(gone, [], 'differences that are no more')
  })

  it(`${NETWORK_CASES.length} addresses and networks of the table`, async () => {
    await compare(
      EMPTY,
      NETWORK_CASES.map(([expression]) => bare(expression)),
      EXTENSION_DIFFERENCES,
    )
  })

  it('the table lists what cel-go returns', () => {
    assert.ok('program' in built)
    const questions = NETWORK_CASES.map(([expr]) => ({ expr }))
    const responses = askOracle(built.program, questions).map(({ result }) => result)
    const rows = NETWORK_CASES.map(([expression], i) => [expression, responses[i]])
    assert.deepEqual(NETWORK_CASES, rows)
  })

  const texts = fuzz(0.4)
  it(`${texts.numRuns} generated addresses and networks`, async () => {
    const sample = fc.sample(networkExpression(), texts)
    await compare(EMPTY, sample.map(bare), EXTENSION_DIFFERENCES)
  })

  const runs = fuzz(1)
  it(`${runs.numRuns} generated expressions with variables`, async () => {
    const declared = Object.entries(VARIABLES)
    const variables = declared.map(([name, { type }]) => ({ name, type, set: 'always', doc: '' }))
    const env = Object.fromEntries(declared.map(([name, { type }]) => [name, canonicalType(type)]))
    const cases = fc.sample(fc.tuple(anyExpression(), anyBindings()), runs).map(([expr, given]) => {
      const vars = Object.entries(given).map(([name, value]) => [name, literal(value)])
      return { question: { expr, env, vars: Object.fromEntries(vars) }, variables: given }
    })
    await compare(environment({ name: 'oracle', variables }), cases, CEL_GO)
  })
})

function bare(expr: string): Case {
  return { question: { expr }, variables: {} }
}

/** Fails with all unknown differences; returns the known differences that occurred. */
async function compare(
  env: Environment,
  cases: readonly Case[],
  known: readonly Difference[],
): Promise<ReadonlySet<Difference>> {
  assert.ok('program' in built)
  const responses = askOracle(
    built.program,
    cases.map(({ question }) => question),
  )
  const met = new Set<Difference>()
  const differences: string[] = []
  await inBatches({ numRuns: cases.length, seed: 0 }, (generator, { numRuns, seed }) => {
    for (const [i, { question, variables }] of cases.slice(seed, seed + numRuns).entries()) {
      const { expr } = question
      const response = responses[seed + i]
      const { expression, diagnostics } = compile(expr, env, { backend: 'closures' })
      const reason = diagnostics.find(({ severity }) => severity === 'error')
      // Generated expressions may be rejected for their cost, or for a part that always fails.
      const isGenerated = question.env !== undefined
      if (isGenerated && (reason?.code === 'PC0112' || reason?.code === 'PC0113')) continue
      const verdict =
        expression === undefined
          ? { result: 'error', disagreement: undefined }
          : runAllModes(expression, generator, variables)
      if (verdict.disagreement !== undefined) differences.push(`${expr}: ${verdict.disagreement}`)
      if (verdict.result === response?.result) continue
      const difference = knownDifference(known, expr)
      if (difference !== undefined) {
        met.add(difference)
        continue
      }
      const ours = reason === undefined ? '' : ` (${reason.code} ${reason.message})`
      const theirs =
        response?.message === undefined ? '' : ` (${response.stage}: ${response.message})`
      differences.push(`${expr}: ${verdict.result}${ours}, but cel-go ${response?.result}${theirs}`)
    }
  })
  assert.deepEqual(differences, [])
  return met
}
