import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Tree, writeYaml } from './document.ts'
import { World } from './gateways.ts'
import { type CheckName, judgeSeed, treesOf } from './judge.ts'
import type { FalseClaim } from './pair.ts'
import { reduce } from './reduce.ts'
import { runTools } from './tools.ts'

/**
 * Searches for false claims by hand: `node test/truth/hunt.ts SEED PAIRS [CHECK…]`. The first of
 * each kind is reduced and printed, and the exit code is 1; TRUTH_REPORT names a file to write them
 * to, TRUTH_LIKE is a regular expression for the JSON of a pair: others are skipped. With
 * TRUTH_UNSERVED the reason is printed if a pair is not served. TRUTH_RESUME names a file that
 * stores the progress: the same command, started again, continues from there.
 */
/** Settings are the same in all files. */
function shown({ config: _, ...rest }: Tree): string {
  return writeYaml(rest).text
}

/** Pairs between two saves of the progress. */
const EACH_KEPT = 20

interface Progress {
  readonly next: number
  readonly counts: readonly (readonly [string, number])[]
}

function readProgress(): Progress {
  if (progress === undefined || !existsSync(progress)) return { next: 0, counts: [] }
  return JSON.parse(readFileSync(progress, 'utf8')) as Progress
}

function keepProgress(): void {
  if (progress === undefined) return
  const kept: Progress = { next: seed, counts: [...counts] }
  writeFileSync(progress, JSON.stringify(kept))
}

const [from = '0', pairs = '100', ...only] = process.argv.slice(2)
const world = await World.open()
const counts = new Map<string, number>()
const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1)
const options = { world, tools: runTools, count }
const progress = process.env['TRUTH_RESUME']
const known = readProgress()
for (const [what, times] of known.counts) counts.set(what, times)
const seen = new Map<string, number>()
const report: string[] = []
const wanted = process.env['TRUTH_LIKE']
const like = wanted === undefined ? undefined : new RegExp(wanted)
const max = Number(process.env['TRUTH_EACH'] ?? 1)
// Claims found before a stop are reported, too.
let isStopped = false
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void (isStopped = true))
let seed = Math.max(Number(from), known.next)
for (; seed < Number(from) + Number(pairs) && !isStopped; seed++) {
  if (seed % EACH_KEPT === 0) keepProgress()
  if (like !== undefined && !like.test(JSON.stringify(treesOf(seed, world)))) continue
  const judged = await judgeSeed(seed, {
    ...options,
    ...(only.length === 0 ? {} : { only: only as CheckName[] }),
  })
  count(judged.unserved === undefined ? 'pairs' : 'pairs that are not served')
  if (process.env['TRUTH_UNSERVED'] !== undefined && judged.unserved !== undefined) {
    console.log(`seed ${seed} is not served: ${judged.unserved}`)
  }
  for (const kind of new Set(judged.claims.map((one) => one.kind))) {
    count(`FALSE ${kind}`)
    const times = seen.get(kind) ?? 0
    seen.set(kind, times + 1)
    if (times >= max) continue
    const first = judged.claims.find((one) => one.kind === kind) as FalseClaim
    const isQuick = process.env['TRUTH_QUICK'] !== undefined
    const small = isQuick
      ? { trees: judged.trees, claim: first }
      : await reduce(judged, kind, options)
    if (isQuick) {
      console.log(
        `seed ${seed}: ${first.claim}\n  ${first.observed} ${JSON.stringify(first.probe)}`,
      )
      continue
    }
    const text = [
      `### seed ${seed}: ${small.claim.claim}`,
      `observed: ${small.claim.observed}`,
      `request: ${JSON.stringify(small.claim.probe)}`,
      '```yaml',
      shown(small.trees.old),
      '```',
      ...(JSON.stringify(small.trees.old) === JSON.stringify(small.trees.now)
        ? []
        : ['new:', '```yaml', shown(small.trees.now), '```']),
    ].join('\n')
    console.log(text)
    report.push(text)
  }
}
keepProgress()
if (process.env['TRUTH_REPORT'] !== undefined) {
  writeFileSync(process.env['TRUTH_REPORT'], report.join('\n\n'))
}
console.log(
  [...counts]
    .toSorted()
    .map(([what, times]) => `${what}: ${times}`)
    .join('\n'),
)
const { user, system } = process.cpuUsage()
console.log(`CPU: ${((user + system) / 1e6).toFixed(1)} s`)
await world.close()
if ([...counts.keys()].some((what) => what.startsWith('FALSE'))) process.exitCode = 1
