import { type Example, parseExact, probeFor } from './claims-diff.ts'
import { at, isTree, rulesOf, type Tree, walk, withValue, writeYaml } from './document.ts'
import { expression, nearby, type Scope } from './expressions.ts'
import type { Check, FalseClaim, Pair, Side } from './pair.ts'
import { readsAddresses, routesBy } from './places.ts'
import { describeProbe, isMistakable } from './probes.ts'
import { sharesIn } from './shares.ts'
import { isAdmitted, type Outcome, type Probe } from './wire.ts'

interface Verdict {
  readonly kind: 'proven' | 'refuted' | 'not known'
  readonly isVacuous?: boolean
  readonly examples?: readonly {
    readonly listener: string
    readonly route: string
    readonly example: Example
  }[]
}

const IDENTITY = /\b(?:jwt|apiKey|basicAuth)\b/

/**
 * `portcullis prove`: an invariant holds for all admitted requests exactly if a Require rule with
 * it denies none of them. So the rule is added in a separate file, and the sockets decide.
 */
export const checkProve: Check = async (pair) => {
  const { random, tools, world, count } = pair
  const side = random.chance(0.5) ? pair.old : pair.now
  const claims: FalseClaim[] = []
  for (const route of random.some((side.tree['routes'] ?? []) as readonly Tree[], 1)) {
    const name = route['name'] as string
    const condition = conditionFor(pair, side)
    const required = withRequirement(side.tree, name, condition)
    if (required === undefined) continue
    const config = side.file.split('/').at(-1) as string
    const invariants = [{ name: 'it holds', on: { route: name }, admitted: condition }]
    const suite = writeYaml({ name: 'invariants', config, invariants }).text.replaceAll('$$', '$')
    const file = world.writeText('invariants.yaml', suite)
    const { out } = await tools(['prove', file, '--format', 'json'])
    const { suites } = parseExact(out) as {
      suites: readonly { invariants: readonly { answer: Verdict }[] }[]
    }
    const verdict = suites[0]?.invariants[0]?.answer
    if (verdict === undefined) continue
    count(`prove: ${verdict.kind}`)
    const claim = `prove: ${verdict.kind}: of all that is admitted at route ${name}: ${condition}`
    claims.push(...(await checkVerdict(pair, side, required, name, verdict, claim)))
  }
  return claims
}

/**
 * A condition that a rule already contains is often proven, and a slightly different one often is
 * not.
 */
function conditionFor({ random }: Pair, { tree }: Side): string {
  const rules = rulesOf(tree).filter(({ path }) => !path.includes('networkAuthorization'))
  const rule = rules.length === 0 ? undefined : random.pick(rules)
  if (rule !== undefined && random.chance(0.75)) {
    const own = rule.action === 'deny' ? `!(${rule.expression})` : rule.expression
    return random.chance(0.6) ? own : nearby(random, own)
  }
  const scope: Scope = {
    stage: 'traffic',
    hasJwt: false,
    hasApiKey: false,
    hasCertificates: false,
    hasServerName: false,
    hasSources: false,
  }
  return expression(random, scope)
}

/**
 * The file that also requires it on the route; undefined if it would have another meaning there.
 */
function withRequirement(tree: Tree, route: string, condition: string): Tree | undefined {
  if (/\bbackend\./.test(condition)) return undefined
  const rule = { require: condition }
  if (!IDENTITY.test(condition)) {
    const own = {
      name: 'required',
      target: { route },
      traffic: { authorization: { rules: [rule] } },
    }
    return { ...tree, policies: [...((tree['policies'] ?? []) as readonly Tree[]), own] }
  }
  // A rule sees the identity from its own policy or from an outer level: with one authentication
  // there is no ambiguity.
  const found = [...walk(tree)].filter(([path]) => AUTHENTICATIONS.has(path.at(-1)))
  const [path] = found[0] ?? []
  if (path === undefined || found.length > 1) return undefined
  const index = ((tree['routes'] ?? []) as readonly Tree[]).findIndex(
    (one) => one['name'] === route,
  )
  const isAttached = path[0] === 'policies'
  const isRoutes = path[0] === 'routes'
  if (isRoutes && path[1] !== index) return undefined
  const target = isAttached ? (at(tree, [...path.slice(0, 2), 'target']) as Tree) : undefined
  if (target !== undefined && target['route'] !== route) return undefined
  const holder = isAttached ? path.slice(0, -1) : ['routes', index, 'policies']
  const authorization = at(tree, [...holder, 'authorization'])
  if (authorization === undefined) {
    return withValue(tree, [...holder, 'authorization'], { rules: [rule] })
  }
  if (!isTree(authorization) || authorization['mode'] !== undefined) return undefined
  const rules = authorization['rules']
  if (!Array.isArray(rules)) return undefined
  return withValue(tree, [...holder, 'authorization', 'rules'], [...rules, rule])
}

const AUTHENTICATIONS: ReadonlySet<unknown> = new Set([
  'jwtAuthentication',
  'apiKey',
  'basicAuth',
  'authentication',
])

async function checkVerdict(
  { world, probes, count }: Pair,
  side: Side,
  required: Tree,
  route: string,
  verdict: Verdict,
  claim: string,
): Promise<readonly FalseClaim[]> {
  const isReading = readsAddresses(side.tree) || readsAddresses(required)
  // The statement does not name the backend of an example.
  const examples = sharesIn(side.tree).length > 0 ? [] : (verdict.examples ?? [])
  const sent = examples.flatMap((one) => probeFor(one, side, isReading) ?? [])
  if (verdict.kind === 'not known' || (verdict.kind === 'refuted' && sent.length === 0)) return []
  if ((await world.serve(world.write('required.yaml', required))) !== undefined) {
    count('variants that are not served')
    return []
  }
  if (verdict.kind === 'proven') {
    const got = await world.send(probes)
    const index = got.findIndex((outcome, at) => {
      const before = side.outcomes[at] as Outcome
      if (isMistakable(probes[at] as Probe)) return false
      const isHere = routesBy(side.tree, before).join() === route
      return isHere && isAdmitted(before) && (verdict.isVacuous === true || !isAdmitted(outcome))
    })
    if (index < 0) return []
    const observed = `${side.outcomes[index]?.status}, and ${got[index]?.status} where it is required`
    const probe = probes[index]
    return [{ kind: 'prove', claim, observed, ...(probe && { probe: describeProbe(probe) }) }]
  }
  const denied = await world.send(sent)
  await world.serve(side.file)
  const admitted = await world.send(sent)
  return sent.flatMap((probe, index): readonly FalseClaim[] => {
    count('prove examples sent')
    const [yes, no] = [admitted[index] as Outcome, denied[index] as Outcome]
    if (isAdmitted(yes) && !isAdmitted(no)) return []
    const observed = `${yes.status}, and ${no.status} where it is required`
    return [{ kind: 'prove', claim, observed, probe: describeProbe(probe) }]
  })
}
