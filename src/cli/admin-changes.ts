import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderCount, renderTerminal } from '../diagnostics/render.ts'
import { canonicalJson } from '../model/json.ts'
import { HIDDEN } from '../model/redact.ts'
import type { Change } from '../sources/database/configuration.ts'
import { RESOURCE_KINDS } from '../sources/database/resource-kinds.ts'
import { type ResourceKey, resourcesOf } from '../sources/database/resources.ts'
import { readDocument } from '../sources/file/read.ts'
import { fetchAnalysis } from './admin-client.ts'
import { type Terminal, UsageError } from './define.ts'
import { isManifests } from './load-configuration.ts'
import { readText } from './read-text.ts'

/** The changes that turn the configuration of a running gateway into a file. */
export interface Towards {
  readonly changes: readonly Change[]
  /** Process settings differ as well; changes of resources do not include them. */
  readonly hasOtherSettings: boolean
}

type Whole = Readonly<Record<string, unknown>>

/**
 * Returns the changes that turn the served configuration into a file; prints errors and returns
 * undefined if there are any. Both are compared in the form that the gateway shows: without
 * secrets, and with variables expanded.
 */
export async function changesTowards(
  admin: string,
  file: string,
  command: string,
  terminal: Terminal,
): Promise<Towards | undefined> {
  const wanted = wholeOf(file, terminal)
  if (wanted === undefined) return undefined
  const path = '/api/config/effective'
  const served = await fetchAnalysis<Whole>(admin, path, terminal.environment)
  if (typeof served === 'string') {
    terminal.err(`portcullis ${command}: ${served}\n`)
    return undefined
  }
  const [now, next] = [resourcesOf(served), resourcesOf(wanted)]
  const changes: Change[] = []
  for (const [key, { kind, id, value }] of next) {
    if (!isEqual(now.get(key)?.value, value)) changes.push({ action: 'set', kind, id, value })
  }
  const isGone = ([key]: readonly [ResourceKey, unknown]) => !next.has(key)
  for (const [, { kind, id }] of [...now].filter(isGone)) {
    changes.push({ action: 'delete', kind, id })
  }
  const hasOtherSettings = !isShownAs(wanted['config'], served['config'])
  return { changes, hasOtherSettings }
}

/** Returns the gateway's analysis of those changes; prints the error and returns undefined. */
export async function analyseTowards<T extends object>(
  admin: string,
  file: string,
  command: 'diff' | 'replay',
  terminal: Terminal,
): Promise<{ readonly found: T; readonly hasOtherSettings: boolean } | undefined> {
  const towards = await changesTowards(admin, file, command, terminal)
  if (towards === undefined) return undefined
  const { changes, hasOtherSettings } = towards
  const path = `/api/policies/${command}`
  const found = await fetchAnalysis<T>(admin, path, terminal.environment, { changes })
  if (typeof found !== 'string') return { found, hasOtherSettings }
  terminal.err(`portcullis ${command}: ${found}\n`)
  return undefined
}

const COMPARED: ReadonlySet<string> = new Set([...RESOURCE_KINDS, 'config', '$schema'])

function wholeOf(file: string, terminal: Terminal): Whole | undefined {
  if (isManifests(file))
    throw new UsageError(
      `${file} contains Kubernetes manifests; --admin accepts only a gateway configuration file`,
    )
  const { environment } = terminal
  const text = file === '-' ? terminal.readInput() : readText(file)
  const { value: document, diagnostics } = readDocument(text, { file, environment, how: 'whole' })
  if (document === undefined) return reject(file, diagnostics, terminal)
  const unfilled = document.unfilled().filter(({ severity }) => severity === 'error')
  if (unfilled.length > 0) return reject(file, unfilled, terminal)
  const whole = (document.value ?? {}) as Whole
  const other = Object.keys(whole).find((key) => !COMPARED.has(key))
  if (other === undefined) return whole
  throw new UsageError(
    `${file}: \`${other}\` cannot be compared with the configuration of a running gateway`,
  )
}

function reject(
  file: string,
  diagnostics: readonly Diagnostic[],
  { err, colour, width = 100 }: Terminal,
): undefined {
  err(`${renderTerminal(diagnostics, { colour, width })}\n\n${file}: ${renderCount(diagnostics)}\n`)
  return undefined
}

function isEqual(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null)
}

/** Whether a value may be what the gateway shows in this form: secrets are hidden. */
function isShownAs(value: unknown, shown: unknown): boolean {
  if (shown === HIDDEN) return typeof value === 'string'
  if (!isMapping(value) || !isMapping(shown)) return isEqual(value, shown)
  const keys = new Set([...Object.keys(value), ...Object.keys(shown)])
  return [...keys].every((key) => isShownAs(value[key], shown[key]))
}

function isMapping(value: unknown): value is Whole {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
