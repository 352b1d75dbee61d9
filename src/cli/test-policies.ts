import type { Environment } from '../sources/file/expand.ts'
import { readDocument } from '../sources/file/read.ts'
import { fetchAnalysis } from './admin-client.ts'
import { defineCommand } from './define.ts'
import { ADMIN, FILES, FORMAT, filesOf, formatOf, readArgs } from './read-args.ts'
import { readText } from './read-text.ts'
import { readSuite } from './suite/read.ts'
import { countCases, exitCodeOf, renderResults, renderResultsJson } from './suite/render.ts'
import { notRun, runSuite, type SuiteResult } from './suite/run-suite.ts'
import { writeJunit } from './suite/write-junit.ts'

export const testPolicies = defineCommand({
  name: 'test',
  summary: 'run test files: requests and their expected outcomes, and invariants',
  mayTakeLong: true,
  help: `portcullis test FILE... [--format text|json] [--junit FILE] [--fail-on-uncovered]
                [--allow-not-known] [--admin URL]

Each FILE (YAML) specifies a configuration, requests with their expected outcomes, and
invariants that must hold for all requests. The configuration is served on free ports, with
test backends and with keys generated for its issuers, and the requests are sent over real
connections. Invariants are proven: see \`portcullis prove --help\`.
See docs/reference/test-files.md.

  --admin URL          test the configuration of a running gateway instead of the one that
                       FILE specifies. The gateway runs the cases on separate ports; sends
                       the token in PORTCULLIS_ADMIN_TOKEN
  --format json        all results as one object; short form: --json
  --junit FILE         also write the results as JUnit XML
  --fail-on-uncovered  fail if a rule decided no request
  --allow-not-known    do not fail on invariants that are neither proven nor refuted

Exit code: 0 if all cases pass and all invariants are proven; 1 if a case fails, an invariant
is refuted or a file cannot be used; 2 for a usage error; 3 if nothing fails, but invariants
are not known.`,
  run: async (args, terminal) => {
    const read = parse(args)
    const { values } = read
    const format = formatOf(values, ['text', 'json'])
    const results: SuiteResult[] = []
    for (const file of filesOf(read, 'specify at least one test file')) {
      const { value: suite, diagnostics } = readSuite(file)
      const { environment } = terminal
      const allowsNotKnown = values['allow-not-known'] === true
      if (suite === undefined) results.push(notRun(file, diagnostics))
      else if (values.admin === undefined) {
        results.push(await runSuite(suite, file, { environment, allowsNotKnown }))
      } else {
        const asked = await runServed(values.admin, file, { allowsNotKnown }, environment)
        if (typeof asked === 'string') {
          terminal.err(`portcullis test: ${asked}\n`)
          return 1
        }
        results.push(asked)
      }
    }
    if (format === 'json') terminal.out(`${renderResultsJson(results)}\n`)
    else terminal.out(renderResults(results, terminal))
    const isWritten = values.junit === undefined || writeJunit(values.junit, results, terminal)
    const { uncovered } = countCases(results)
    const isUncovered = values['fail-on-uncovered'] === true && uncovered > 0
    return exitCodeOf(results, isUncovered || !isWritten)
  },
})

/** Sends the cases as written: the gateway reads them like a file. */
async function runServed(
  admin: string,
  file: string,
  { allowsNotKnown }: { readonly allowsNotKnown: boolean },
  environment: Environment,
): Promise<SuiteResult | string> {
  const reading = { file, environment: undefined, how: 'whole' } as const
  const written = readDocument(readText(file), reading).value?.value
  const { config: _, ...suite } = written as Readonly<Record<string, unknown>>
  const path = '/api/policies/test'
  type Results = { readonly suites: readonly SuiteResult[] }
  const sent = { suite, allowsNotKnown }
  const found = await fetchAnalysis<Results>(admin, path, environment, sent)
  if (typeof found === 'string') return found
  const [result] = found.suites
  return result === undefined ? 'the gateway did not run the cases' : { ...result, file }
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...FILES,
      ...ADMIN,
      ...FORMAT,
      junit: { type: 'string' },
      'fail-on-uncovered': { type: 'boolean' },
      'allow-not-known': { type: 'boolean' },
    },
  })
}
