import { writeFileSync } from 'node:fs'
import { type Tree, writeYaml } from './document.ts'
import { World } from './gateways.ts'
import { type CheckName, judgeSeed, treesOf } from './judge.ts'
import type { FalseClaim } from './pair.ts'
import { reduce } from './reduce.ts'
import { runTools } from './tools.ts'

/**
 * Looks for false claims by hand: `node test/truth/hunt.ts SEED PAIRS [CHECK…]`. The first of each
 * kind is made small and printed, and the exit code is 1; TRUTH_REPORT names a file to write them
 * to, TRUTH_LIKE is a regular expression for the JSON of a pair: others are passed over. With
 * TRUTH_UNSERVED it is said why pairs are not served.
 */
/** Settings are the same in all files. */
function shown({ config: _, ...rest }: Tree): string {
  return writeYaml(rest).text
}

const [from = '0', pairs = '100', ...only] = process.argv.slice(2)
const world = await World.open()
const counts = new Map<string, number>()
const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1)
const options = { world, tools: runTools, count }
const seen = new Map<string, number>()
const report: string[] = []
const wanted = process.env['TRUTH_LIKE']
const like = wanted === undefined ? undefined : new RegExp(wanted)
const max = Number(process.env['TRUTH_EACH'] ?? 1)
// What was found so far is told all the same.
let isStopped = false
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void (isStopped = true))
for (let seed = Number(from); seed < Number(from) + Number(pairs) && !isStopped; seed++) {
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
    const known = judged.claims.find((one) => one.kind === kind) as FalseClaim
    const isQuick = process.env['TRUTH_QUICK'] !== undefined
    const small = isQuick
      ? { trees: judged.trees, claim: known }
      : await reduce(judged, kind, options)
    if (isQuick) {
      console.log(
        `seed ${seed}: ${known.claim}\n  ${known.observed} ${JSON.stringify(known.probe)}`,
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
if (seen.size > 0) process.exitCode = 1
