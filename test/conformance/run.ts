import { writeFileSync } from 'node:fs'
import { readCelSpec } from './cel-spec.ts'
import { MODES, type Mode, type Outcome, runSpecTests } from './modes.ts'
import { renderSkipped } from './skip-list.ts'

const { run, skipped } = readCelSpec()
const outcomes = await runSpecTests(run)
writeFileSync(new URL('SKIPPED.md', import.meta.url), renderSkipped(skipped))

const suites = [...new Set([...run, ...skipped].map((test) => test.suite))].sort()
const header = ['suite', 'tests', ...MODES, 'skipped']
const rows = suites.map((suite) => [
  suite,
  ...cells(outcomes.filter((outcome) => outcome.test.suite === suite)),
  String(skipped.filter((test) => test.suite === suite).length),
])
rows.push(['total', ...cells(outcomes), String(skipped.length)])
const widths = header.map((title, at) =>
  Math.max(...[header, ...rows].map((r) => r[at]?.length ?? 0), title.length),
)
for (const row of [header, ...rows]) {
  console.log(row.map((cell, at) => pad(cell, widths[at] ?? 0, at)).join('  '))
}

const rejected = outcomes.filter((outcome) => outcome.rejected !== undefined)
console.log(`\n${rejected.length} tests that expect an error are refused before they run, by code:`)
for (const [code, of] of Map.groupBy(rejected, (outcome) => outcome.rejected)) {
  console.log(`  ${code}: ${of.map(({ test }) => test.name).join(', ')}`)
}

const failed = outcomes.filter((outcome) =>
  [...outcome.modes.values()].some((why) => why !== undefined),
)
for (const { test, modes } of failed) {
  console.log(`\n${test.name}: ${test.expression}`)
  for (const [mode, why] of modes) if (why !== undefined) console.log(`  ${mode}: ${why}`)
}
console.log(
  `\n${run.length - failed.length} passed, ${failed.length} failed, ${skipped.length} skipped`,
)
process.exitCode = failed.length === 0 ? 0 : 1

function cells(of: readonly Outcome[]): string[] {
  return [String(of.length), ...MODES.map((mode) => cell(of, mode))]
}

/** `passed/applicable`, so that gaps are visible at a glance. */
function cell(of: readonly Outcome[], mode: Mode): string {
  const applicable = of.filter(({ modes }) => modes.has(mode))
  const passed = applicable.filter(({ modes }) => modes.get(mode) === undefined)
  return `${passed.length}/${applicable.length}`
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width)
}
