import type { Model } from '../../model/model.ts'
import { compareModels } from '../diff/compare.ts'
import type { Decide, Difference } from '../diff/difference.ts'
import { type Invariant, suppose, type Unclear } from './suppose.ts'

/** What is known about an invariant. */
export type ProofResult =
  /** No request can violate it; vacuous if it covers no admitted requests at all. */
  | { readonly kind: 'proven'; readonly isVacuous: boolean }
  /** These requests are admitted and violate it. The gateway's own program decided each of them. */
  | { readonly kind: 'refuted'; readonly examples: readonly Counterexample[] }
  | { readonly kind: 'not known'; readonly because: readonly Unclear[] }

export type Counterexample = Pick<
  Difference,
  'listener' | 'route' | 'backend' | 'provider' | 'example'
> & {
  /** Why the condition is not true. */
  readonly reason: string
}

/** Decides requests as the gateway would with this Model. */
export interface Decider {
  readonly decide: Decide
  close(): void
}

export function prove(
  model: Model,
  invariant: Invariant,
  open: (model: Model) => Decider,
): ProofResult {
  const { examples, unclear } = counterexamples(model, invariant, open)
  if (examples.length > 0) return { kind: 'refuted', examples }
  if (unclear.length > 0) return { kind: 'not known', because: unclear }
  const nothing = counterexamples(model, { ...invariant, admitted: 'false' }, open)
  const isVacuous = nothing.examples.length === 0 && nothing.unclear.length === 0
  return { kind: 'proven', isVacuous }
}

function counterexamples(
  model: Model,
  invariant: Invariant,
  open: (model: Model) => Decider,
): { readonly examples: readonly Counterexample[]; readonly unclear: readonly Unclear[] } {
  const { before, after, listeners, unclear } = suppose(model, invariant)
  const [old, now] = [open(before), open(after)]
  try {
    const found = compareModels(before, after, { old: old.decide, now: now.decide })
    // An unknown result for no particular listener may concern any of them.
    const isMeant = (one: { readonly kind: string; readonly listener: string }) =>
      one.kind === 'refused' && (one.listener === '' || listeners.has(one.listener))
    const { admitted, on } = invariant
    const { backend: wanted } = on
    // For connections, only those for routes that lead to the backend are denied.
    const reaches = ({ backend, example }: Difference) =>
      wanted === undefined || backend === wanted || example.isConnection
    const broken = found.differences.filter((one) => isMeant(one) && reaches(one))
    return {
      // The responses of services were not tried.
      examples: broken
        .filter(({ services }) => services.length === 0)
        .map((one) => ({
          listener: one.listener,
          route: one.route,
          backend: one.backend,
          provider: one.provider,
          example: one.example,
          // As the invariant is written, without the rest of the rule that represents it.
          reason: one.now.reason.replace(/^Require `.*` of `[^`]*` /s, () => `\`${admitted}\` `),
        })),
      unclear: [
        ...unclear,
        ...broken
          .filter(({ services }) => services.length > 0)
          .map(({ listener, route, asks, example: { method, path } }) => ({
            listener,
            route,
            why: `no rule denies ${method} ${path}; the response of ${asks} is not known`,
          })),
        ...found.untold
          .filter(isMeant)
          .map(({ listener, route, why }) => ({ listener, route, why })),
      ],
    }
  } finally {
    old.close()
    now.close()
  }
}
