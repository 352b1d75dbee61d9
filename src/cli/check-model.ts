import { readFileSync } from 'node:fs'
import { certainErrors } from '../analysis/lint/certain.ts'
import { locateFindings } from '../analysis/lint/finding.ts'
import type { Finding } from '../analysis/lint/lint.ts'
import { suppress } from '../analysis/lint/suppress.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { locateAll, type Places } from '../diagnostics/places.ts'
import { hasErrors, type Result, success } from '../diagnostics/result.ts'
import { denyPolicies } from '../model/deny-policies.ts'
import type { Model } from '../model/model.ts'
import { reconcile } from '../model/reconcile.ts'
import { runCooperatively } from '../model/steps.ts'
import { compileProgram } from '../program/compile.ts'
import { confine } from '../sources/file/confine.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { KnownItems } from '../sources/file/known-items.ts'
import type { Loaded } from '../sources/file/load.ts'
import { checkKeys } from './check-keys.ts'
import { idleServices } from './idle-deps.ts'
import { loadBetweenRequests } from './load.ts'

/** The diagnostics that the gateway would report on applying a Model; compiles only `compiled`. */
export function checkModel(
  places: Places,
  model: Model,
  compiled: Model = model,
): readonly Diagnostic[] {
  const { diagnostics } = compileProgram(compiled, undefined, idleServices({ value: 0 }))
  return locateAll(places, [...checkKeys(model), ...diagnostics])
}

/** The errors for which a gateway rejects a Model: rules that are quickly proven never to match. */
export function* unservable(
  file: string,
  { value: model, diagnostics }: Result<Model>,
  places: Places,
  before?: Model,
): Generator<void, readonly Diagnostic[]> {
  if (model === undefined || hasErrors(diagnostics)) return []
  const findings = unsuppressed(file, yield* certainErrors(model, before), places)
  return locateAll(places, findings)
}

export interface ServableOptions {
  readonly places: Places
  /** The Model served so far: unchanged parts need not be checked again. */
  readonly before?: Model | undefined
  /** If true, any error rejects the Model; otherwise policies with errors deny what they guard. */
  readonly isStrict: boolean
}

/** Converts the result of reading into what a gateway may serve, with all diagnostics. */
export function* servable(
  file: string,
  result: Result<Model>,
  { before, isStrict, places }: ServableOptions,
): Generator<void, Result<Model>> {
  const { value: model, diagnostics } = result
  if (model === undefined) return result
  if (isStrict) {
    return success(model, [...diagnostics, ...(yield* unservable(file, result, places, before))])
  }
  const findings = yield* certainErrors(model, before)
  const closed = findings.filter(({ isClosed }) => isClosed === true)
  const opening = findings.filter((finding) => !closed.includes(finding))
  const invalid = unsuppressed(file, opening, places)
  // Served as it is written: nothing of it is rejected.
  const harmless = unsuppressed(file, closed, places).map(asWarning)
  const located = locateAll(places, [...invalid, ...harmless])
  return confine(success(denyPolicies(model, invalid), [...diagnostics, ...located]), places)
}

/**
 * Loads a changed configuration while requests are served, with the errors that prevent it from
 * being served. Parts that have not changed since `before` stay the same objects.
 */
export async function loadServable(
  file: string,
  environment: Environment,
  options: Omit<ServableOptions, 'places'> & { readonly known?: KnownItems },
): Promise<Loaded> {
  const loaded = await loadBetweenRequests(file, environment, options.known)
  return servableAfter(file, loaded, options)
}

/**
 * Prepares a Model that was read after another one, with the errors that prevent it from being
 * served.
 */
export async function servableAfter(
  file: string,
  loaded: Loaded,
  options: Omit<ServableOptions, 'places'>,
): Promise<Loaded> {
  const { value, diagnostics } = loaded.result
  if (value === undefined) return loaded
  const now = () => performance.now()
  const model = await runCooperatively(reconcile(options.before, value), now)
  const steps = servable(file, success(model, diagnostics), { ...options, places: loaded.places })
  const result = await runCooperatively(steps, now)
  return { ...loaded, result }
}

/** The errors that no comment in the file suppresses, with the origins of the Model. */
function unsuppressed(
  file: string,
  findings: readonly Finding[],
  places: Places,
): readonly Diagnostic[] {
  const text = findings.length === 0 ? undefined : textOf(file)
  const located = locateFindings(places, findings)
  const left = new Set(text === undefined ? located : suppress(located, text, file))
  return findings
    .filter((_, index) => left.has(located[index] as Finding))
    .map(({ diagnostic }) => diagnostic)
    .filter(({ severity }) => severity === 'error')
}

function asWarning(diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, severity: 'warning' }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
