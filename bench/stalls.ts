import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { figure } from './measure.ts'
import { reachable, SOURCE } from './proxy/contenders.ts'
import { freePorts, start, stopAll } from './proxy/processes.ts'
import type { Report } from './report.ts'
import { ATTACKS, type Attack } from './stalls/attacks.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15)
const WARM_UPS = 3
/** Milliseconds of CPU that a request may cost beyond reading it. */
const MAX_COST = 10
const ISSUER = 'https://issuer.example'

/** What single requests cost that are made to cost: how long does one hold a worker? */
export async function stalls(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  const backend = createServer({ maxHeaderSize: 1 << 18 }, (message, answer) => {
    message.on('data', () => {}).on('end', () => answer.end('ok'))
  }).listen(0, '127.0.0.1')
  try {
    await once(backend, 'listening')
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256' }
    const [port = 0] = await freePorts(1)
    const file = join(folder, 'gateway.yaml')
    const jwks = JSON.stringify({ keys: [jwk] })
    writeFileSync(file, configuration(port, (backend.address() as AddressInfo).port, jwks))
    const gateway = start('proxy', process.execPath, [SOURCE, 'run', '-f', file])
    const { pid } = gateway
    await reachable(port, gateway, 60_000)
    const tokenOf = (claims: object) => {
      const now = Math.floor(Date.now() / 1000)
      const all = { iss: ISSUER, exp: now + 3_600, iat: now, ...claims }
      const signed = `${part({ alg: 'ES256', kid: 'bench' })}.${part(all)}`
      const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
      return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
    }
    const found: Found[] = []
    for (const [at, attack] of ATTACKS.entries()) {
      if (!attack.name.includes(process.env.BENCH_ONLY ?? '')) continue
      found.push(await measure({ attack, at, port, pid, token: tokenOf(attack.claims ?? {}) }))
    }
    return reportOf(found)
  } finally {
    backend.close()
    backend.closeAllConnections()
    await stopAll()
    rmSync(folder, { recursive: true, force: true })
  }
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function configuration(port: number, backend: number, jwks: string): string {
  const jwtAuthentication = { issuer: ISSUER, jwks: { inline: jwks } }
  const routes = ATTACKS.flatMap(({ rules }, at) =>
    [[], rules].map((own, n) => ({
      name: `${n === 0 ? 'plain' : 'ruled'}-${at}`,
      matches: [{ path: { exact: `/${n === 0 ? 'plain' : 'ruled'}-${at}` } }],
      policies: {
        jwtAuthentication,
        ...(own.length === 0 ? {} : { authorization: { rules: own } }),
      },
      backends: [{ host: `127.0.0.1:${backend}` }],
    })),
  )
  const config = {
    workers: 1,
    adminAddr: 'off',
    statsAddr: 'off',
    readinessAddr: 'off',
    logging: { level: 'error' },
  }
  const frontendPolicies = { accessLog: { enabled: false }, http: { maxHeadSize: '128Ki' } }
  const gateways = { default: { port } }
  return stringify({ config, gateways, frontendPolicies, routes }, { aliasDuplicateObjects: false })
}

interface Target {
  readonly attack: Attack
  readonly at: number
  readonly port: number
  readonly pid: number
  readonly token: string
}

interface Found {
  readonly name: string
  readonly bytes: number
  readonly status: number
  /** Of pairs of requests, one after the other: what the rules cost beyond the control. */
  readonly median: number
  readonly worst: number
  /** What the control alone differs from its own median at the worst: how much of it is noise. */
  readonly noise: number
}

/** With the rules and without, in turn. */
async function measure(target: Target): Promise<Found> {
  const { attack, at, port, pid, token } = target
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async (kind: string) => {
    const before = cpuOf(pid)
    const status = await send(agent, port, `/${kind}-${at}`, token, attack)
    // What is written and freed after the answer belongs to it.
    await new Promise((done) => setTimeout(done, 5))
    return { status, cost: cpuOf(pid) - before }
  }
  const plain: number[] = []
  const beyond: number[] = []
  let status = 0
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    // Whoever is second finds caches and heap as the first left them.
    const isFirst = round % 2 === 0
    const before = isFirst ? await ask('plain') : undefined
    const own = await ask('ruled')
    const control = before ?? (await ask('plain'))
    status = own.status
    if (round < 0) continue
    plain.push(control.cost)
    beyond.push(own.cost - control.cost)
  }
  agent.destroy()
  const bytes =
    Buffer.byteLength(attack.body ?? '') +
    Object.values(attack.headers ?? {}).reduce((sum, value) => sum + value.length, 0) +
    (attack.claims === undefined ? 0 : token.length)
  return {
    name: attack.name,
    bytes,
    status,
    median: figure(beyond).median,
    worst: Math.max(...beyond),
    noise: Math.max(...plain) - figure(plain).median,
  }
}

function send(
  agent: Agent,
  port: number,
  path: string,
  token: string,
  { body, headers }: Attack,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = Buffer.byteLength(body ?? '')
    const own = request(
      {
        agent,
        host: '127.0.0.1',
        port,
        path,
        method: length > 0 ? 'POST' : 'GET',
        headers: {
          authorization: `Bearer ${token}`,
          ...headers,
          ...(length > 0 ? { 'content-length': length } : {}),
        },
      },
      (answer) => {
        answer.on('data', () => {}).on('end', () => resolve(answer.statusCode ?? 0))
      },
    )
    own.on('error', reject).end(body)
  })
}

/** Milliseconds of CPU of all threads, to the microsecond. */
function cpuOf(pid: number): number {
  let nanoseconds = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
      nanoseconds += Number(text.split(' ')[0])
    } catch {
      // It ended meanwhile.
    }
  }
  return nanoseconds / 1e6
}

function reportOf(found: readonly Found[]): Report {
  const dearest = found.reduce((a, b) => (b.median > a.median ? b : a))
  const worst = found.reduce((a, b) => (b.worst > a.worst ? b : a))
  const shown = (value: number) => `${value.toFixed(2)} ms`
  return {
    intro: [
      'CPU time of all threads of a gateway with one worker for one request, less that of a control:',
      'the same bytes to a route without rules, right before or after it. So it is what the rules,',
      `their explanation and their record cost beyond reading the bytes. ${ROUNDS} such pairs of each`,
      'attack; the median and the worst of their differences. The last column is the worst that the',
      'control itself is above its own median: collections of garbage, functions that are compiled',
      'anew and other processes, which are in the worst of the differences too.',
    ],
    targets: [
      {
        what: `the dearest request, median (${dearest.name})`,
        wanted: `< ${MAX_COST} ms`,
        measured: shown(dearest.median),
        met: dearest.median < MAX_COST,
      },
      {
        what: `the dearest request, worst of ${ROUNDS} (${worst.name})`,
        wanted: `< ${MAX_COST} ms`,
        measured: shown(worst.worst),
        met: worst.worst < MAX_COST,
      },
    ],
    tables: [
      {
        title: 'What attacks cost',
        columns: ['attack', 'bytes', 'response', 'median', 'worst', 'worst of the control'],
        rows: found.map(({ name, bytes, status, median, worst: most, noise }) => [
          name,
          bytes.toLocaleString('en-US'),
          String(status),
          shown(median),
          shown(most),
          shown(noise),
        ]),
      },
    ],
  }
}
