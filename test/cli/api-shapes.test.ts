import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type * as z from 'zod'
import type {
  decisionRecord,
  diagnosticSchema,
  diffReport,
  effectiveReport,
  explainReport,
  replayReport,
  suggestReport,
  testReport,
} from '../../src/admin/api/reports.ts'
import type { Replay } from '../../src/analysis/decisions/replay.ts'
import type { SemanticDiff } from '../../src/analysis/diff/difference.ts'
import type { Suggestions } from '../../src/analysis/suggest/suggest.ts'
import type { Explained } from '../../src/cli/explanation.ts'
import type { SuiteResult } from '../../src/cli/suite/run-suite.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import type { Located } from '../../src/diagnostics/places.ts'
import type { Effective } from '../../src/program/effective.ts'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'

/** The output of a schema, deeply read-only like the commands' own types. */
type Said<S extends z.ZodType> = Frozen<z.output<S>>
type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T as string extends Key ? never : Key]: Frozen<T[Key]> }
    : T

/** Whatever is shown is located. */
type Shown = Omit<Diagnostic, 'origin'> & { readonly origin: Located }
type ShownSuite = Omit<SuiteResult, 'diagnostics'> & { readonly diagnostics: readonly Shown[] }

/**
 * The API's response schemas must match the outputs of the commands: the compiler compares the
 * types.
 */
const SAID = {
  diagnostic: (one: Shown): Said<typeof diagnosticSchema> => one,
  effective: (one: Effective): Said<typeof effectiveReport> => one,
  explain: (one: Explained): Said<typeof explainReport> => one,
  diff: (one: SemanticDiff): Said<typeof diffReport> => one,
  replay: (one: Replay & { readonly notRead: number }): Said<typeof replayReport> => one,
  suggest: (one: Suggestions): Said<typeof suggestReport> => one,
  suite: (one: ShownSuite): Said<typeof testReport>['suites'][number] => one,
  decision: (one: DecisionRecord): Said<typeof decisionRecord> => one,
}

describe('reports of the admin API', () => {
  it('match the types of the commands', () => {
    assert.equal(Object.keys(SAID).length, 8)
  })
})
