import type {
  generatedSource,
  generateEvaluate,
  generatePredicate,
} from '../../src/cel/emit/generate.ts'
import type { Expression } from '../../src/cel/index.ts'

interface Generate {
  readonly generatedSource: typeof generatedSource
  readonly generateEvaluate: typeof generateEvaluate
  readonly generatePredicate: typeof generatePredicate
}

/** Code generation that never silently falls back to closures. */
export interface Generator {
  readonly predicate: (expression: Expression) => ReturnType<Expression['predicate']>
  readonly evaluate: (expression: Expression) => ReturnType<Expression['evaluate']>
  readonly source: (expression: Expression) => string
}

/**
 * Expressions per generator: each expression needs up to four of the 2,000 functions that a
 * generator keeps.
 */
export const BATCH = 450

let instances = 0

/**
 * Loads a separate instance of the generator. The shared instance creates a limited number of
 * functions and then falls back to closures, which this test would then run instead of generated
 * code.
 */
export async function freshGenerator(): Promise<Generator> {
  const module: Generate = await import(`../../src/cel/emit/generate.ts?instance=${instances++}`)
  const made = <T>(code: T | undefined): T => {
    if (code === undefined) throw new Error('no code was generated')
    return code
  }
  return {
    predicate: (of) => made(module.generatePredicate(of.term, of.budget)),
    evaluate: (of) => made(module.generateEvaluate(of.term, of.budget)),
    source: (of) => module.generatedSource(of.term),
  }
}
