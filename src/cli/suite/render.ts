import { exactJson } from '../../cel/values/json-exact.ts'
import { renderTerminal } from '../../diagnostics/render.ts'
import { visible } from '../../diagnostics/text-cells.ts'
import { NOT_KNOWN, type Terminal } from '../define.ts'
import { invariantLines } from './render-invariants.ts'
import type { CaseResult, SuiteResult } from './run-suite.ts'

/** For people: one line per file, details of failures, and the rules that no case exercises. */
export function renderResults(results: readonly SuiteResult[], terminal: Terminal): string {
  const { colour, width = 100 } = terminal
  const lines = results.flatMap((result) => {
    const { file, name, cases, invariants, diagnostics } = result
    if (diagnostics.length > 0)
      return [`${file}: ${visible(name)}: not run`, renderTerminal(diagnostics, { colour, width })]
    const failed = cases.filter(({ failures }) => failures.length > 0)
    const counts =
      cases.length === 0 ? [] : [`${cases.length - failed.length} of ${cases.length} passed`]
    const proven = invariants.filter(({ verdict }) => verdict.kind === 'proven')
    if (invariants.length > 0)
      counts.push(`${proven.length} of ${invariants.length} invariants proven`)
    return [
      `${file}: ${visible(name)}: ${counts.join(', ')}`,
      ...invariants.flatMap(invariantLines).map((line) => `  ${visible(line)}`),
      ...failed.flatMap((one) => [
        `  failed: ${visible(one.name)}`,
        ...one.failures.map((text) => `    ${visible(text)}`),
      ]),
      ...uncovered(result),
    ]
  })
  return `${lines.join('\n')}\n`
}

function uncovered({ coverage }: SuiteResult): readonly string[] {
  const idle = coverage.filter(({ decided }) => decided === 0)
  if (coverage.length === 0) return []
  const share = `${coverage.length - idle.length} of ${coverage.length} rules decided something`
  return [
    `  ${share}`,
    ...idle.map(
      ({ action, expression, at }) => `    never: ${action} ${visible(expression)} (${at})`,
    ),
  ]
}

export function renderResultsJson(results: readonly SuiteResult[]): string {
  return exactJson({ ...countCases(results), suites: results.map(publicSuite) }, 2)
}

/** Scripts expect the verdict as `answer`. */
function publicSuite(suite: SuiteResult): object {
  const invariants = suite.invariants.map(({ name, origin, verdict, ...rest }) => ({
    name,
    origin,
    answer: verdict,
    ...rest,
  }))
  return { ...suite, invariants }
}

export function countCases(results: readonly SuiteResult[]) {
  const cases = results.flatMap(casesOf)
  const failed = cases.filter(({ failures }) => failures.length > 0).length
  const notRun = results.filter(({ diagnostics }) => diagnostics.length > 0).length
  const idle = results.flatMap(({ coverage }) => coverage.filter(({ decided }) => decided === 0))
  return { passed: cases.length - failed, failed, notRun, uncovered: idle.length }
}

/** The exit code of suites: NOT_KNOWN if all failures are invariants that are not known. */
export function exitCodeOf(results: readonly SuiteResult[], isFailed: boolean): number {
  const { failed, notRun } = countCases(results)
  if (isFailed || notRun > 0) return 1
  const unproven = results.flatMap(({ invariants }) => invariants.filter((one) => !one.isPassed))
  const notKnown = unproven.filter(({ verdict }) => verdict.kind === 'not known')
  return failed > notKnown.length ? 1 : failed === 0 ? 0 : NOT_KNOWN
}

/** Invariants count as cases, which fail unless they are proven. */
function casesOf({ cases, invariants }: SuiteResult): readonly CaseResult[] {
  const own = invariants.map((result) => {
    const { name, isPassed, milliseconds } = result
    const failures = isPassed ? [] : invariantLines(result)
    return { name: `invariant: ${name}`, failures, milliseconds }
  })
  return [...cases, ...own]
}

/** JUnit XML for CI servers: a suite per file, a case per request and invariant. */
export function renderJunit(results: readonly SuiteResult[]): string {
  const suites = results.map((result) => {
    const { file, name, diagnostics } = result
    const cases = casesOf(result)
    const failed = cases.filter(({ failures }) => failures.length > 0).length
    const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(3)
    const time = seconds(cases.reduce((sum, one) => sum + one.milliseconds, 0))
    const inner = cases.map((one) => {
      const head = `    <testcase classname="${xml(file)}" name="${xml(one.name)}" time="${seconds(one.milliseconds)}"`
      if (one.failures.length === 0) return `${head}/>`
      const [first = ''] = one.failures
      return `${head}>\n      <failure message="${xml(first)}">${xml(one.failures.join('\n'))}</failure>\n    </testcase>`
    })
    const errors = diagnostics.map(
      ({ code, message }) =>
        `    <testcase classname="${xml(file)}" name="configuration">\n      <error message="${xml(`${code}: ${message}`)}"/>\n    </testcase>`,
    )
    const counts = `tests="${cases.length + errors.length}" failures="${failed}" errors="${errors.length}"`
    return `  <testsuite name="${xml(name)}" ${counts} time="${time}">\n${[...inner, ...errors].join('\n')}\n  </testsuite>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('\n')}\n</testsuites>\n`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
}

/** XML 1.0 does not allow control characters, even escaped. */
function xml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll(/[&<>"\n]/g, (one) => ENTITIES[one] as string)
}
