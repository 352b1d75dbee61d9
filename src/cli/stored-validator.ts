import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { hasErrors, success } from '../diagnostics/result.ts'
import { withoutRepeated } from '../diagnostics/without-repeated.ts'
import type { Model } from '../model/model.ts'
import { reconcile } from '../model/reconcile.ts'
import { runCooperatively } from '../model/steps.ts'
import { routesToCompile } from '../program/parts.ts'
import type { KnownResources } from '../sources/database/known-resources.ts'
import { type Baseline, loadOver } from '../sources/database/load.ts'
import type { Merged } from '../sources/database/merge.ts'
import { checkModel, servable } from './check-model.ts'

const now = () => performance.now()

/**
 * Validates a configuration before it is stored. Thousands of resources may be stored, while a
 * change affects one: parts known to be valid are not checked again, and the diagnostics are the
 * same as for a full check.
 */
export class StoredValidator {
  readonly #known: KnownResources
  /** The last Model that was validated, regardless of the result. */
  #looked: Model | undefined
  /** The last Model without compiler diagnostics. */
  #compiled: Model | undefined

  constructor(known: KnownResources) {
    this.#known = known
  }

  /** Sets the served Model and the diagnostics of its compiler. */
  served(model: Model, diagnostics: readonly Diagnostic[]): void {
    this.#compiled = diagnostics.length === 0 ? model : undefined
  }

  async validate(baseline: Baseline, merged: Merged): Promise<readonly Diagnostic[]> {
    const { file } = baseline
    const { result, places } = await runCooperatively(loadOver(baseline, merged, this.#known), now)
    if (result.value === undefined) return result.diagnostics
    const before = this.#looked
    const model = await runCooperatively(reconcile(before, result.value), now)
    const options = { before, isStrict: true, places }
    const steps = servable(file, success(model, result.diagnostics), options)
    const { diagnostics } = await runCooperatively(steps, now)
    this.#looked = model
    if (hasErrors(diagnostics)) return diagnostics
    const further = checkModel(places, model, await this.#unknownPartOf(model))
    return [...diagnostics, ...withoutRepeated(diagnostics, further)]
  }

  /** The Model without the routes that are known to have no compiler diagnostics. */
  async #unknownPartOf(model: Model): Promise<Model> {
    const compiled = this.#compiled
    if (compiled === undefined) return model
    const next = await runCooperatively(reconcile(compiled, model), now)
    return { ...next, routes: routesToCompile(compiled, next) }
  }
}
