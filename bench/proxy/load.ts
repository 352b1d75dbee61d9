import { fileURLToPath } from 'node:url'
import { RULE_HEADER } from './configurations.ts'
import { type Cpu, cpuOf, runToEnd } from './processes.ts'

/** Results of one slice of full load. */
export interface Slice {
  readonly requests: number
  readonly perSecond: number
  /** CPU µs per request. */
  readonly user: number
  readonly kernel: number
}

export interface Load {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  /** A new connection for each request. */
  readonly isUnkept?: boolean
  /** Headers as `name: value`; by default, the one that the usual rule requires. */
  readonly headers?: readonly string[]
  /** A wrk script that varies the requests. */
  readonly script?: string
}

/** No request completed in time: the proxy or its machine stalls. */
export class NothingServed extends Error {}

/** Sends as many requests as the proxy and one core of load can handle, with wrk. */
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
  // wrk counts an orderly close by the server as a read error.
  if (requests === 0 || (wrong !== undefined && !isUnkept)) {
    throw new Error(`load on ${url} went wrong: ${wrong ?? text.trim()}`)
  }
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1])
  return { requests, perSecond, ...eachOf(before, after, requests) }
}

export interface Http2Load {
  readonly url: string
  readonly connections: number
  /** Concurrent requests per connection. */
  readonly streams: number
  readonly seconds: number
  readonly headers: readonly string[]
  /** A file that is sent as the body of each request. */
  readonly body?: string
}

/** The same over HTTP/2, with h2load. */
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
  // When time is up, h2load aborts open requests and counts them as failed.
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

/** An element of the argument of ./steady-client.ts. */
export interface SteadyLoad {
  readonly port: number
  readonly path: string
  /** `name: value` */
  readonly header: string
  readonly host: string
  readonly connections: number
  readonly perSecond: number
  readonly milliseconds: number
  /** Stops at the first 200 response. */
  readonly untilFound: boolean
}

/** The report of ./steady-client.ts; latencies in milliseconds. */
export interface Steadiness {
  readonly responses: number
  readonly failed: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
  /** When the first 200 arrived, in milliseconds since the epoch; 0 if none did. */
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

/** Sends requests at a fixed rate: a slow response does not delay the following requests. */
export async function steadyLoad(load: Asked): Promise<Steadiness> {
  const [found] = await steadyLoads([load])
  return found as Steadiness
}

/**
 * Runs the loads one after the other in one client process: in a new process, the client's own
 * compilations would be counted as latency of the first server.
 */
export async function steadyLoads(loads: readonly Asked[]): Promise<readonly Steadiness[]> {
  const whole = loads.map((load) => ({ ...STEADY, ...load }))
  return JSON.parse(await runToEnd('load', process.execPath, [CLIENT, JSON.stringify(whole)]))
}
