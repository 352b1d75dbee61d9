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

/** Code generation that never quietly falls back to closures. */
export interface Generator {
  readonly predicate: (expression: Expression) => ReturnType<Expression['predicate']>
  readonly evaluate: (expression: Expression) => ReturnType<Expression['evaluate']>
  readonly source: (expression: Expression) => string
}

/** Texts that one generator takes: each makes up to four functions, of the 2,000 it keeps. */
export const BATCH = 450

let instances = 0

/**
 * An instance of the generator of its own. The product's makes a bounded number of functions and
 * then falls back to closures, which would be tested here in the place of generated code.
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
