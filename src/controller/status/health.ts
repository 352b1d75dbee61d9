import { certainErrors } from '../../analysis/lint/certain.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Model } from '../../model/model.ts'
import { runCooperatively } from '../../model/steps.ts'
import { uselessPolicies } from './useless-policies.ts'

/**
 * Proven faults in the rules of each policy: a rule that can never match, since nothing sets what
 * it reads, Require rules that exclude each other, an authentication without keys. Computed in between other work, since Models may be large.
 */
export class RuleHealth {
  readonly #known = new Map<
    string,
    { readonly model: Model; readonly found: readonly Diagnostic[] }
  >()

  /** Returns whether anything changed. */
  async look(models: ReadonlyMap<string, Model>): Promise<boolean> {
    let isChanged = false
    for (const key of this.#known.keys()) {
      if (models.has(key)) continue
      this.#known.delete(key)
      isChanged = true
    }
    for (const [key, model] of models) {
      const known = this.#known.get(key)
      if (known?.model === model) continue
      const steps = certainErrors(model, known?.model)
      const findings = await runCooperatively(steps, () => performance.now())
      const found = [...findings.map(({ diagnostic }) => diagnostic), ...uselessPolicies(model)]
      isChanged ||= JSON.stringify(known?.found ?? []) !== JSON.stringify(found)
      this.#known.set(key, { model, found })
    }
    return isChanged
  }

  /** Keyed by the title of the policy: `ProxyPolicy apps/allow-alice`. */
  findings(): ReadonlyMap<string, readonly Diagnostic[]> {
    const all = [...this.#known.values()].flatMap(({ found }) => found)
    return Map.groupBy(all, ({ origin }) => (origin.kind === 'object' ? origin.object : ''))
  }
}
