import { figure } from '../measure.ts'
import { type Report, ratio, type Table, type Target } from '../report.ts'
import { BODIES, type Candidate, type Field } from './contenders.ts'
import { fullLoad, type Load, type Slice } from './load.ts'
import { residentOf } from './processes.ts'

interface Form {
  readonly name: string
  readonly rounds: number
  /** Seconds that do not count. */
  readonly warmUp?: number
  readonly load: (proxy: Candidate) => Omit<Load, 'seconds'>
}

const CONNECTIONS = 32

/** `rounds` of the first form; of the others as many as are needed to see what they cost. */
function formsOf(rounds: number): readonly [Form, ...Form[]] {
  const few = Math.ceil(rounds / 3)
  const plain = ({ port }: Candidate) => `http://127.0.0.1:${port}`
  const secured = ({ tlsPort }: Candidate) => `https://127.0.0.1:${tlsPort}`
  return [
    {
      name: 'keep-alive, one header rule',
      rounds,
      warmUp: 2,
      load: (proxy) => ({ url: `${plain(proxy)}/`, connections: CONNECTIONS }),
    },
    {
      name: 'TLS 1.3, keep-alive',
      rounds: few,
      load: (proxy) => ({ url: `${secured(proxy)}/`, connections: CONNECTIONS }),
    },
    {
      name: 'TLS 1.3, a handshake each',
      rounds: few,
      load: (proxy) => ({
        url: `${secured(proxy)}/`,
        connections: CONNECTIONS,
        isUnkept: true,
      }),
    },
    ...BODIES.map((size) => ({
      name: `answers of ${size < 1024 ** 2 ? `${size / 1024} KiB` : `${size / 1024 ** 2} MiB`}`,
      rounds: few,
      load: (proxy: Candidate) => ({
        url: `${plain(proxy)}/body/${size}`,
        connections: size < 1024 ** 2 ? CONNECTIONS : 8,
      }),
    })),
  ]
}

/** Full load of several forms; proxies take turns within each round. */
export async function benchTraffic(
  field: Field,
  wrk: string,
  rounds: number,
): Promise<Omit<Report, 'intro'>> {
  const [first, ...others] = formsOf(rounds)
  const main = await measure(field.proxies, wrk, first)
  const rest = new Map<string, Medians>()
  for (const form of others) rest.set(form.name, await measure(field.proxies, wrk, form))
  return {
    tables: [
      mainTable('Keep-alive, one header rule', field.proxies, main),
      otherTable('CPU µs per request', field.proxies, rest, (m) => m.cpu.toFixed(1)),
      otherTable('Requests per second', field.proxies, rest, (m) => count(m.perSecond)),
    ],
    targets: [...target(main, 'nginx', 1.8, ', aim 1.3 x'), ...target(main, 'Envoy', 0.6, '')],
  }
}

interface Median {
  readonly cpu: number
  readonly user: number
  readonly kernel: number
  readonly perSecond: number
}

type Medians = ReadonlyMap<Candidate['name'], Median>

async function measure(proxies: readonly Candidate[], wrk: string, form: Form): Promise<Medians> {
  const slices = new Map<Candidate, Slice[]>(proxies.map((proxy) => [proxy, []]))
  const slice = (proxy: Candidate, seconds = 1) =>
    fullLoad(wrk, proxy.pid, { ...form.load(proxy), seconds })
  for (const proxy of proxies) await slice(proxy, form.warmUp)
  for (let round = 0; round < form.rounds; round++) {
    // Whoever is first follows another one in the next round.
    const shift = round % proxies.length
    for (const proxy of [...proxies.slice(shift), ...proxies.slice(0, shift)]) {
      slices.get(proxy)?.push(await slice(proxy))
    }
  }
  return new Map(proxies.map((proxy) => [proxy.name, medianOf(slices.get(proxy) ?? [])]))
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
      `${residentOf(proxy.pid).toFixed(0)} MB`,
    ]
  })
  const columns = ['proxy', 'CPU µs/request', 'user', 'kernel', 'requests/s']
  return { title, columns: [...columns, 'to nginx', 'to Envoy', 'RSS after'], rows }
}

function otherTable(
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

function target(medians: Medians, peer: Candidate['name'], most: number, aim: string): Target[] {
  const own = medians.get('portcullis')
  const other = medians.get(peer)
  if (own === undefined || other === undefined) return []
  const measured = own.cpu / other.cpu
  const what = `CPU per request, to ${peer}`
  return [{ what, wanted: `≤ ${most} x${aim}`, measured: ratio(measured), met: measured <= most }]
}

const shareOf = (own: Median, other: Median | undefined) =>
  other === undefined ? 'n/a' : ratio(own.cpu / other.cpu)

const count = (value: number) => Math.round(value).toLocaleString('en-US')
