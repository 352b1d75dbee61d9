import own from '../../package.json' with { type: 'json' }
import { renderSarif } from '../diagnostics/render-sarif.ts'
import { defineCommand } from './define.ts'
import { FILES, FORMAT, filesOf, formatOf, readArgs } from './read-args.ts'
import { readSuite } from './suite/read.ts'
import { exitCodeOf, renderResults, renderResultsJson } from './suite/render.ts'
import { invariantDiagnostics } from './suite/render-invariants.ts'
import { notRun, runSuite, type SuiteResult } from './suite/run-suite.ts'
import { writeJunit } from './suite/write-junit.ts'

export const proveCommand = defineCommand({
  name: 'prove',
  summary: 'prove or refute the invariants of test files for every possible request',
  mayTakeLong: true,
  help: `portcullis prove FILE... [--format text|json|sarif] [--junit FILE] [--allow-not-known]

Each FILE (YAML) specifies a configuration and invariants: CEL expressions that must be
true for every admitted request. Each invariant is reported as

  proven      no request can break it
  refuted     with a request that breaks it, evaluated with the configuration
  not known   with the part of the configuration that prevents a proof

Nothing is served. \`portcullis test\` does the same and also sends the requests in the file.

  --format text       text output (default)
  --format json       all results as one object; short form: --json
  --format sarif      SARIF 2.1.0, for code hosts and editors
  --junit FILE        also write the results as JUnit XML
  --allow-not-known   do not fail on invariants that are neither proven nor refuted

Exit code: 0 if all invariants are proven; 1 if one is refuted or a file cannot be used; 2 for a
usage error; 3 if none is refuted, but some are not known.`,
  run: async (args, terminal) => {
    const read = parse(args)
    const { values } = read
    const files = filesOf(read, 'specify at least one test file')
    const format = formatOf(values, ['text', 'json', 'sarif'])
    const results: SuiteResult[] = []
    for (const file of files) results.push(await proveFile(file, terminal, values))
    if (format === 'json') terminal.out(`${renderResultsJson(results)}\n`)
    else if (format === 'sarif') terminal.out(`${renderSarif(said(results), own.version)}\n`)
    else terminal.out(renderResults(results, terminal))
    const isWritten = values.junit === undefined || writeJunit(values.junit, results, terminal)
    return exitCodeOf(results, !isWritten)
  },
})

async function proveFile(
  file: string,
  { environment }: Parameters<typeof proveCommand.run>[1],
  values: ReturnType<typeof parse>['values'],
): Promise<SuiteResult> {
  const { value: suite, diagnostics } = readSuite(file)
  if (suite === undefined) return notRun(file, diagnostics)
  if (suite.invariants.length === 0) {
    const origin = { kind: 'file', file, line: 1, column: 1 } as const
    const message = 'the file has no `invariants`'
    return notRun(file, [{ code: 'PC0602', severity: 'error', message, origin }])
  }
  const allowsNotKnown = values['allow-not-known'] === true
  return runSuite(suite, file, { environment, onlyInvariants: true, allowsNotKnown })
}

function said(results: readonly SuiteResult[]) {
  return results.flatMap(({ diagnostics, invariants }) => [
    ...diagnostics,
    ...invariants.flatMap(invariantDiagnostics),
  ])
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...FILES,
      ...FORMAT,
      junit: { type: 'string' },
      'allow-not-known': { type: 'boolean' },
    },
  })
}
