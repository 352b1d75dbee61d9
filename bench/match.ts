import { freeze } from '../src/model/freeze.ts'
import type { Model } from '../src/model/model.ts'
import type { Route } from '../src/model/route.ts'
import { compileProgram } from '../src/program/compile.ts'
import { compileMatcher, type MatchEntry } from '../src/program/match.ts'
import { exchangeOf } from '../test/fuzz/exchanges.ts'
import { plainMatch } from '../test/fuzz/route-match.plain.ts'
import { contender, cpuTime, interleave, sink } from './measure.ts'
import { nanoseconds, type Report, ratio, type Table, type Target } from './report.ts'

/** Routes of one shape, and requests for the nth route. */
interface Form {
  readonly name: string
  readonly route: (n: number) => Omit<MatchEntry<number>, 'target'>
  readonly asked: (n: number) => { readonly host?: string; readonly url: string }
}

const NO_CONDITIONS = { headers: [], query: [] }

const FORMS: readonly Form[] = [
  {
    name: 'exact paths',
    route: (n) => ({
      hostnames: [],
      match: { ...NO_CONDITIONS, path: { kind: 'exact', value: `/api/v1/service-${n}/items` } },
    }),
    asked: (n) => ({ url: `/api/v1/service-${n}/items` }),
  },
  {
    name: 'prefixes',
    route: (n) => ({
      hostnames: [],
      match: { ...NO_CONDITIONS, path: { kind: 'prefix', value: `/api/v1/service-${n}` } },
    }),
    asked: (n) => ({ url: `/api/v1/service-${n}/items/42` }),
  },
  {
    name: 'hosts',
    route: (n) => ({
      hostnames: [`app-${n}.example.com`],
      match: { ...NO_CONDITIONS, path: { kind: 'prefix', value: '/' } },
    }),
    asked: (n) => ({ host: `app-${n}.example.com`, url: '/items/42' }),
  },
  {
    name: 'wildcard hosts with a prefix',
    route: (n) => ({
      hostnames: [`*.tenant-${n}.example.com`],
      match: { ...NO_CONDITIONS, path: { kind: 'prefix', value: `/app-${n}` } },
    }),
    asked: (n) => ({ host: `www.tenant-${n}.example.com`, url: `/app-${n}/items` }),
  },
]

const SIZES = [10, 100, 1_000, 5_000]
const REQUESTS = 512

/** Cost of the route matcher by number of routes, and of compiling the routes. */
export async function match(): Promise<Report> {
  const rows: string[][] = []
  const targets: Target[] = []
  for (const form of FORMS) {
    const all = SIZES.flatMap((size) => contenders(form, size))
    const figures = await interleave(all)
    const cost = (size: number) => figures.get(nameOf(size))?.p10 ?? Number.NaN
    const plain = figures.get(PLAIN)?.p10 ?? Number.NaN
    rows.push([form.name, ...SIZES.map((size) => nanoseconds(cost(size))), nanoseconds(plain)])
    const growth = cost(5_000) / cost(10)
    targets.push({
      what: `5,000 routes against 10, ${form.name}`,
      wanted: '< 3 x',
      measured: ratio(growth),
      met: growth < 3,
    })
  }
  const compiling = compileTime()
  targets.push({
    what: '5,000 routes with a rule each, compiled',
    wanted: '< 500 ms',
    measured: nanoseconds(compiling),
    met: compiling < 500e6,
  })
  const table: Table = {
    title: 'One match, a hit (CPU time, p10)',
    columns: ['routes by', ...SIZES.map((size) => size.toLocaleString('en-US')), PLAIN],
    rows,
  }
  const intro = [
    'Requests go to all routes in turn; texts are met again, so their hashes are known.',
  ]
  return { intro, tables: [table], targets }
}

const PLAIN = 'plain twin, 10'

function nameOf(size: number): string {
  return `${size} routes`
}

function contenders(form: Form, size: number) {
  const entries = Array.from({ length: size }, (_, n) => ({ ...form.route(n), target: n }))
  const find = compileMatcher(entries, { hostname: undefined, unmatched: -1, rejected: -2 })
  const picked = Array.from({ length: REQUESTS }, (_, i) => ((i + 1) * 48_271) % size)
  const exchanges = picked.map((n) => exchangeOf(flat(form.asked(n))))
  const wrong = picked.filter((n, i) => find(exchanges[i] as (typeof exchanges)[0]) !== n)
  if (wrong.length > 0) throw new Error(`${form.name}: ${wrong.length} requests go astray`)
  const ours = contender(nameOf(size), (times) => {
    let sum = 0
    for (let i = 0; i < times; i++) sum += find(exchanges[i % REQUESTS] as (typeof exchanges)[0])
    sink.count += sum
  })
  if (size !== 10) return [ours]
  const twin = contender(PLAIN, (times) => {
    for (let i = 0; i < times; i++) {
      const { request } = exchanges[i % REQUESTS] as (typeof exchanges)[0]
      sink.count += plainMatch(entries, undefined, request)?.target ?? 0
    }
  })
  return [ours, twin]
}

/** Flat strings, as read from a socket: concatenated ones are slower to read. */
function flat({ host, url }: ReturnType<Form['asked']>) {
  const whole = (text: string) => Buffer.from(text, 'latin1').toString('latin1')
  return host === undefined ? { url: whole(url) } : { host: whole(host), url: whole(url) }
}

/** Compiles a whole Program, in which each route has its own header, rule and backend. */
function compileTime(): number {
  const origin = { kind: 'object', object: 'bench', field: '' } as const
  const place = { state: 'valid', section: 'traffic', level: 'route', origin } as const
  const routes = Array.from({ length: 5_000 }, (_, n): Route => {
    const rule = { action: 'Allow', expression: `jwt.sub == 'user-${n}'`, field: 'rules[0]' }
    const policy = `route-${n}`
    return {
      name: `route-${n}`,
      origin,
      parents: [{ gateway: 'default' }],
      hostnames: [`app-${n % 100}.example.com`],
      policies: [
        { ...place, policy, kind: 'authorization', value: { rules: [rule], mode: 'Enforce' } },
        {
          ...place,
          policy,
          kind: 'requestHeaders',
          value: { set: [{ name: 'x-route', value: `${n}` }], add: [], remove: [] },
        },
      ],
      rules: [
        {
          name: '',
          origin,
          policies: [],
          matches: [{ ...NO_CONDITIONS, path: { kind: 'prefix', value: `/service-${n}` } }],
          action: {
            kind: 'forward',
            backends: [{ backend: `backend-${n}`, weight: 1, policies: [] }],
          },
        },
      ],
    }
  })
  const listener = { name: 'http', origin, protocol: 'HTTP', port: 80, policies: [] } as const
  const model: Model = freeze({
    gateways: [{ name: 'default', origin, listeners: [listener], policies: [] }],
    routes,
    tcpRoutes: [],
    backends: routes.map((_, n) => ({
      kind: 'host',
      name: `backend-${n}`,
      origin,
      policies: [],
      endpoints: [{ host: '127.0.0.1', port: 8080 }],
    })),
    frontend: [],
  })
  const services = {
    openCluster: ({ name }: { readonly name: string }) => ({
      name,
      isHealthy: true,
      active: 0,
      choose: () => 'no-endpoint',
      close: () => {},
    }),
    now: () => performance.now(),
    random: Math.random,
  }
  const times = Array.from({ length: 5 }, () => {
    const before = cpuTime()
    sink.count += compileProgram(model, undefined, services).listeners.length
    return cpuTime() - before
  })
  return times.toSorted((a, b) => a - b)[2] as number
}
