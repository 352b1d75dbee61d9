import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { figure } from './measure.ts'
import { reachable, SOURCE } from './proxy/contenders.ts'
import { freePorts, start, stopAll } from './proxy/processes.ts'
import type { Report } from './report.ts'
import { type Attack, RULE_ATTACKS } from './stalls/attacks.ts'
import { PROTOCOL_ATTACKS, responseTo } from './stalls/protocol-attacks.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 31)
/** Enough rounds for V8 to compile the functions of both variants in their final form. */
const WARM_UPS = 12
/** Max CPU milliseconds of a request beyond reading it. */
const MAX_COST = 10
const ISSUER = 'https://issuer.example'
const ATTACKS: readonly Attack[] = [...RULE_ATTACKS, ...PROTOCOL_ATTACKS]

/** Cost of single requests crafted to be expensive: how long does one block a worker? */
export async function stalls(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  const backend = createServer({ maxHeaderSize: 1 << 18 }, (message, response) => {
    message
      .on('data', () => {})
      .on('end', () => {
        const { type, text } = responseTo(message.url ?? '')
        response.setHeader('content-type', type).end(text)
      })
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
  const host = `127.0.0.1:${backend}`
  const routes = ATTACKS.flatMap(({ rules = [], policies = {}, backendOf }, at) => [
    {
      name: `plain-${at}`,
      hostnames: [`plain-${at}.test`],
      policies: { jwtAuthentication },
      backends: [{ host }],
    },
    {
      name: `ruled-${at}`,
      hostnames: [`ruled-${at}.test`],
      policies: {
        jwtAuthentication,
        ...(rules.length === 0 ? {} : { authorization: { rules } }),
        ...policies,
      },
      backends: [backendOf?.(host) ?? { host }],
    },
    {
      name: `read-${at}`,
      hostnames: [`read-${at}.test`],
      policies: { jwtAuthentication },
      backends: [backendOf?.(host) ?? { host }],
    },
  ])
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
  /** Median over request pairs of the cost of the rules beyond the control. */
  readonly median: number
  /** The part spent reading the body, which happens without guards as well. */
  readonly reading: number | undefined
  /** The most expensive request, minus the most expensive of the control. */
  readonly worst: number
  /** The control's max deviation from its own median: the share of noise. */
  readonly noise: number
  /** Longest wait of another client during the attack, and during the control. */
  readonly wait: number
  readonly controlWait: number
  readonly isOfServer: boolean
}

/** Measures with and without the rules, in turn. */
async function measure(target: Target): Promise<Found> {
  const { attack, at, port, pid, token } = target
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async (kind: string) => {
    const before = cpuOf(pid)
    const status = await send(agent, port, `${kind}-${at}.test`, token, attack)
    // Work after the response counts as part of the request.
    await settled(pid)
    return { status, cost: cpuOf(pid) - before }
  }
  const plain: number[] = []
  const ruled: number[] = []
  const read: number[] = []
  let status = 0
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    // The order alternates, because the second request finds the caches of the first.
    const isFirst = round % 2 === 0
    const before = isFirst ? await ask('plain') : undefined
    const own = await ask('ruled')
    const control = before ?? (await ask('plain'))
    const reading = attack.isReadAnyway ? await ask('read') : undefined
    status = own.status
    if (round < 0) continue
    if (reading !== undefined) read.push(reading.cost - control.cost)
    plain.push(control.cost)
    ruled.push(own.cost)
  }
  const waits = await measureWaits(target, agent)
  agent.destroy()
  const bytes =
    Buffer.byteLength(attack.body ?? '') +
    Object.values(attack.headers ?? {}).reduce((sum, value) => sum + value.length, 0) +
    (attack.claims === undefined ? 0 : token.length)
  return {
    name: attack.name,
    bytes,
    status,
    median: figure(ruled.map((cost, round) => cost - (plain[round] as number))).median,
    reading: read.length === 0 ? undefined : figure(read).median,
    worst: Math.max(...ruled) - Math.max(...plain),
    noise: Math.max(...plain) - figure(plain).median,
    ...waits,
    isOfServer: attack.isOfServer === true,
  }
}

const WAITS = Math.min(9, ROUNDS)
const LITTLE: Attack = { name: 'a request of another client' }

/** The longest latency of another client that sends one small request after the other. */
async function measureWaits(
  { attack, at, port, token }: Target,
  agent: Agent,
): Promise<Pick<Found, 'wait' | 'controlWait'>> {
  const other = new Agent({ keepAlive: true, maxSockets: 1 })
  const longest = async (kind: string) => {
    let isOver = false
    const served = send(agent, port, `${kind}-${at}.test`, token, attack).finally(() => {
      isOver = true
    })
    let max = 0
    while (!isOver) {
      const before = performance.now()
      await send(other, port, `plain-${at}.test`, token, LITTLE)
      max = Math.max(max, performance.now() - before)
    }
    await served
    return max
  }
  const ruled: number[] = []
  const plain: number[] = []
  for (let round = 0; round < WAITS; round++) {
    plain.push(await longest('plain'))
    ruled.push(await longest('ruled'))
  }
  other.destroy()
  return { wait: figure(ruled).median, controlWait: figure(plain).median }
}

/** Waits until the process is idle: it has used next to no CPU for some milliseconds. */
async function settled(pid: number): Promise<void> {
  for (let before = cpuOf(pid); ; ) {
    await new Promise((done) => setTimeout(done, 6))
    const now = cpuOf(pid)
    if (now - before < 0.3) return
    before = now
  }
}

function send(
  agent: Agent,
  port: number,
  hostname: string,
  token: string,
  { body, headers, path = '/' }: Attack,
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
          host: hostname,
          authorization: `Bearer ${token}`,
          ...headers,
          ...(length > 0 ? { 'content-length': length } : {}),
        },
      },
      (response) => {
        response.on('data', () => {}).on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    own.on('error', reject).end(body)
  })
}

/**
 * CPU milliseconds of the thread that serves requests, with microsecond precision. Other threads
 * compile hot code and collect garbage concurrently, which does not delay requests.
 */
function cpuOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')
  return Number(text.split(' ')[0]) / 1e6
}

function reportOf(found: readonly Found[]): Report {
  const cost = ({ median, reading = 0 }: Found) => median - Math.max(0, reading)
  const ofClients = found.filter(({ isOfServer }) => !isOfServer)
  const own = ofClients.length === 0 ? found : ofClients
  const dearest = own.reduce((a, b) => (cost(b) > cost(a) ? b : a))
  const worst = own.reduce((a, b) => (b.worst > a.worst ? b : a))
  const beyond = ({ wait, controlWait }: Found) => wait - controlWait
  const longest = found.reduce((a, b) => (beyond(b) > beyond(a) ? b : a))
  const shown = (value: number) => `${value.toFixed(2)} ms`
  return {
    intro: [
      'CPU time that one request takes of the thread that serves all of them, less that of a control:',
      'the same bytes to a route that forwards them, right before or after it. So it is what rules,',
      'their explanation and record, guards and protocols cost beyond reading the bytes.',
      `${ROUNDS} such pairs of each attack: the median of their differences, and the dearest request less`,
      'the dearest of the control. The last column is how far the control alone is above its own',
      'median at worst: collections of garbage, functions that are compiled anew, other processes.',
      'Of calls that are guarded, what the same call costs without guards is to read it.',
      'What takes longer than a turn should is done in turns: the longest wait is what another client',
      `waits at most for a small request meanwhile (median of ${WAITS}), and the same beside the control,`,
      'which holds nobody up but to read and write the bytes. A list of tools is a response of a',
      'server: the sender of the request controls nothing of it, so that its wait alone is judged.',
    ],
    targets: [
      {
        what: `the dearest request beyond reading it, median (${dearest.name})`,
        wanted: `< ${MAX_COST} ms`,
        measured: shown(cost(dearest)),
        met: cost(dearest) < MAX_COST,
      },
      {
        what: `the dearest request, worst of ${ROUNDS} less that of the control (${worst.name})`,
        wanted: `< ${MAX_COST} ms`,
        measured: shown(worst.worst),
        met: worst.worst < MAX_COST,
      },
      {
        what: `the longest wait of another client beyond that of the control (${longest.name})`,
        wanted: `< ${MAX_COST} ms`,
        measured: shown(beyond(longest)),
        met: beyond(longest) < MAX_COST,
      },
    ],
    tables: [
      {
        title: 'What attacks cost',
        columns: [
          'attack',
          'bytes',
          'response',
          'median',
          'of it reading',
          'worst',
          'worst of the control',
          'longest wait',
          'of the control',
        ],
        rows: found.map((own) => [
          own.name,
          own.bytes.toLocaleString('en-US'),
          String(own.status),
          shown(own.median),
          own.reading === undefined ? '–' : shown(own.reading),
          shown(own.worst),
          shown(own.noise),
          shown(own.wait),
          shown(own.controlWait),
        ]),
      },
    ],
  }
}
