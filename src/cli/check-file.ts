import { locateFindings } from '../analysis/lint/finding.ts'
import { asFinding, type Finding, lint } from '../analysis/lint/lint.ts'
import { suppress } from '../analysis/lint/suppress.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { positioned } from '../diagnostics/places.ts'
import { collector } from '../diagnostics/report.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { withoutRepeated } from '../diagnostics/without-repeated.ts'
import { loadText, readText } from '../sources/file/load.ts'
import { checkModel } from './check-model.ts'
import { surroundingProblems } from './check-surroundings.ts'
import { cookieSecretProblems } from './cookie-secret.ts'
import type { Terminal } from './define.ts'
import { isManifests, loadConfiguration } from './load-configuration.ts'

/**
 * Everything that is known to be wrong with a file: what its reader, the gateway and `lint` report,
 * and what it needs but is not there.
 */
export function checkFile(
  file: string,
  text: string | undefined,
  { environment }: Terminal,
): readonly Diagnostic[] {
  const name = nameOf(file)
  const input = file === '-' ? text : undefined
  const { result, settings, places } =
    input === undefined
      ? loadConfiguration(file, { environment })
      : loadText(input, name, { environment })
  const { value: model } = result
  const read = [...result.diagnostics, ...cookieSecretProblems(undefined, environment)]
  // Unreadable files have been reported; their contents are unknown.
  if (model === undefined) return read
  // Notes of `lint` are worth reading, and nothing is wrong.
  const linted = locateFindings(places, lint(model)).filter(
    ({ diagnostic }) => diagnostic.severity !== 'info',
  )
  const isObjects = file !== '-' && isManifests(file)
  if (isObjects) return inOrder([...read, ...linted.map(({ diagnostic }) => diagnostic)])
  if (hasErrors(read) || text === undefined) return read
  const further = withoutRepeated(read, checkModel(places, model))
  const around = surroundingProblems({ name, model, settings, text, environment }).map((one) =>
    positioned(places, one),
  )
  return inOrder(unsuppressed([...read, ...further, ...around], linted, text, name))
}

/** The reader reports this as PC0311. */
const SAID_BY_READER = 'AZ009'

/** Without what comments suppress, under the codes of `lint`; errors of the reader remain. */
function unsuppressed(
  own: readonly Diagnostic[],
  linted: readonly Finding[],
  text: string,
  name: string,
): readonly Diagnostic[] {
  const named = new Map(own.map((one) => [asFinding(one), one]))
  const left = suppress([...named.keys(), ...linted], text, name)
  const errors = own.filter(({ severity }) => severity === 'error')
  return [...errors, ...left.map((one) => named.get(one) ?? one.diagnostic)]
}

function inOrder(all: readonly Diagnostic[]): readonly Diagnostic[] {
  const { report, diagnostics } = collector()
  for (const diagnostic of all) if (diagnostic.code !== SAID_BY_READER) report(diagnostic)
  return diagnostics()
}

/** Undefined for anything but a readable file: the loader reports the reason. */
export function textOf(file: string, { readInput }: Terminal): string | undefined {
  if (file === '-') return readInput()
  const read = readText(file)
  return 'text' in read ? read.text : undefined
}

export function nameOf(file: string): string {
  return file === '-' ? 'standard-input' : file
}
