import { DYN, type Type } from '../../src/cel/check/types.ts'
import { compile, type Environment, type Expression, environment } from '../../src/cel/index.ts'
import { canonical, canonicalType } from './canonical.ts'
import type { SpecTest } from './cel-spec.ts'
import { BATCH, freshGenerator, type Generator } from './generator.ts'

/**
 * Every way to evaluate an expression, then the type that the checker deduces, compared with the
 * type in the test and with the type that cel-go deduces. The deduced type may be less precise than
 * cel-go's (`dyn`) but must not contradict it.
 */
export const MODES = [
  'value, generated',
  'predicate, generated',
  'value, closures',
  'predicate, closures',
  'explain',
  'type',
  'type of cel-go',
] as const

export type Mode = (typeof MODES)[number]

export interface Outcome {
  readonly test: SpecTest
  /** Undefined if the mode passed. Modes that do not apply to the test are absent. */
  readonly modes: ReadonlyMap<Mode, string | undefined>
  /**
   * The code of the diagnostic that reports at compile time what cel-go finds only during
   * evaluation.
   */
  readonly rejected: string | undefined
}

export async function runSpecTests(tests: readonly SpecTest[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (let from = 0; from < tests.length; from += BATCH) {
    const generator = await freshGenerator()
    const batch = tests.slice(from, from + BATCH)
    outcomes.push(...batch.map((test) => runSpecTest(test, generator)))
  }
  return outcomes
}

function runSpecTest(test: SpecTest, generator: Generator): Outcome {
  const { expression, problem, code } = prepare(test)
  const modes = new Map<Mode, string | undefined>()
  const compare = (mode: Mode, expected: string, run: (expression: Expression) => string) => {
    const got = expression === undefined ? 'error' : attempt(() => run(expression))
    const why = problem === undefined ? '' : ` (${problem})`
    modes.set(mode, got === expected ? undefined : `expected ${expected}, got ${got}${why}`)
  }
  if (!test.checkOnly) {
    const { bindings } = test
    const wanted = test.expected.kind === 'value' ? canonical(test.expected.value) : 'error'
    // If nothing compiled, there is no predicate to run, so it has the same outcome as the value.
    const truth = expression === undefined ? wanted : String(wanted === 'true')
    const { evaluate, predicate } = generator
    compare('value, generated', wanted, (e) => canonical(evaluate(e)(bindings)))
    compare('value, closures', wanted, (e) => canonical(e.evaluate()(bindings)))
    compare('predicate, generated', truth, (e) => String(predicate(e)(bindings)))
    compare('predicate, closures', truth, (e) => String(e.predicate()(bindings)))
    compare('explain', wanted, (e) => canonical(e.explain(bindings).value))
  }
  const rejection = expression === undefined && test.expected.kind === 'error' ? code : undefined
  const { type } = test.expected
  if (type !== undefined) compare('type', canonicalType(type), (e) => canonicalType(e.type))
  // cel-go writes `type` for the type of an unknown type.
  const theirs = test.reference.type?.replaceAll(/\btype\b(?!\()/g, 'type(dyn)')
  if (!test.checked || theirs === undefined) return { test, modes, rejected: undefined }
  // If the test specifies the type itself, the test takes precedence.
  if (rejection === undefined && type === undefined)
    compare('type of cel-go', theirs, (e) => generalised(e.type, theirs))
  return { test, modes, rejected: rejection }
}

/** Returns `theirs` if our type is the same or only less precise, otherwise our type. */
function generalised(type: Type, theirs: string): string {
  const ours = canonicalType(type)
  const pattern = RegExp.escape(ours).replaceAll(/(?<!\w)(?:dyn|\\x64yn)(?!\w)/g, '.+')
  return new RegExp(`^${pattern}$`).test(theirs) ? theirs : ours
}

interface Prepared {
  readonly expression: Expression | undefined
  readonly problem?: string
  readonly code?: string
}

function prepare(test: SpecTest): Prepared {
  try {
    const options = { backend: 'closures', check: test.checked } as const
    const { expression, diagnostics } = compile(test.expression, environmentOf(test), options)
    const error = diagnostics.find((diagnostic) => diagnostic.severity === 'error')
    if ((error === undefined) !== (expression !== undefined)) {
      return { expression: undefined, problem: 'an expression and an error, or neither' }
    }
    if (error === undefined) return { expression }
    return { expression, problem: `${error.code} ${error.message}`, code: error.code }
  } catch (thrown) {
    return { expression: undefined, problem: `compile threw ${thrown}`, code: 'threw' }
  }
}

function attempt(run: () => string): string {
  try {
    return run()
  } catch (thrown) {
    return `an exception: ${thrown instanceof Error ? thrown.stack : thrown}`
  }
}

const environments = new Map<string, Environment>()

function environmentOf(test: SpecTest): Environment {
  const key = JSON.stringify([test.container, test.checked, [...test.variables], test.functions])
  let env = environments.get(key)
  if (env === undefined) {
    env = environment({
      name: 'cel-spec',
      container: test.container,
      variables: [...test.variables].map(([name, type]) =>
        declare(name, test.checked ? type : DYN),
      ),
      functions: [...test.functions],
    })
    environments.set(key, env)
  }
  return env
}

function declare(name: string, type: Type) {
  return { name, type, set: 'always', doc: '' }
}
