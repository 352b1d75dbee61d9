import type { Model } from '../../model/model.ts'
import { compareModels } from '../diff/compare.ts'
import type { Decide, Difference } from '../diff/difference.ts'
import { type Invariant, suppose, type Unclear } from './suppose.ts'

/** What is known of an invariant. */
export type ProofResult =
  /** No request can break it; vacuous: because none that it is about is admitted at all. */
  | { readonly kind: 'proven'; readonly isVacuous: boolean }
  /** These requests are admitted, and break it; each was decided by the gateway's own program. */
  | { readonly kind: 'refuted'; readonly examples: readonly Counterexample[] }
  | { readonly kind: 'not known'; readonly because: readonly Unclear[] }

export type Counterexample = Pick<
  Difference,
  'listener' | 'route' | 'backend' | 'provider' | 'example'
> & {
  /** Why the condition is not true. */
  readonly reason: string
}

/** Decides about requests as the gateway would with this Model. */
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
    // What is not known of no listener in particular may be about any.
    const isMeant = (one: { readonly kind: string; readonly listener: string }) =>
      one.kind === 'refused' && (one.listener === '' || listeners.has(one.listener))
    const { admitted, on } = invariant
    const { backend: wanted } = on
    // Of connections those alone are denied that are for routes which lead to it.
    const reaches = ({ backend, example }: Difference) =>
      wanted === undefined || backend === wanted || example.isConnection
    const broken = found.differences.filter((one) => isMeant(one) && reaches(one))
    return {
      // What a service would say was not tried.
      examples: broken
        .filter(({ services }) => services.length === 0)
        .map((one) => ({
          listener: one.listener,
          route: one.route,
          backend: one.backend,
          provider: one.provider,
          example: one.example,
          // As it is written, whatever else the rule says that stands for it.
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
