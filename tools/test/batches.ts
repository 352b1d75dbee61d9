export interface Batch {
  readonly files: readonly string[]
  readonly cost: number
}

/**
 * Divides test files among `count` batches of about equal cost, the dearest batch first. The order
 * of the files in a batch is that of `files`.
 */
export function makeBatches(
  files: readonly string[],
  costOf: (file: string) => number,
  count: number,
): readonly Batch[] {
  const bins = Array.from({ length: Math.max(1, count) }, () => ({
    files: new Set<string>(),
    cost: 0,
  }))
  const costs = new Map(files.map((file) => [file, costOf(file)]))
  for (const [file, cost] of [...costs].sort(([, a], [, b]) => b - a)) {
    const bin = bins.reduce((least, other) => (other.cost < least.cost ? other : least))
    bin.files.add(file)
    bin.cost += cost
  }
  return bins
    .filter(({ files }) => files.size > 0)
    .sort((a, b) => b.cost - a.cost)
    .map((bin) => ({ files: files.filter((file) => bin.files.has(file)), cost: bin.cost }))
}
