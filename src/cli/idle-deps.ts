import type { CatalogSource } from '../model/settings.ts'
import type { CompileDeps } from '../program/compile-deps.ts'
import { ModelPrices } from '../program/model-prices.ts'

/**
 * Dependencies for a Program that only decides and forwards nothing; `dice` select backends.
 * `catalog`: model prices, if known.
 */
export function idleServices(
  dice: { readonly value: number },
  catalog?: readonly CatalogSource[],
): CompileDeps {
  const prices = catalog && new ModelPrices()
  prices?.update(catalog ?? [])
  return {
    ...(prices === undefined ? {} : { prices }),
    openCluster: ({ name }) => ({
      name,
      isHealthy: true,
      active: 0,
      choose: () => 'no-endpoint',
      close: () => {},
    }),
    now: () => performance.now(),
    random: () => dice.value,
    // Tokens are not verified here, so no keys are needed.
    policyDeps: { fetch: async () => ({ kind: 'refused', detail: 'nothing is fetched here' }) },
  }
}
