import { readFileSync } from 'node:fs'
import { rulesOf, type Tree, type WrittenRule, withValue } from './document.ts'
import { withoutRule } from './mutate.ts'
import type { Check, FalseClaim, Pair, Side } from './pair.ts'
import { listenerOf, listenersOf, routesBy } from './places.ts'
import { describeProbe, isMistakable } from './probes.ts'
import { isAdmitted, type Outcome, type Probe } from './wire.ts'

interface Finding {
  readonly code: string
  readonly severity: string
  readonly message: string
  readonly origin: { readonly line?: number }
}

/** `portcullis lint`: statements about all requests are tested by applying them to the file. */
export const checkLint: Check = async (pair) => {
  const claims: FalseClaim[] = []
  for (const side of pair.random.chance(0.5) ? [pair.old] : [pair.now]) {
    const { out } = await pair.tools(['lint', '--format', 'json', side.file])
    const { diagnostics } = JSON.parse(out) as { readonly diagnostics: readonly Finding[] }
    pair.count('lint')
    claims.push(
      ...(await checkConstant(pair, side, diagnostics)),
      ...(await checkRedundant(pair, side, diagnostics)),
      ...checkClosed(pair, side, diagnostics),
      ...checkUnreached(pair, side, diagnostics),
    )
  }
  return claims
}

/** `--fix` changes no outcome. */
export const checkFix: Check = async (pair) => {
  const { old: side, world, tools } = pair
  const before = readFileSync(side.file, 'utf8')
  const copy = world.writeText('fixed.yaml', before, side.tree)
  await tools(['lint', '--fix', copy])
  const after = readFileSync(copy, 'utf8')
  if (after === before) return []
  pair.count('lint --fix')
  const claim = `lint --fix: the same decisions without ${removedIn(before, after).join(' | ')}`
  return compare(pair, side, copy, { kind: 'lint fix', claim })
}

function removedIn(before: string, after: string): readonly string[] {
  const left = after.split('\n')
  return before.split('\n').filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

function ruleAt({ tree, written }: Side, { origin }: Finding): WrittenRule | undefined {
  return rulesOf(tree).find(({ path }) => {
    const item = path.at(-2) === 'matchExpressions' ? path : path.slice(0, -1)
    return written.lines.get(item.join('/')) === origin.line
  })
}

/** Replaces rules that are never or always true by that constant. */
async function checkConstant(
  pair: Pair,
  side: Side,
  findings: readonly Finding[],
): Promise<readonly FalseClaim[]> {
  const said = findings.flatMap((finding) => {
    const constant = constantSaid(finding)
    const rule = ruleAt(side, finding)
    // Without an effect, nothing is said about what else the rule does.
    const isBare = !finding.message.includes(', so ') && /\bllm\./.test(rule?.expression ?? '')
    return constant === undefined || rule === undefined || isBare
      ? []
      : [{ finding, constant, rule }]
  })
  if (said.length === 0) return []
  for (const { finding } of said) pair.count(`lint ${finding.code} constant`)
  const claims: FalseClaim[] = []
  let tree = side.tree
  for (const { rule, constant } of said) tree = withValue(tree, rule.path, constant)
  const all = await compare(pair, side, pair.world.write('constant.yaml', tree), {
    kind: 'lint constant',
    claim: 'several',
  })
  // One of the statements is false: tests them one by one.
  if (all.length === 0) return []
  for (const { finding, rule, constant } of said) {
    const file = pair.world.write('constant.yaml', withValue(side.tree, rule.path, constant))
    const claim = `lint ${finding.code}: ${finding.message} (${rule.action}: ${rule.expression})`
    claims.push(...(await compare(pair, side, file, { kind: 'lint constant', claim })))
  }
  return claims.length === 0 ? all : claims
}

const NEVER: ReadonlySet<string> = new Set(['AZ001', 'AZ022'])

/** An expression that users could write, and that the gateway does not reject beforehand. */
function constantSaid({ code, severity, message }: Finding): string | undefined {
  if (/no request can satisfy this rule|this rule admits no requests/.test(message)) return '1 == 2'
  if (/every request satisfies this rule/.test(message)) return '1 == 1'
  // A comparison that is never true is an error only if the whole rule is never true.
  return NEVER.has(code) && severity === 'error' ? '1 == 2' : undefined
}

/** Removes rules without effect, one at a time: two may each be redundant only beside the other. */
async function checkRedundant(
  pair: Pair,
  side: Side,
  findings: readonly Finding[],
): Promise<readonly FalseClaim[]> {
  const said = findings.flatMap((finding) => {
    const rule = ruleAt(side, finding)
    return rule !== undefined && /this rule has no effect/.test(finding.message)
      ? [{ finding, rule }]
      : []
  })
  const claims: FalseClaim[] = []
  for (const { finding, rule } of pair.random.some(said, 1)) {
    pair.count(`lint ${finding.code} redundant`)
    const file = pair.world.write('without.yaml', withoutRule(side.tree, rule.path))
    const claim = `lint ${finding.code}: ${finding.message} (${rule.action}: ${rule.expression})`
    claims.push(...(await compare(pair, side, file, { kind: 'lint redundant', claim })))
  }
  return claims
}

/** Routes and listeners that admit no request. */
function checkClosed(pair: Pair, side: Side, findings: readonly Finding[]): readonly FalseClaim[] {
  return findings.flatMap(({ code, message }) => {
    const [, noun, name = ''] = /no request is admitted at (\w+) ([^\s:]+)/.exec(message) ?? []
    if (noun !== 'route' && noun !== 'listener') return []
    pair.count(`lint ${code} nothing can pass`)
    const places = noun === 'listener' ? [name] : listenersOf(side.tree, name)
    const passed = places.map((listener) =>
      pair.probes.findIndex((probe, index) => {
        const outcome = side.outcomes[index] as Outcome
        if (!isAdmitted(outcome) || listenerOf(side.tree, probe) !== listener) return false
        return noun === 'listener' || routesBy(side.tree, outcome).join() === name
      }),
    )
    const [at = -1] = passed
    // If several listeners serve a route, the statement does not name the one that it means.
    if (at < 0 || passed.includes(-1)) return []
    const { status } = side.outcomes[at] as Outcome
    const observed = `${side.name} responds with ${status}`
    const probe = describeProbe(pair.probes[at] as Probe)
    return [{ kind: 'lint nothing can pass', claim: `lint ${code}: ${message}`, observed, probe }]
  })
}

/** Routes that no request can reach. */
function checkUnreached(
  pair: Pair,
  side: Side,
  findings: readonly Finding[],
): readonly FalseClaim[] {
  return findings.flatMap(({ code, message, origin }) => {
    if (code !== 'PC0313' && !/unreachable|no (?:request|listener)/.test(message)) return []
    if (code !== 'PC0313' && code !== 'AZ008') return []
    const routes = (side.tree['routes'] ?? []) as readonly Tree[]
    const index = routes.findIndex(
      (_, at) => side.written.lines.get(`routes/${at}`) === origin.line,
    )
    const name = routes[index]?.['name'] as string | undefined
    if (name === undefined) return []
    pair.count(`lint ${code} unreachable`)
    const at = side.outcomes.findIndex((outcome) => routesBy(side.tree, outcome).join() === name)
    if (at < 0) return []
    const observed = `${side.name}: it is reached`
    const probe = describeProbe(pair.probes[at] as Probe)
    return [{ kind: 'lint unreachable', claim: `lint ${code}: ${message}`, observed, probe }]
  })
}

/** Whether the other file gives the same outcome for every probe. */
async function compare(
  pair: Pair,
  side: Side,
  file: string,
  said: { readonly kind: string; readonly claim: string },
): Promise<readonly FalseClaim[]> {
  const problem = await pair.world.serve(file)
  if (problem !== undefined) {
    pair.count('variants that are not served')
    return []
  }
  const got = await pair.world.send(pair.probes)
  for (const [index, outcome] of got.entries()) {
    const before = side.outcomes[index] as Outcome
    if (isAdmitted(before) === isAdmitted(outcome)) continue
    if (said.kind !== 'lint fix' && isMistakable(pair.probes[index] as Probe)) continue
    const observed = `${before.status}, and ${outcome.status} without it`
    return [{ ...said, observed, probe: describeProbe(pair.probes[index] as Probe) }]
  }
  return []
}
