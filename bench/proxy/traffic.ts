import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { figure } from '../measure.ts'
import { type Report, ratio, type Table, type Target } from '../report.ts'
import { GRPC, RULE_HEADER } from './configurations.ts'
import { BODIES, type Candidate, type Field, GRPC_MESSAGE } from './contenders.ts'
import { fullHttp2Load, fullLoad, NothingServed, type Slice } from './load.ts'
import { type MachineTime, machineTime, residentOf } from './processes.ts'

/** Load generators. */
export interface Tools {
  readonly wrk: string
  /** Undefined leaves out the HTTP/2 loads. */
  readonly h2load: string | undefined
}

export interface Form {
  readonly name: string
  readonly rounds: number
  /** Warm-up seconds: the peers run precompiled code, V8 compiles the gateway's as it runs. */
  readonly warmUp?: number
  /** Target ratios of CPU per request, relative to nginx and to Envoy. */
  readonly toNginx?: number
  readonly toEnvoy?: number
  readonly aim?: string
  readonly slice: (proxy: Candidate, seconds: number) => Promise<Slice>
}

const WARM_UP = 4
const CONNECTIONS = 32
/** For large bodies: enough that there is always work to do. */
const FEW_CONNECTIONS = 8
export const UPLOAD: number = 1024 * 1024
const plain = ({ port }: Candidate) => `http://127.0.0.1:${port}`
const secured = ({ tlsPort }: Candidate) => `https://127.0.0.1:${tlsPort}`

/** The first form runs `rounds` rounds; the others as many as their figures need. */
export function formsOf(field: Field, tools: Tools, rounds: number): readonly [Form, ...Form[]] {
  const few = Math.ceil(rounds / 2)
  const { wrk } = tools
  return [
    {
      name: 'keep-alive, one header rule',
      rounds,
      // The first load of all, when nothing is compiled yet.
      warmUp: 12,
      toNginx: 1.45,
      aim: ', aim 1.2 x',
      toEnvoy: 0.6,
      slice: (proxy, seconds) =>
        fullLoad(wrk, proxy.pid, { url: `${plain(proxy)}/`, connections: CONNECTIONS, seconds }),
    },
    {
      name: 'TLS 1.3, keep-alive',
      rounds,
      // The first load over TLS.
      warmUp: 12,
      toNginx: 1.4,
      slice: (proxy, seconds) =>
        fullLoad(wrk, proxy.pid, { url: `${secured(proxy)}/`, connections: CONNECTIONS, seconds }),
    },
    {
      name: 'TLS 1.3, a handshake each',
      rounds,
      // At so few requests per second, code stays cold for long: V8 compiles much of it after some
      // 17,000 requests.
      warmUp: 35,
      toNginx: 1.7,
      slice: (proxy, seconds) =>
        fullLoad(wrk, proxy.pid, {
          url: `${secured(proxy)}/`,
          connections: CONNECTIONS,
          seconds,
          isUnkept: true,
        }),
    },
    ...BODIES.map((size) => ({
      name: `responses of ${size < UPLOAD ? `${size / 1024} KiB` : `${size / UPLOAD} MiB`}`,
      rounds: few,
      ...BODY_TARGETS.get(size),
      slice: (proxy: Candidate, seconds: number) =>
        fullLoad(wrk, proxy.pid, {
          url: `${plain(proxy)}/body/${size}`,
          connections: size < UPLOAD ? CONNECTIONS : FEW_CONNECTIONS,
          seconds,
        }),
    })),
    ...(hasNginx(field) ? [uploads(field, wrk, few), ...http2Forms(field, tools, few)] : []),
  ]
}

/** Whether nginx is the backend: the other backend supports neither bodies nor HTTP/2. */
export const hasNginx = ({ proxies }: Field): boolean =>
  proxies.some(({ name }) => name === 'nginx')

function uploads(field: Field, wrk: string, rounds: number): Form {
  const script = uploadScript(field)
  return {
    name: 'uploads of 1 MiB',
    rounds,
    toNginx: 1.3,
    aim: ', aim 0.9 x',
    slice: (proxy, seconds) =>
      fullLoad(wrk, proxy.pid, {
        url: `${plain(proxy)}/upload`,
        connections: FEW_CONNECTIONS,
        seconds,
        script,
      }),
  }
}

/** Writes the wrk script for uploads. */
export function uploadScript({ folder }: Field): string {
  const file = join(folder, 'upload.lua')
  writeFileSync(file, `wrk.method = 'POST'\nwrk.body = string.rep('x', ${UPLOAD})\n`)
  return file
}

const BODY_TARGETS: ReadonlyMap<number, Pick<Form, 'toNginx' | 'toEnvoy'>> = new Map([
  [64 * 1024, { toNginx: 1.1 }],
  [1024 * 1024, { toNginx: 0.7, toEnvoy: 1 }],
])

const STREAMS = { connections: 8, streams: 8 }

/** Small requests and unary calls on few connections with several streams each. */
export function http2Forms(
  field: Field,
  { h2load }: Pick<Tools, 'h2load'>,
  rounds: number,
): readonly Form[] {
  if (h2load === undefined) return []
  const message = join(field.folder, 'message')
  writeFileSync(message, GRPC_MESSAGE)
  const grpc = [RULE_HEADER, 'content-type: application/grpc', 'te: trailers']
  return [
    {
      name: 'HTTP/2 over TLS, small',
      rounds,
      toNginx: 2,
      aim: ', aim 1.5 x',
      slice: (proxy, seconds) => {
        const load = { url: `${secured(proxy)}/`, ...STREAMS, seconds, headers: [RULE_HEADER] }
        return fullHttp2Load(h2load, proxy.pid, load)
      },
    },
    {
      name: 'gRPC over TLS, unary',
      rounds,
      toEnvoy: 1,
      slice: (proxy, seconds) => {
        const url = `${secured(proxy)}${GRPC}Say`
        const load = { url, ...STREAMS, seconds, headers: grpc, body: message }
        return fullHttp2Load(h2load, proxy.pid, load)
      },
    },
  ]
}

/** Full load of several forms; proxies take turns within each round. */
export async function benchTraffic(
  field: Field,
  tools: Tools,
  rounds: number,
): Promise<Omit<Report, 'intro'>> {
  const [first, ...others] = formsOf(field, tools, rounds)
  const main = await measure(field.proxies, first)
  const table = mainTable('Keep-alive, one header rule', field.proxies, main)
  const rest = new Map<string, Medians>()
  const targets = targetsOf(first, main)
  for (const form of others) {
    const medians = await measure(field.proxies, form)
    rest.set(form.name, medians)
    targets.push(...targetsOf(form, medians))
  }
  return {
    tables: [
      table,
      otherTable('CPU µs per request', field.proxies, rest, (m) => m.cpu.toFixed(1)),
      otherTable('Requests per second', field.proxies, rest, (m) => count(m.perSecond)),
      {
        title: 'RSS after all of these',
        columns: field.proxies.map(({ name }) => name),
        rows: [field.proxies.map(({ pid }) => megabytes(residentOf(pid)))],
      },
    ],
    targets,
  }
}

export interface Median {
  readonly cpu: number
  readonly user: number
  readonly kernel: number
  readonly perSecond: number
}

export type Medians = ReadonlyMap<Candidate['name'], Median>

/** Slices of each proxy, by round. */
export type Rounds = ReadonlyMap<Candidate['name'], readonly Slice[]>

async function measure(proxies: readonly Candidate[], form: Form): Promise<Medians> {
  const [rounds] = await measureTogether(proxies, [form])
  return mediansOf(rounds as Rounds)
}

/**
 * Runs several loads in turn within each round, so that they can be compared with each other:
 * other load on the machine affects them equally, and so does the state that one of them leaves
 * behind in a process (its heap, and code compiled for it). All are warmed up before the first
 * round.
 */
export async function measureTogether(
  proxies: readonly Candidate[],
  forms: readonly Form[],
): Promise<readonly Rounds[]> {
  const all = forms.map(() => new Map<string, Slice[]>(proxies.map(({ name }) => [name, []])))
  for (const form of forms) {
    const warmUp = form.warmUp ?? WARM_UP
    for (const proxy of proxies) await sliceOf(form, proxy, proxy.isOwn ? warmUp : 1)
  }
  const rounds = Math.max(...forms.map((form) => form.rounds))
  for (let round = 0; round < rounds; round++) {
    for (const [at, form] of forms.entries()) {
      // The order rotates, so that each proxy runs in each position.
      const shift = round % proxies.length
      for (const proxy of [...proxies.slice(shift), ...proxies.slice(0, shift)]) {
        all[at]?.get(proxy.name)?.push(await sliceOf(form, proxy, 1))
      }
    }
  }
  return all
}

const TRIES = 3

/**
 * A virtual machine may stall for longer than a slice lasts. Such a slice is repeated and reported
 * with the proxy's name and the machine's CPU times; a proxy that stalls itself does so again.
 */
export async function sliceOf(form: Form, proxy: Candidate, seconds: number): Promise<Slice> {
  for (let attempt = 1; ; attempt++) {
    const before = machineTime()
    try {
      return await form.slice(proxy, seconds)
    } catch (error) {
      if (!(error instanceof NothingServed) || attempt === TRIES) throw error
      const after = machineTime()
      const share = (of: keyof MachineTime) =>
        (((after[of] - before[of]) / (after.total - before.total)) * 100).toFixed(0)
      console.error(
        `${form.name}: ${proxy.name} served nothing in ${seconds} s, repeated; the machine was ` +
          `idle for ${share('idle')} % and taken away for ${share('steal')} %\n${error.message}`,
      )
    }
  }
}

export function mediansOf(rounds: Rounds): Medians {
  return new Map([...rounds].map(([name, slices]) => [name, medianOf(slices)]))
}

function medianOf(slices: readonly Slice[]): Median {
  const median = (of: (slice: Slice) => number) => figure(slices.map(of)).median
  return {
    cpu: median(({ user, kernel }) => user + kernel),
    user: median(({ user }) => user),
    kernel: median(({ kernel }) => kernel),
    perSecond: median(({ perSecond }) => perSecond),
  }
}

function mainTable(title: string, proxies: readonly Candidate[], medians: Medians): Table {
  const rows = proxies.map((proxy) => {
    const median = medians.get(proxy.name) as Median
    const to = (name: Candidate['name']) => shareOf(median, medians.get(name))
    return [
      `${proxy.name} ${proxy.name === 'portcullis' ? `(Node ${proxy.version})` : proxy.version}`,
      median.cpu.toFixed(1),
      median.user.toFixed(1),
      median.kernel.toFixed(1),
      count(median.perSecond),
      to('nginx'),
      to('Envoy'),
      megabytes(residentOf(proxy.pid)),
    ]
  })
  const columns = ['proxy', 'CPU µs/request', 'user', 'kernel', 'requests/s']
  return { title, columns: [...columns, 'to nginx', 'to Envoy', 'RSS after'], rows }
}

export function otherTable(
  title: string,
  proxies: readonly Candidate[],
  forms: ReadonlyMap<string, Medians>,
  cell: (median: Median) => string,
): Table {
  const rows = [...forms].map(([name, medians]) => {
    const own = medians.get('portcullis') as Median
    const cells = proxies.map((proxy) => cell(medians.get(proxy.name) as Median))
    if (title !== 'CPU µs per request') return [name, ...cells]
    return [name, ...cells, shareOf(own, medians.get('nginx')), shareOf(own, medians.get('Envoy'))]
  })
  const shares = title === 'CPU µs per request' ? ['ours to nginx', 'ours to Envoy'] : []
  return { title, columns: ['load', ...proxies.map(({ name }) => name), ...shares], rows }
}

export function targetsOf({ name, toNginx, toEnvoy, aim = '' }: Form, medians: Medians): Target[] {
  return [
    ...target(name, medians, 'nginx', toNginx, aim),
    ...target(name, medians, 'Envoy', toEnvoy, ''),
  ]
}

function target(
  form: string,
  medians: Medians,
  peer: Candidate['name'],
  max: number | undefined,
  aim: string,
): Target[] {
  const own = medians.get('portcullis')
  const other = medians.get(peer)
  if (own === undefined || other === undefined || max === undefined) return []
  const measured = own.cpu / other.cpu
  const what = `CPU, ${form}, to ${peer}`
  return [{ what, wanted: `≤ ${max} x${aim}`, measured: ratio(measured), met: measured <= max }]
}

const shareOf = (own: Median, other: Median | undefined) =>
  other === undefined ? 'n/a' : ratio(own.cpu / other.cpu)

const count = (value: number) => Math.round(value).toLocaleString('en-US')
const megabytes = (value: number) => `${value.toFixed(0)} MB`
