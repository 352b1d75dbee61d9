import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  envoyConfiguration,
  type Governance,
  ownConfiguration,
} from './authorization/configurations.ts'
import { COLD_SCRIPT, makeTokens, type Tokens } from './authorization/tokens.ts'
import { figure } from './measure.ts'
import { reachable, SOURCE, startBackend } from './proxy/contenders.ts'
import { findEnvoy, findProgram } from './proxy/find.ts'
import { fullLoad } from './proxy/load.ts'
import { freePorts, isPinned, pause, start, stopAll } from './proxy/processes.ts'
import { type Report, ratio, type Target } from './report.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7)
const WARM_UPS = 3
const COUNTS = [0, 1, 10, 100, 1_000, 10_000] as const
/** Envoy tests its rules one by one: with 10,000 it decides a few dozen requests per second. */
const ENVOY_COUNTS = COUNTS.slice(0, -1)
const CONNECTIONS = 32
/** More than one slice requests. */
const COLD_TOKENS = 25_000

/** One subject of measurement: a port of a process, and the request sent to it. */
interface Subject {
  readonly key: string
  readonly pid: number
  readonly port: number
  readonly headers: readonly string[]
  readonly script?: string
  readonly before?: () => Promise<void>
}

/** Cost of a token and rules, compared with Envoy in the same run. */
export async function authorization(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  try {
    const wrk = findProgram('wrk', '-v')
    if (typeof wrk === 'string') return leftOut([wrk])
    const tokens = makeTokens()
    const [backend = 0] = await freePorts(1)
    await startBackend(folder, backend, findProgram('nginx', '-v'))
    const own = await openOwn(folder, backend, tokens)
    const envoy = await openEnvoy(folder, backend, tokens)
    const subjects = typeof envoy === 'string' ? own : [...own, ...envoy]
    const medians = await measure(subjects, wrk.program)
    return reportOf(medians, typeof envoy === 'string' ? [envoy] : [])
  } finally {
    await stopAll()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function openOwn(folder: string, backend: number, tokens: Tokens): Promise<Subject[]> {
  const ports = await freePorts(COUNTS.length + 2)
  const all = governances(COUNTS, ports)
  const cold: Governance = { name: 'cold', port: ports.at(-1) as number, rules: 10 }
  const file = join(folder, 'gateway.yaml')
  const write = (leeway: number) => {
    const text = ownConfiguration(backend, tokens.jwks, [...all, cold], leeway)
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  write(0)
  const started = start('proxy', process.execPath, [SOURCE, 'run', '-f', file])
  await reachable(cold.port, started, 30_000)
  const list = join(folder, 'tokens')
  writeFileSync(list, `${tokens.many(COLD_TOKENS).join('\n')}\n`)
  process.env['BENCH_TOKENS'] = list
  const script = join(folder, 'cold.lua')
  writeFileSync(script, COLD_SCRIPT)
  let leeway = 0
  // A changed policy starts with an empty token cache.
  const forget = async () => {
    write(++leeway)
    await pause(2_000)
  }
  const { pid } = started
  return [
    ...all.map((one) => subject('portcullis', one, pid, tokens)),
    {
      key: keyOf('portcullis, cold', 10),
      pid,
      port: cold.port,
      headers: [],
      script,
      before: forget,
    },
  ]
}

async function openEnvoy(
  folder: string,
  backend: number,
  tokens: Tokens,
): Promise<Subject[] | string> {
  const found = findEnvoy()
  if (typeof found === 'string') return found
  const ports = await freePorts(ENVOY_COUNTS.length * 2 + 1)
  const all = governances(ENVOY_COUNTS, ports)
  const kept = ENVOY_COUNTS.map(
    (rules, i): Governance => ({
      name: `kept-${rules}`,
      port: ports[all.length + i] as number,
      rules,
      remembers: true,
    }),
  )
  mkdirSync(join(folder, 'envoy'))
  const file = join(folder, 'envoy/envoy.json')
  writeFileSync(file, envoyConfiguration(backend, tokens.jwks, [...all, ...kept]))
  const quiet = ['--log-level', 'error', '--disable-hot-restart']
  const started = start('proxy', found.program, ['-c', file, '--concurrency', '1', ...quiet])
  await reachable((kept.at(-1) as Governance).port, started, 30_000)
  return [
    ...all.map((one) => subject('Envoy', one, started.pid, tokens)),
    ...kept.map((one) => subject('Envoy, JWT cache', one, started.pid, tokens)),
  ]
}

/** The first without a token or rules, the others with more and more rules. */
function governances(counts: readonly number[], ports: readonly number[]): readonly Governance[] {
  return [undefined, ...counts].map((rules, i) => ({
    name: `rules-${rules ?? 'none'}`,
    port: ports[i] as number,
    rules,
  }))
}

function subject(
  proxy: string,
  { rules, port }: Governance,
  pid: number,
  { one }: Tokens,
): Subject {
  const headers = rules === undefined ? [] : [`authorization: Bearer ${one}`]
  return { key: keyOf(proxy, rules), pid, port, headers }
}

const keyOf = (proxy: string, rules: number | undefined) => `${proxy} ${rules ?? 'none'}`

type Medians = ReadonlyMap<string, number>

/** CPU µs per request; all subjects take turns in each round. */
async function measure(subjects: readonly Subject[], wrk: string): Promise<Medians> {
  const samples = new Map<string, number[]>(subjects.map(({ key }) => [key, []]))
  const slice = async ({ key, pid, port, headers, script, before }: Subject) => {
    await before?.()
    const url = `http://127.0.0.1:${port}/`
    const load = { url, connections: CONNECTIONS, seconds: 1, headers }
    const found = await fullLoad(wrk, pid, script === undefined ? load : { ...load, script })
    if (script !== undefined && found.requests > COLD_TOKENS) {
      throw new Error(`${found.requests} requests had ${COLD_TOKENS} tokens: not all were cold`)
    }
    samples.get(key)?.push(found.user + found.kernel)
  }
  // Each subject warms up the code, and code optimized for one is recompiled for the next.
  for (let round = 0; round < WARM_UPS; round++) for (const one of subjects) await slice(one)
  for (const list of samples.values()) list.length = 0
  for (let round = 0; round < ROUNDS; round++) {
    const shift = round % subjects.length
    for (const one of [...subjects.slice(shift), ...subjects.slice(0, shift)]) await slice(one)
  }
  return new Map([...samples].map(([key, list]) => [key, figure(list).median]))
}

function reportOf(medians: Medians, missing: readonly string[]): Report {
  const of = (proxy: string, rules: number | undefined) => medians.get(keyOf(proxy, rules))
  const cell = (value: number | undefined) => value?.toFixed(1) ?? 'n/a'
  const proxies = ['portcullis', 'portcullis, cold', 'Envoy', 'Envoy, JWT cache']
  const rows = [undefined, ...COUNTS].map((rules) => [
    rules === undefined ? 'no token, no rules' : `token and ${rules.toLocaleString('en-US')} rules`,
    ...proxies.map((proxy) => cell(of(proxy, rules))),
    share(of('portcullis', rules), of('portcullis', undefined)),
    share(of('portcullis', rules), of('Envoy', rules)),
  ])
  return {
    intro: [
      'One proxy on one core with keep-alive, wrk with 32 connections and the backend on the other;',
      'a token of RS256 (2048 bits), and Allow rules on a claim and the method, of which the last',
      `admits it. CPU µs per request, medians of ${ROUNDS} rounds of 1 s in turn (BENCH_ROUNDS=25`,
      'for figures to quote). Hot: one client, whose token is known. Cold: a new token each time.',
      'Envoy verifies with jwt_authn and decides with RBAC, and remembers tokens where it says so.',
      'It tests rules in turn; with 10,000 of them it did not respond in time to be measured.',
      ...(isPinned ? [] : ['**Nothing was pinned to a core here: ratios mean little.**']),
      ...missing.map((what) => `Left out: ${what}.`),
    ],
    tables: [
      {
        title: 'CPU µs per request',
        columns: [
          'load',
          'portcullis',
          'cold',
          'Envoy',
          'Envoy, JWT cache',
          'to ungoverned',
          'to Envoy',
        ],
        rows,
      },
    ],
    targets: [
      ...target(
        '10 rules, hot, to our own ungoverned',
        of('portcullis', 10),
        of('portcullis', undefined),
        1.2,
      ),
      ...target('10 rules, hot, to Envoy governed', of('portcullis', 10), of('Envoy', 10), 1 / 3),
      ...target(
        '10 rules, hot, to Envoy with its JWT cache',
        of('portcullis', 10),
        of('Envoy, JWT cache', 10),
        1 / 2,
      ),
      ...target(
        '10 rules, hot, to Envoy ungoverned',
        of('portcullis', 10),
        of('Envoy', undefined),
        1,
      ),
      ...target('10,000 rules to 10', of('portcullis', 10_000), of('portcullis', 10), 1.1),
    ],
  }
}

function share(own: number | undefined, other: number | undefined): string {
  return own === undefined || other === undefined ? 'n/a' : ratio(own / other)
}

function target(
  what: string,
  own: number | undefined,
  other: number | undefined,
  max: number,
): Target[] {
  if (own === undefined || other === undefined) return []
  const measured = own / other
  return [
    { what, wanted: `≤ ${max.toFixed(2)} x`, measured: ratio(measured), met: measured <= max },
  ]
}

function leftOut(missing: readonly string[]): Report {
  return { intro: missing.map((what) => `Left out: ${what}.`), tables: [], targets: [] }
}
