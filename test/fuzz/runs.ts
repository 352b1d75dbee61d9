/**
 * The number of fuzz runs: FUZZ_RUNS in total (10,000 in CI, 20,000 for test/truth, many times that
 * in nightly.ts), of which each property takes its share. Without FUZZ_RUNS, the runs are few and
 * always the same, so that the unit tier never fails by chance. A failure prints its seed;
 * FUZZ_SEED repeats it. `min` is for properties that cost so much that their share is small, but
 * that prove nothing with fewer runs.
 */
export function fuzz(share: number, min = 1): { readonly numRuns: number; readonly seed: number } {
  const { FUZZ_RUNS: runs, FUZZ_SEED: seed } = process.env
  const inAll = runs === undefined ? 120 : Number(runs)
  const fallback = runs === undefined ? 26 : Date.now() % 0x7fffffff
  const chosen = seed === undefined ? fallback : Number(seed)
  return { numRuns: Math.max(min, Math.round(inAll * share)), seed: chosen }
}
