import { compile, type Expression, environment } from '../../src/cel/index.ts'
import { parseCidr } from '../../src/cel/values/cidr.ts'
import type { Ip } from '../../src/cel/values/ip.ts'
import { type Contender, type Figure, interleave } from '../measure.ts'
import { nanoseconds, ratio, type Table, type Target } from '../report.ts'
import type { CelGo } from './cel-go.ts'
import {
  type Context,
  FIXED,
  ROTATING,
  toVariables,
  VARIABLES,
  type Variables,
} from './contexts.ts'
import { decider } from './decider.ts'
import { PEERS } from './peers.ts'

interface Sample {
  readonly name: string
  readonly text: string
  /** The same written by hand: the lower bound for any engine. */
  readonly byHand: (variables: HandVariables) => boolean
}

interface HandVariables {
  readonly jwt: Readonly<Record<string, unknown>>
  readonly request: { readonly method: string; readonly path: string; readonly headers: Headers }
  readonly source: { readonly address: Ip }
}

type Headers = Readonly<Record<string, string | undefined>>

const TEN = parseCidr('10.0.0.0/8')

const SAMPLES: readonly Sample[] = [
  {
    name: 'e1',
    text: "jwt.sub == 'alice'",
    byHand: ({ jwt }) => jwt['sub'] === 'alice',
  },
  {
    name: 'e2',
    text: "jwt.sub == 'alice' && request.method == 'GET'",
    byHand: ({ jwt, request }) => jwt['sub'] === 'alice' && request.method === 'GET',
  },
  {
    name: 'e3',
    text: "request.path.startsWith('/api/') && jwt.team == 'x'",
    byHand: ({ jwt, request }) => request.path.startsWith('/api/') && jwt['team'] === 'x',
  },
  {
    name: 'e4',
    text: "request.path.startsWith('/api/v1/') && request.method in ['GET', 'HEAD'] && jwt.groups.exists(g, g == 'eng')",
    byHand: ({ jwt, request: { path, method } }) =>
      path.startsWith('/api/v1/') &&
      (method === 'GET' || method === 'HEAD') &&
      (jwt['groups'] as string[]).some((group) => group === 'eng'),
  },
  {
    name: 'e5',
    text: "cidr('10.0.0.0/8').containsIP(source.address) && has(jwt.email) && jwt.email.endsWith('@example.com') && !(request.headers['x-env'] == 'dev')",
    byHand: ({ jwt, request, source }) =>
      TEN?.containsIp(source.address) === true &&
      typeof jwt['email'] === 'string' &&
      jwt['email'].endsWith('@example.com') &&
      request.headers['x-env'] !== undefined &&
      request.headers['x-env'] !== 'dev',
  },
  {
    name: 'e6',
    text: "jwt.missing == 'x'",
    byHand: ({ jwt }) => jwt['missing'] === 'x',
  },
]

/** Column titles, therefore not abbreviated. */
const PREDICATE = 'predicate, generated'
const CLOSURES = 'predicate, closures'
const VALUE = 'value, generated'
const CEL_GO = 'cel-go'

type Figures = ReadonlyMap<string, ReadonlyMap<string, Figure>>

export async function benchExpressions(go: CelGo | undefined) {
  const fixed = await measureAll(go, [FIXED])
  const rotating = await measureAll(go, ROTATING)
  const tables = [
    table('One expression, one context (CPU time, p10)', fixed),
    table('One expression, 256 contexts in 16 orders of claims (CPU time, p10)', rotating),
  ]
  return {
    tables,
    targets: [...targets(fixed, 'one context'), ...targets(rotating, '256 contexts')],
  }
}

async function measureAll(go: CelGo | undefined, contexts: readonly Context[]): Promise<Figures> {
  const figures = new Map<string, ReadonlyMap<string, Figure>>()
  for (const sample of SAMPLES) {
    const contenders: Contender[] = []
    const expected = sample.name === 'e6' ? 0 : contexts.length
    const add = async <T>(name: string, decide: (context: T) => boolean, ready: readonly T[]) => {
      const count = ready.filter(decide).length
      if (count !== expected) throw new Error(`${name} decides ${sample.name} wrong: ${count}`)
      contenders.push(await decider(name, decide, ready))
    }
    const own = contexts.map(toVariables)
    for (const [name, decide] of ours(sample.text)) await add(name, decide, own)
    await add('by hand', sample.byHand as (variables: object) => boolean, own)
    for (const peer of PEERS) {
      await add(peer.name, peer.compile(sample.text), contexts.map(peer.prepare))
    }
    if (go !== undefined) {
      await go.load(sample.name, [sample.text])
      await go.contexts('contexts', contexts)
      const count = await go.count(sample.name, 'contexts', contexts.length)
      if (count !== expected) throw new Error(`cel-go decides ${sample.name} otherwise: ${count}`)
      contenders.push(go.contender(CEL_GO, sample.name, 'contexts'))
    }
    figures.set(sample.name, await interleave(contenders))
  }
  return figures
}

function ours(text: string): [string, (variables: Variables) => boolean][] {
  const generated = compiled(text)
  const evaluate = generated.evaluate()
  return [
    [PREDICATE, generated.predicate()],
    [CLOSURES, compiled(text, 'closures').predicate()],
    [VALUE, (variables) => evaluate(variables) === true],
  ]
}

type Backend = 'generated' | 'closures'

const ENVIRONMENT = environment({ name: 'bench', variables: VARIABLES })

export function compiled(text: string, backend: Backend = 'generated'): Expression {
  const { expression, diagnostics } = compile(text, ENVIRONMENT, { backend })
  if (expression === undefined) throw new Error(`${text}: ${diagnostics[0]?.message}`)
  return expression
}

function table(title: string, figures: Figures): Table {
  const names = [...new Set([...figures.values()].flatMap((of) => [...of.keys()]))]
  const rows = [...figures].map(([sample, of]) => [
    sample,
    ...names.map((name) => nanoseconds(of.get(name)?.p10 ?? Number.NaN)),
    ratio(between(of, CEL_GO, PREDICATE)),
  ])
  return { title, columns: ['', ...names, 'cel-go / predicate'], rows }
}

function targets(figures: Figures, where: string): Target[] {
  const found: Target[] = []
  for (const [sample, of] of figures) {
    if (!of.has(CEL_GO)) continue
    const times = between(of, CEL_GO, PREDICATE)
    found.push({
      what: `${sample} against cel-go, ${where}`,
      wanted: '≥ 10 x',
      measured: ratio(times),
      met: times >= 10,
    })
  }
  const present = figures.get('e1')?.get(PREDICATE)?.p10 ?? Number.NaN
  const missing = figures.get('e6')?.get(PREDICATE)?.p10 ?? Number.NaN
  found.push({
    what: `missing claim against a present one, ${where}`,
    wanted: '≤ 1.5 x',
    measured: ratio(missing / present),
    met: missing / present <= 1.5,
  })
  return found
}

function between(of: ReadonlyMap<string, Figure>, slow: string, fast: string): number {
  return (of.get(slow)?.p10 ?? Number.NaN) / (of.get(fast)?.p10 ?? Number.NaN)
}
