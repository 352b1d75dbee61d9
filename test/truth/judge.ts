import { DOCUMENTS, drawnArea, isLeftOut } from './areas.ts'
import { checkDiff } from './claims-diff.ts'
import { checkEffective } from './claims-effective.ts'
import { checkExplain } from './claims-explain.ts'
import { checkFix, checkLint } from './claims-lint.ts'
import { checkProve } from './claims-prove.ts'
import { checkReplay } from './claims-replay.ts'
import { checkTest } from './claims-test.ts'
import { type Tree, writeYaml } from './document.ts'
import { changedFeature, withFeatures } from './features.ts'
import type { World } from './gateways.ts'
import { makeDocument } from './generate.ts'
import { changed } from './mutate.ts'
import { withoutPolicies } from './open.ts'
import type { Check, FalseClaim, Pair, Side } from './pair.ts'
import { probesFor } from './probes.ts'
import type { RunningGateway } from './process.ts'
import { Random } from './random.ts'
import { sharesIn } from './shares.ts'
import type { Tools } from './tools.ts'
import type { Probe } from './wire.ts'

export const CHECKS = {
  diff: checkDiff,
  lint: checkLint,
  fix: checkFix,
  effective: checkEffective,
  explain: checkExplain,
  replay: checkReplay,
  test: checkTest,
  prove: checkProve,
} as const satisfies Readonly<Record<string, Check>>
export type CheckName = keyof typeof CHECKS

/** The share of pairs for which a check is worth its time. */
const SHARES: Readonly<Partial<Record<CheckName, number>>> = {
  lint: 0.6,
  fix: 0.5,
  effective: 0.35,
  explain: 0.4,
  replay: 0.5,
  test: 0.08,
  prove: 0.3,
}

const PROBES = 32

export interface Trees {
  readonly old: Tree
  readonly now: Tree
}

export interface Judged {
  readonly seed: number
  readonly trees: Trees
  readonly claims: readonly FalseClaim[]
  /** The reason, if it was not served. */
  readonly unserved?: string
}

export interface JudgeOptions {
  readonly world: World
  readonly tools: Tools
  readonly count: (what: string) => void
  /** Only these checks, whatever the seed selects. */
  readonly only?: readonly CheckName[]
  /** A process whose outcomes are compared, too. */
  readonly running?: RunningGateway
}

export function treesOf(seed: number, world: World, area = drawnArea(seed)): Trees {
  const random = new Random(seed)
  const documents = DOCUMENTS[area]
  if (documents !== undefined) {
    const old = documents.make(random, world.place)
    return { old, now: documents.change(random, old) }
  }
  const plain = makeDocument(random, world.place)
  const own = new Random(seed + 2_000_000_011)
  const old = withFeatures(own, plain, world.place)
  const now = changed(random, old)
  return { old, now: old === plain ? now : changedFeature(own, now) }
}

/** Makes the pair of a seed, serves it, and compares all statements about it with the outcomes. */
export async function judgeSeed(seed: number, options: JudgeOptions): Promise<Judged> {
  return judgeTrees(seed, treesOf(seed, options.world), options)
}

export async function judgeTrees(
  seed: number,
  trees: Trees,
  options: JudgeOptions,
  extra: readonly Probe[] = [],
): Promise<Judged> {
  const { world, tools, count, only } = options
  const random = new Random(seed + 1_000_000_007)
  world.forgetNames()
  const probes = [...extra, ...probesFor(random, [trees.old, trees.now], PROBES)]
  const due = (Object.keys(CHECKS) as CheckName[]).filter((name) => {
    const shouldAudit = random.chance(SHARES[name] ?? 1)
    if (isLeftOut(name, trees.old)) return false
    return only === undefined ? shouldAudit : only.includes(name)
  })
  const sides: Side[] = []
  for (const name of ['old', 'now'] as const) {
    const side = await observe(name, trees[name], probes, world, due.includes('effective'))
    if (typeof side === 'string') return { seed, trees, claims: [], unserved: side }
    sides.push(side)
  }
  const [old, now] = sides as [Side, Side]
  const pair: Pair = { world, random, tools, probes, old, now, count }
  const claims: FalseClaim[] = []
  for (const name of due) claims.push(...(await checked(name, pair)))
  // A separate process chooses its backend by chance.
  const isShared = [trees.old, trees.now].some((tree) => sharesIn(tree).length > 0)
  if (options.running !== undefined && !isShared) {
    for (const side of sides) {
      const found = await options.running.compare(side, probes)
      count(
        found === 'rejected' ? 'files that portcullis run rejects' : 'files through portcullis run',
      )
      if (found !== 'rejected') claims.push(...found)
    }
  }
  return { seed, trees, claims }
}

/** A command that throws makes a false claim, too. */
async function checked(name: CheckName, pair: Pair): Promise<readonly FalseClaim[]> {
  try {
    return await CHECKS[name](pair)
  } catch (error) {
    const { message, stack = '' } = error as Error
    const at = stack.split('\n').find((line) => line.includes('/src/')) ?? ''
    return [{ kind: `${name} throws`, claim: `${name}: ${message}`, observed: at.trim() }]
  }
}

async function observe(
  name: Side['name'],
  tree: Tree,
  probes: readonly Probe[],
  world: World,
  isOpened: boolean,
): Promise<Side | string> {
  const bare = isOpened
    ? await world.serve(world.write('open.yaml', withoutPolicies(tree)))
    : undefined
  if (bare !== undefined) return bare
  const open = isOpened ? await world.send(probes) : []
  const written = writeYaml(tree)
  const file = world.write(`${name}.yaml`, tree)
  const problem = await world.serve(file)
  if (problem !== undefined) return problem
  const records: Side['records'][number][] = []
  world.records.length = 0
  const outcomes = await world.send(probes, () => void records.push(world.records.splice(0)))
  return { name, tree, file, written, outcomes, open, records }
}
