import type { Model } from '../model/model.ts'
import { Reach } from './reach.ts'
import type { RulePlace, Where } from './where.ts'

/** A listener on which a route leads to the Admin UI. */
export interface UiListener {
  readonly where: Where
  /** A rule on the same listener that leads elsewhere, if there is one. */
  readonly other: RulePlace | undefined
}

export function* uiListeners(model: Model): Generator<UiListener, void> {
  if (!model.backends.some(({ kind }) => kind === 'admin')) return
  const reach = new Reach(model)
  for (const where of reach.listeners()) {
    let isServed = false
    let other: RulePlace | undefined
    for (const place of reach.rulesOn(where)) {
      const backends = [...reach.refsOf(place)]
      if (backends.some(({ backend }) => backend?.kind === 'admin')) isServed = true
      else other ??= place
    }
    if (isServed) yield { where, other }
  }
}
