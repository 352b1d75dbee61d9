import { writeFileSync } from 'node:fs'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { readArgs } from './read-args.ts'
import { readSuite } from './suite/read.ts'
import { countCases, renderJunit, renderResults, renderResultsJson } from './suite/render.ts'
import { runSuite, type SuiteResult } from './suite/run-suite.ts'

export const testPolicies = defineCommand({
  name: 'test',
  summary: 'run cases against a configuration: requests, and what is to become of them',
  help: `portcullis test FILE... [--json] [--junit FILE] [--fail-on-uncovered]

Each FILE (YAML) names a configuration and lists requests with what is expected of
them. The configuration is served on free ports with stand-ins for its backends and
keys of the run for its issuers, and the requests are sent over real connections.
See docs/reference/test-files.md.

  --json               for programs: all results as one object
  --junit FILE         also write the results as JUnit XML
  --fail-on-uncovered  fail where a rule decided nothing

Exit code: 0 where all cases pass, 1 where one does not, 2 where the command is not
understood.`,
  run: async (args, terminal) => {
    const { values, positionals } = parse(args)
    if (positionals.length === 0) throw new UsageError('name a file of cases')
    const results: SuiteResult[] = []
    for (const file of positionals) {
      const { value: suite, diagnostics } = readSuite(file)
      results.push(
        suite === undefined
          ? { file, name: file, cases: [], coverage: [], diagnostics }
          : await runSuite(suite, file, terminal.environment),
      )
    }
    if (values.json === true) terminal.out(`${renderResultsJson(results)}\n`)
    else terminal.out(renderResults(results, terminal))
    const isWritten = values.junit === undefined || write(values.junit, results, terminal)
    const { failed, notRun, uncovered } = countCases(results)
    const isUncovered = values['fail-on-uncovered'] === true && uncovered > 0
    return failed + notRun > 0 || isUncovered || !isWritten ? 1 : 0
  },
})

/** Whoever waits for the file must not take its absence for success. */
function write(file: string, results: readonly SuiteResult[], { err }: Terminal): boolean {
  try {
    writeFileSync(file, renderJunit(results))
    return true
  } catch (error) {
    err(`portcullis test: the results cannot be written: ${(error as Error).message}\n`)
    return false
  }
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      junit: { type: 'string' },
      'fail-on-uncovered': { type: 'boolean' },
    },
  })
}
