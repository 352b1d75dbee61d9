import { readFileSync } from 'node:fs'
import { certainErrors } from '../analysis/lint/certain.ts'
import type { Finding } from '../analysis/lint/lint.ts'
import { suppress } from '../analysis/lint/suppress.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { hasErrors, type Result, success } from '../diagnostics/result.ts'
import { denyPolicies } from '../model/deny-policies.ts'
import type { Model } from '../model/model.ts'
import { Moves } from '../model/moves.ts'
import { reconcile } from '../model/reconcile.ts'
import { runCooperatively } from '../model/steps.ts'
import { compileProgram } from '../program/compile.ts'
import { confine } from '../sources/file/confine.ts'
import { withExcerpts } from '../sources/file/excerpts.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { KnownItems } from '../sources/file/known-items.ts'
import type { Loaded } from '../sources/file/load.ts'
import { checkKeys } from './check-keys.ts'
import { idleServices } from './idle-deps.ts'
import { loadBetweenRequests } from './load.ts'

/** What the gateway would say of a Model when it is put to use; `compiled`: of this part of it. */
export function checkModel(
  file: string,
  model: Model,
  compiled: Model = model,
): readonly Diagnostic[] {
  const { diagnostics } = compileProgram(compiled, undefined, idleServices({ value: 0 }))
  return withExcerpts(file, [...checkKeys(model), ...diagnostics])
}

/** What a gateway rejects: rules of which it is quickly proven that they never match. */
export function* unservable(
  file: string,
  { value: model, diagnostics }: Result<Model>,
  before?: Model,
): Generator<void, readonly Diagnostic[]> {
  if (model === undefined || hasErrors(diagnostics)) return []
  return unsuppressed(file, yield* certainErrors(model, before))
}

export interface ServableOptions {
  /** What was served up to now: what did not change since need not be checked again. */
  readonly before?: Model | undefined
  /** Any error rejects all of it; otherwise the policies that have one deny what they guard. */
  readonly isStrict: boolean
}

/** What was read, as a gateway may serve it, with all that there is to say. */
export function* servable(
  file: string,
  result: Result<Model>,
  { before, isStrict }: ServableOptions,
): Generator<void, Result<Model>> {
  const { value: model, diagnostics } = result
  if (model === undefined) return result
  if (isStrict) {
    return success(model, [...diagnostics, ...(yield* unservable(file, result, before))])
  }
  const found = unsuppressed(file, yield* certainErrors(model, before))
  return confine(success(denyPolicies(model, found), [...diagnostics, ...found]))
}

/**
 * A changed configuration while requests are served, with what keeps it from being served. What
 * did not change since `before` is the same in it.
 */
export async function loadServable(
  file: string,
  environment: Environment,
  options: ServableOptions & { readonly known?: KnownItems },
): Promise<Loaded> {
  const loaded = await loadBetweenRequests(file, environment, options.known)
  return servableAfter(file, loaded, options, options.known?.takeMoves())
}

/**
 * What was read after another Model, with what keeps it from being served. Things of before are told
 * which lines they are on now, and are where they were if it is rejected.
 */
export async function servableAfter(
  file: string,
  loaded: Loaded,
  options: ServableOptions,
  moves = new Moves(),
): Promise<Loaded> {
  const { value, diagnostics } = loaded.result
  if (value === undefined) {
    moves.undo()
    return loaded
  }
  const now = () => performance.now()
  const model = await runCooperatively(reconcile(options.before, value, moves), now)
  const steps = servable(file, success(model, diagnostics), options)
  const result = await runCooperatively(steps, now)
  const settled: NonNullable<Loaded['settled']> = ({ isApplied }) => {
    if (!isApplied) moves.undo()
  }
  return { ...loaded, result, settled }
}

/** Without those that a comment in the file accounts for. */
export function unsuppressed(
  file: string,
  findings: readonly Finding[],
  text = findings.length === 0 ? undefined : textOf(file),
): readonly Diagnostic[] {
  const left = text === undefined ? findings : suppress(findings, text, file)
  return left.map(({ diagnostic }) => diagnostic).filter(({ severity }) => severity === 'error')
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
