/**
 * How much is fuzzed: FUZZ_RUNS in all (10,000 in CI, and 20,000 for test/truth; many times that by nightly.ts), of which
 * each property takes its share. Without it the runs are few and always the same, so that the unit tier never
 * fails by chance. A failure prints its seed; FUZZ_SEED repeats it. `min`: fewer would show nothing,
 * of properties that cost so much that their share is small.
 */
export function fuzz(share: number, min = 1): { readonly numRuns: number; readonly seed: number } {
  const { FUZZ_RUNS: runs, FUZZ_SEED: seed } = process.env
  const inAll = runs === undefined ? 120 : Number(runs)
  const fallback = runs === undefined ? 26 : Date.now() % 0x7fffffff
  const chosen = seed === undefined ? fallback : Number(seed)
  return { numRuns: Math.max(min, Math.round(inAll * share)), seed: chosen }
}
