import type { Expression, Variables } from '../../src/cel/index.ts'
import { canonical } from '../conformance/canonical.ts'
import { BATCH, freshGenerator, type Generator } from '../conformance/generator.ts'

export interface Verdict {
  /** The value in the format of `canonical`. */
  readonly result: string
  /** Describes how the modes disagree, if they do. */
  readonly disagreement: string | undefined
}

/** Runs an expression that was compiled with closures in every mode. */
export function runAllModes(
  expression: Expression,
  generator: Generator,
  variables: Variables,
): Verdict {
  const result = canonical(generator.evaluate(expression)(variables))
  const truth = String(result === 'true')
  const found = {
    closures: canonical(expression.evaluate()(variables)),
    explain: canonical(expression.explain(variables).value),
    'predicate, generated': String(generator.predicate(expression)(variables)),
    'predicate, closures': String(expression.predicate()(variables)),
  }
  for (const [mode, got] of Object.entries(found)) {
    const wanted = mode.startsWith('predicate') ? truth : result
    if (got !== wanted) {
      return { result, disagreement: `${mode} says ${got}, the value is ${result}` }
    }
  }
  return { result, disagreement: undefined }
}

/** Splits the runs into batches of a size that one generator can handle, each with its own seed. */
export async function inBatches(
  { numRuns, seed }: { readonly numRuns: number; readonly seed: number },
  run: (generator: Generator, parameters: { numRuns: number; seed: number }) => void,
): Promise<void> {
  for (let done = 0; done < numRuns; done += BATCH) {
    const parameters = { numRuns: Math.min(BATCH, numRuns - done), seed: seed + done }
    run(await freshGenerator(), parameters)
  }
}
