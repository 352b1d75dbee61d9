import type { CompileDeps } from '../program/compile-deps.ts'

/** For a Program that decides and forwards nothing; `dice` choose among backends. */
export function idleServices(dice: { readonly value: number }): CompileDeps {
  return {
    openCluster: ({ name }) => ({
      name,
      isHealthy: true,
      active: 0,
      choose: () => 'no-endpoint',
      close: () => {},
    }),
    now: () => performance.now(),
    random: () => dice.value,
    // Tokens are not checked here, so no keys are needed.
    world: { fetch: async () => ({ kind: 'refused', detail: 'nothing is fetched here' }) },
  }
}
