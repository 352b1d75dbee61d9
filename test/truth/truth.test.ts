import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { fuzz } from '../fuzz/runs.ts'
import { AREAS } from './areas.ts'
import { writeYaml } from './document.ts'
import { World } from './gateways.ts'
import { judgeSeed, judgeTrees } from './judge.ts'
import { RunningGateway } from './process.ts'
import { reduce } from './reduce.ts'
import { recordPair, storedPairs } from './stored-pairs.ts'
import { runTools } from './tools.ts'

/**
 * Random pairs of files are served, and all statements of `diff`, `lint`, `effective`, `explain`,
 * `replay` and `test` about them are compared with the outcomes on the sockets. A failure prints
 * its seed: `node test/truth/hunt.ts SEED 1` shows it again.
 */

/** Max percentage of pairs whose difference is not reported. */
const MAX_UNKNOWN = 15
/** One in this many pairs also runs through `portcullis run`. */
const EACH_RUN = 20
const MAX_SHOWN = 3
/** Seeds of probes for each pair of the corpus: the one that found it, and others. */
const EACH_STORED = 3

describe('statements about all requests', () => {
  let world: World
  let running: RunningGateway
  before(async () => {
    world = await World.open()
    running = await RunningGateway.open(world)
  })
  after(async () => {
    await running.close()
    await world.close()
  })

  const { numRuns, seed: first } = fuzz(0.1)
  const counts = new Map<string, number>()
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1)
  const counted = (what: string) => counts.get(what) ?? 0

  it('holds for the pairs of the corpus', async () => {
    for (const { seed, trees, check, note } of storedPairs(world.place)) {
      for (let more = 0; more < EACH_STORED; more++) {
        const options = { world, tools: runTools, count: () => {} }
        const only = check === undefined ? {} : { only: [check] }
        const { claims, unserved } = await judgeTrees(seed + more, trees, { ...options, ...only })
        assert.equal(unserved, undefined, note)
        assert.deepEqual(claims, [], note)
      }
    }
  })

  it(`holds for ${numRuns} pairs of files on real sockets`, async () => {
    const failures: string[] = []
    for (let index = 0; index < numRuns && failures.length < MAX_SHOWN; index++) {
      const seed = first + index
      const options = { world, tools: runTools, count }
      const isRun = index % EACH_RUN === 0
      const judged = await judgeSeed(seed, isRun ? { ...options, running } : options)
      count(judged.unserved === undefined ? 'pairs' : 'pairs that are not served')
      const [worst] = judged.claims
      if (worst === undefined) continue
      const isReducible = worst.kind !== 'process'
      const { claim, trees } = isReducible
        ? await reduce(judged, worst.kind, options)
        : { claim: worst, trees: judged.trees }
      recordPair(seed, trees, claim, world.place)
      failures.push(
        [
          `seed ${seed}: ${claim.claim}`,
          `observed: ${claim.observed}`,
          `request: ${JSON.stringify(claim.probe)}`,
          writeYaml(trees.old).text,
          JSON.stringify(trees.old) === JSON.stringify(trees.now) ? '' : writeYaml(trees.now).text,
        ].join('\n'),
      )
    }
    console.log(`truth from seed ${first}:`)
    for (const [what, times] of [...counts].toSorted()) console.log(`  ${what}: ${times}`)
    if (failures.length > 0) assert.fail(failures.join('\n\n'))
  })

  it(`leaves less than ${MAX_UNKNOWN} % of the pairs untold`, () => {
    const [unknown, all] = [counted('diff not known'), counted('diff')]
    const share = (100 * unknown) / Math.max(1, all)
    console.log(`  not known: ${share.toFixed(1)} % of ${all} pairs`)
    for (const area of AREAS) {
      const [some, total] = [counted(`diff of ${area} not known`), counted(`diff of ${area}`)]
      if (total > 0) console.log(`    ${area}: ${((100 * some) / total).toFixed(1)} % of ${total}`)
    }
    // A percentage of a few pairs means nothing.
    assert.ok(all < 100 || share < MAX_UNKNOWN, `${share.toFixed(1)} %`)
  })

  it('serves nearly all pairs that it makes', () => {
    assert.ok(counted('pairs') > 8 * counted('pairs that are not served'))
  })
})
