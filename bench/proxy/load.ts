import { fileURLToPath } from 'node:url'
import { RULE_HEADER } from './configurations.ts'
import { type Cpu, cpuOf, runToEnd } from './processes.ts'

/** What one slice of full load found. */
export interface Slice {
  readonly requests: number
  readonly perSecond: number
  /** µs of CPU for each request. */
  readonly user: number
  readonly kernel: number
}

export interface Load {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  /** A new connection for each request. */
  readonly isUnkept?: boolean
  /** `name: value` of each; without a word, the one that the usual rule wants. */
  readonly headers?: readonly string[]
  /** For wrk: what makes each request another one. */
  readonly script?: string
}

/** No request was over when the time was: the proxy stalls, or its machine stands still. */
export class NothingServed extends Error {}

/** As many requests as the proxy and one core of load can do, by wrk. */
export async function fullLoad(wrk: string, pid: number, load: Load): Promise<Slice> {
  const { url, connections, seconds, isUnkept = false, script } = load
  const fields = [...(load.headers ?? [RULE_HEADER]), ...(isUnkept ? ['connection: close'] : [])]
  const headers = fields.flatMap((field) => ['-H', field])
  if (script !== undefined) headers.push('-s', script)
  const form = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`]
  const before = cpuOf(pid)
  const text = await runToEnd('load', wrk, [...form, ...headers, url])
  const after = cpuOf(pid)
  const requests = Number(/(\d+) requests in/.exec(text)?.[1] ?? 0)
  const wrong = /Non-2xx or 3xx responses: \d+|Socket errors: .*/.exec(text)?.[0]
  // wrk counts the server's orderly close as an error of reading.
  if (requests === 0 || (wrong !== undefined && !isUnkept)) {
    throw new Error(`load on ${url} went wrong: ${wrong ?? text.trim()}`)
  }
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1])
  return { requests, perSecond, ...eachOf(before, after, requests) }
}

export interface Http2Load {
  readonly url: string
  readonly connections: number
  /** Requests under way at a time, of each connection. */
  readonly streams: number
  readonly seconds: number
  readonly headers: readonly string[]
  /** A file whose contents each request carries. */
  readonly body?: string
}

/** The same over HTTP/2, by h2load. */
export async function fullHttp2Load(h2load: string, pid: number, load: Http2Load): Promise<Slice> {
  const { url, connections, streams, seconds, headers, body } = load
  const form = ['-t', '1', '-c', `${connections}`, '-m', `${streams}`, '-D', `${seconds}`]
  const fields = headers.flatMap((field) => ['-H', field])
  const before = cpuOf(pid)
  const data = body === undefined ? [] : ['-d', body]
  const text = await runToEnd('load', h2load, [...form, ...fields, ...data, url])
  const after = cpuOf(pid)
  const requests = Number(/(\d+) done/.exec(text)?.[1] ?? 0)
  const good = Number(/status codes: (\d+) 2xx/.exec(text)?.[1] ?? 0)
  if (good === 0 && requests === 0) throw new NothingServed(`load on ${url}: ${text.trim()}`)
  // When time is up requests are cut off; h2load counts them as failed.
  if (good === 0 || good < requests - connections * streams) {
    throw new Error(`load on ${url} went wrong: ${text.trim()}`)
  }
  return { requests: good, perSecond: good / seconds, ...eachOf(before, after, good) }
}

function eachOf(before: Cpu, after: Cpu, requests: number) {
  return {
    user: ((after.user - before.user) * 1e6) / requests,
    kernel: ((after.kernel - before.kernel) * 1e6) / requests,
  }
}

/** What ./steady-client.ts is asked for. */
export interface SteadyLoad {
  readonly port: number
  readonly path: string
  /** `name: value` */
  readonly header: string
  readonly host: string
  readonly connections: number
  readonly perSecond: number
  readonly milliseconds: number
  /** Ends at the first 200. */
  readonly untilFound: boolean
}

/** What it reports; latencies in milliseconds. */
export interface Steadiness {
  readonly responses: number
  readonly failed: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
  /** When the first 200 came, in milliseconds since the epoch; 0: never. */
  readonly foundAt: number
}

const STEADY = {
  path: '/',
  header: RULE_HEADER,
  host: 'localhost',
  connections: 16,
  perSecond: 2_000,
  untilFound: false,
} satisfies Partial<SteadyLoad>

const CLIENT = fileURLToPath(import.meta.resolve('./steady-client.ts'))

type Asked = Pick<SteadyLoad, 'port' | 'milliseconds'> & Partial<SteadyLoad>

/** Requests at a fixed rate, whether or not responses come: a slow response delays no request. */
export async function steadyLoad(load: Asked): Promise<Steadiness> {
  const [found] = await steadyLoads([load])
  return found as Steadiness
}

/**
 * One load after the other, by one client: what is left of its own compilations in a new process
 * would be taken for latency of whoever is asked first.
 */
export async function steadyLoads(loads: readonly Asked[]): Promise<readonly Steadiness[]> {
  const whole = loads.map((load) => ({ ...STEADY, ...load }))
  return JSON.parse(await runToEnd('load', process.execPath, [CLIENT, JSON.stringify(whole)]))
}
