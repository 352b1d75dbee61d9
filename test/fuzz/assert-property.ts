import fc from 'fast-check'
import { corpusOf, type Entry, entryOf, recordFind } from '../corpus/corpus.ts'
import { fromStored } from '../corpus/values.ts'
import type { Runs } from './runs.ts'

interface PropertyRuns<Ts> extends Runs {
  /** Inputs besides those of the corpus that always run. */
  readonly examples?: Ts[]
  readonly endOnFailure?: boolean
}

/** One call of fast-check: the corpus comes first, so that paths of drawn inputs do not count it. */
interface Step<Ts> {
  readonly parameters: fc.Parameters<Ts>
  readonly isDrawn: boolean
}

/**
 * `fc.assert` for a property with a name: also runs the inputs that the corpus has under this name,
 * and records the smallest counterexample.
 */
export function assertProperty<Ts>(
  name: string,
  property: fc.IAsyncProperty<Ts>,
  runs: PropertyRuns<Ts>,
): Promise<void>
export function assertProperty<Ts>(
  name: string,
  property: fc.IProperty<Ts>,
  runs: PropertyRuns<Ts>,
): void
export function assertProperty<Ts>(
  name: string,
  property: fc.IAsyncProperty<Ts> | fc.IProperty<Ts>,
  runs: PropertyRuns<Ts>,
): Promise<void> | void {
  const all = stepsOf(name, runs)
  if (property.isAsync()) return assertAll(name, property as fc.IAsyncProperty<Ts>, all)
  for (const step of all) {
    report(name, fc.check(property as fc.IProperty<Ts>, step.parameters), step)
  }
}

async function assertAll<Ts>(
  name: string,
  property: fc.IAsyncProperty<Ts>,
  all: readonly Step<Ts>[],
): Promise<void> {
  for (const step of all) report(name, await fc.check(property, step.parameters), step)
}

function stepsOf<Ts>(
  name: string,
  { numRuns, seed, examples: others = [], endOnFailure = false }: PropertyRuns<Ts>,
): Step<Ts>[] {
  const entries = corpusOf(name)
  const stored = entries.flatMap(({ input }) => (input === undefined ? [] : [input]))
  const examples = [...others, ...stored.map((input) => input.map(fromStored) as Ts)]
  const drawn = entries.filter(({ input }) => input === undefined)
  const corpus: fc.Parameters<Ts>[] = drawn.map(again)
  if (examples.length > 0) corpus.unshift({ numRuns: examples.length, seed, examples })
  return [
    ...corpus.map((parameters) => ({ parameters, isDrawn: false })),
    { parameters: { numRuns, seed, endOnFailure }, isDrawn: true },
  ]
}

function again({ seed, path }: Entry) {
  const own = path === undefined ? {} : { path, endOnFailure: true }
  return { numRuns: 1, ...(seed === undefined ? {} : { seed }), ...own }
}

function report<Ts>(name: string, details: fc.RunDetails<Ts>, { isDrawn }: Step<Ts>): void {
  if (!details.failed) return
  const { counterexample, counterexamplePath: path, seed, errorInstance } = details
  if (isDrawn && counterexample !== null && path !== null) {
    const error = String((errorInstance as Error | null)?.message ?? errorInstance)
    const note = `seed ${seed}: ${error.slice(0, 200)}`
    const input = counterexample as readonly unknown[]
    recordFind({ name, entry: entryOf(input, { seed, path }, note), error })
  }
  const where = isDrawn ? 'drawn' : 'of the corpus'
  const message = fc.defaultReportMessage(details)
  throw new Error(`${name}, an input ${where}: ${message}`, { cause: errorInstance })
}

/**
 * Runs a test that draws from numbers of its own: once for each seed of the corpus, and for
 * `numRuns` seeds from `seed` on.
 */
export async function assertSeeds(
  name: string,
  { numRuns, seed: first }: Runs,
  test: (seed: number, run: number) => unknown,
): Promise<void> {
  const stored = corpusOf(name).flatMap(({ seed }) => (seed === undefined ? [] : [seed]))
  for (const [run, seed] of stored.entries()) await test(seed, numRuns + run)
  for (let run = 0; run < numRuns; run++) {
    const seed = first + run
    try {
      await test(seed, run)
    } catch (thrown) {
      const error = String((thrown as Error | undefined)?.message ?? thrown)
      recordFind({ name, entry: { note: `found: ${error.slice(0, 200)}`, seed }, error })
      throw thrown
    }
  }
}
