import { compileRules, type Rule, type RuleSet } from '../../src/cel/rules/rule-set.ts'
import type { Value } from '../../src/cel/values/value.ts'
import { type Figure, interleave } from '../measure.ts'
import { nanoseconds, ratio, type Table, type Target } from '../report.ts'
import type { CelGo } from './cel-go.ts'
import { type Context, context, toVariables } from './contexts.ts'
import { decider } from './decider.ts'
import { compiled } from './expressions.ts'

/** Rules of one shape, and requests that only rule n allows. */
interface Form {
  readonly name: string
  readonly rule: (n: number) => string
  readonly hit: (n: number) => Context
}

const BY_SUBJECT: Form = {
  name: 'jwt.sub ==',
  rule: (n) => `jwt.sub == 'user-${n}'`,
  hit: (n) => request(n, { sub: `user-${n}` }),
}

const BY_PREFIX: Form = {
  name: 'startsWith && team',
  rule: (n) => `request.path.startsWith('/api/svc-${n}/') && jwt.team == 'team-${n}'`,
  hit: (n) => request(n, { path: `/api/svc-${n}/items`, team: `team-${n}` }),
}

const BY_NETWORK: Form = {
  name: 'cidr',
  rule: (n) => `cidr('${network(n)}.0/24').containsIP(source.address)`,
  hit: (n) => request(n, { address: `${network(n)}.${(n % 254) + 1}` }),
}

const PARTS = [BY_SUBJECT, BY_PREFIX, BY_NETWORK] as const

const MIX: Form = {
  name: 'mix of 3',
  rule: (n) => (PARTS[n % 3] as Form).rule(n),
  hit: (n) => (PARTS[n % 3] as Form).hit(n),
}

/** The nth /24 network, starting at 10.0.0. */
function network(n: number): string {
  return `${10 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`
}

/** Attributes that are not given match no rule. */
function request(n: number, given: Parameters<typeof context>[0]): Context {
  return context(
    { sub: 'nobody', team: 'none', path: '/other', address: '203.0.113.9', ...given },
    n % 16,
  )
}

const FORMS: readonly Form[] = [BY_SUBJECT, BY_PREFIX, BY_NETWORK, MIX]
const SIZES = [10, 1_000, 10_000, 100_000]
const LARGEST = 100_000

const WARMING = 400_000

const HIT = 'index, hit'
const MISS = 'index, miss'
const LINEAR = 'linear, miss'
const GO_HIT = 'cel-go linear, hit'
const GO_MISS = 'cel-go linear, miss'
const COLUMNS = [HIT, MISS, LINEAR, GO_HIT, GO_MISS]

export async function benchRules(go: CelGo | undefined) {
  const rows: string[][] = []
  const targets: Target[] = []
  for (const form of FORMS) {
    for (const size of SIZES) {
      const figures = await measure(go, form, size)
      const p10 = (name: string) => figures.get(name)?.p10 ?? Number.NaN
      const [hits, misses] = [p10(GO_HIT) / p10(HIT), p10(GO_MISS) / p10(MISS)]
      const cells = COLUMNS.map((name) => nanoseconds(p10(name)))
      rows.push([form.name, size.toLocaleString('en-US'), ...cells, ratio(hits), ratio(misses)])
      targets.push(...judge(form, size, p10(HIT), p10(MISS), hits))
    }
  }
  const table: Table = {
    title: 'Allow rules, one decision (CPU time, p10)',
    columns: ['form', 'rules', ...COLUMNS, 'cel-go / index, hit', 'cel-go / index, miss'],
    rows,
  }
  return { tables: [table], targets }
}

function judge(form: Form, size: number, hit: number, miss: number, against: number): Target[] {
  if (size === 10 && form === MIX) {
    const slower = Math.max(hit, miss)
    const measured = nanoseconds(slower)
    return [{ what: '10 mixed rules', wanted: '< 300 ns', measured, met: slower < 300 }]
  }
  if (size !== LARGEST) return []
  const what = `100,000 rules, ${form.name}, hit`
  const found = [{ what, wanted: '< 1 µs', measured: nanoseconds(hit), met: hit < 1_000 }]
  if (Number.isNaN(against)) return found
  const wanted = '≥ 10,000 x'
  found.push({
    what: `${what}, against cel-go's`,
    wanted,
    measured: ratio(against),
    met: against >= 10_000,
  })
  return found
}

async function measure(
  go: CelGo | undefined,
  form: Form,
  size: number,
): Promise<Map<string, Figure>> {
  const texts = Array.from({ length: size }, (_, n) => form.rule(n))
  const hits = picked(size).map((n) => form.hit(n))
  const misses = hits.map((_, i) => request(i, {}))
  const own = { hits: hits.map(toVariables), misses: misses.map(toVariables) }
  const indexed = ruleSet(texts, true)
  const linear = ruleSet(texts, false)
  verify(indexed, linear, own)
  const contenders = [
    await decider(HIT, renewing(indexed), own.hits.map(textsOf)),
    await decider(MISS, renewing(indexed), own.misses.map(textsOf)),
    await decider(LINEAR, renewing(linear), own.misses.map(textsOf)),
  ]
  // Steady state: a gateway has made some hundred thousand decisions by then.
  for (const each of contenders.slice(0, 2)) await each.slice(WARMING)
  if (go !== undefined) {
    await go.load('rules', texts)
    await go.contexts('misses', misses.slice(0, 256))
    // Rules in the middle give the average cost of a hit.
    const middle = Array.from({ length: 4 }, (_, i) => form.hit(Math.floor(size / 2) - 2 + i))
    await go.contexts('hits', middle)
    contenders.push(go.contender(GO_HIT, 'rules', 'hits'))
    contenders.push(go.contender(GO_MISS, 'rules', 'misses'))
  }
  const figures = await interleave(contenders, { slices: size > 1_000 ? 10 : 20 })
  await go?.drop('rules')
  return figures
}

/** The values that differ from one request to the next. */
interface Texts {
  readonly sub: Value
  readonly team: Value
  readonly path: Value
  readonly address: Value
}

function textsOf(variables: ReturnType<typeof toVariables>): Texts {
  const { jwt, request, source } = variables as unknown as Live
  const { sub, team } = jwt
  return { sub, team, path: request.path, address: source.address } as Texts
}

interface Live {
  readonly jwt: Record<string, Value>
  readonly request: { path: Value }
  readonly source: { address: Value }
}

/**
 * One request whose strings change: a gateway decides on a request that it has just read, so the
 * request is in the CPU cache, and the rules are not.
 */
function renewing(set: RuleSet): (texts: Texts) => boolean {
  const variables = toVariables(request(0, {}))
  const { jwt, request: own, source } = variables as unknown as Live
  return ({ sub, team, path, address }) => {
    jwt['sub'] = sub
    jwt['team'] = team
    own.path = path
    source.address = address
    return set.decide(variables)
  }
}

function ruleSet(texts: readonly string[], index: boolean): RuleSet {
  return compileRules(allowRules(texts), { index })
}

/** Yields one rule at a time, as when a large configuration is loaded. */
export function* allowRules(texts: readonly string[]): Iterable<Rule> {
  for (const text of texts) yield { action: 'Allow', expression: compiled(text) }
}

/** Up to 4,096 rule numbers, spread over all rules in an order that defeats prefetching. */
function picked(size: number): number[] {
  return Array.from({ length: Math.min(4_096, size) }, (_, i) => ((i + 1) * 48_271) % size)
}

function verify(
  indexed: RuleSet,
  linear: RuleSet,
  { hits, misses }: Readonly<Record<'hits' | 'misses', ReturnType<typeof toVariables>[]>>,
): void {
  for (const [name, set] of Object.entries({ indexed, linear })) {
    const wrong = [
      ...hits.slice(0, 64).filter((each) => !set.decide(each)),
      ...misses.slice(0, 64).filter((each) => set.decide(each)),
    ]
    if (wrong.length > 0) throw new Error(`${name} decides ${wrong.length} requests wrong`)
  }
}

/** The rules that the child process of ./load.ts loads. */
export function mixedRules(size: number): string[] {
  return Array.from({ length: size }, (_, n) => MIX.rule(n))
}
