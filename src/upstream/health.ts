import type { Deadlines } from '../wire/deadlines.ts'
import { ClientConnection } from '../wire/http1/client-connection.ts'
import { HEAD_LIMITS, type HeadLimits } from '../wire/http1/message.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import { ClientSession } from '../wire/http2/client.ts'
import { SESSION_OPTIONS } from '../wire/http2/client-limits.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'
import type { Dial, Dialing } from './connect.ts'

/** The value of the `healthCheck` policy. Times are milliseconds. */
export interface HealthCheck {
  readonly http?:
    | {
        readonly path: string
        readonly host?: string | undefined
        readonly codes: readonly number[]
      }
    | undefined
  readonly tcp?: object | undefined
  readonly port?: number | undefined
  readonly interval: number
  readonly timeout: number
  readonly unhealthyThreshold: number
  readonly healthyThreshold: number
}

export type CheckOutcome = 'healthy' | 'unhealthy' | 'timeout'

export interface HealthEvents {
  checked(outcome: CheckOutcome): void
  /** Called when health changes; an endpoint is healthy until a check fails. */
  changed(isHealthy: boolean): void
}

export interface Probed {
  readonly dial: Dial
  /** The Host header if the policy names none. */
  readonly host: string
  readonly deadlines: Deadlines
  readonly limits?: HeadLimits | undefined
  /** The endpoint is checked over HTTP/2, also without TLS. */
  readonly isHttp2?: boolean
  readonly random?: () => number
}

const JITTER = 0.1

/** Checks one endpoint periodically. The returned function stops it. */
export function watchHealth(check: HealthCheck, probed: Probed, events: HealthEvents): () => void {
  const { random = Math.random } = probed
  let isHealthy = true
  let isFirst = true
  let streak = 0
  let timer: NodeJS.Timeout | undefined
  let running: Dialing | undefined

  const judge = (outcome: CheckOutcome) => {
    running = undefined
    const isGood = outcome === 'healthy'
    streak = isGood === isHealthy ? 0 : streak + 1
    const needed = isGood ? check.healthyThreshold : check.unhealthyThreshold
    events.checked(outcome)
    // The first result is all that is known, so it needs no streak.
    if (streak > 0 && (streak >= needed || isFirst)) {
      isHealthy = isGood
      streak = 0
      events.changed(isHealthy)
    }
    isFirst = false
    // Jitter: endpoints that were opened together must not be checked together forever.
    schedule(check.interval * (1 - JITTER + 2 * JITTER * random()))
  }
  const schedule = (wait: number) => {
    timer = setTimeout(() => {
      running = probe(check, probed, judge)
    }, wait).unref()
  }
  schedule(Math.min(1_000, check.interval) * random())
  return () => {
    clearTimeout(timer)
    running?.cancel()
  }
}

/** Runs one check on a new connection: it also tests that connections can be opened. */
export function probe(
  check: HealthCheck,
  { dial, host, deadlines, limits = HEAD_LIMITS, isHttp2 = false }: Probed,
  judge: (outcome: CheckOutcome) => void,
): Dialing {
  let close = () => {}
  let isOver = false
  const finish = (outcome: CheckOutcome | undefined) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    dialing.cancel()
    close()
    if (outcome !== undefined) judge(outcome)
  }
  const timer = setTimeout(() => finish('timeout'), check.timeout)
  const dialing = dial({
    opened: (socket) => {
      const { http } = check
      const ask = (connection: UpstreamConnection, named: readonly string[]) => {
        if (http === undefined) return
        const head = headOf(http.path, [`Host: ${http.host ?? host}`, ...named])
        connection.send('GET', head, false, check.timeout, {
          idleTimeout: check.timeout,
          interim: () => {},
          response: ({ status }: ResponseHead) => {
            finish(http.codes.includes(status) ? 'healthy' : 'unhealthy')
            return false
          },
          data: () => true,
          ended: () => {},
          failed: (reason) => finish(reason === 'timeout' ? 'timeout' : 'unhealthy'),
          drained: () => {},
        })
      }
      if (http === undefined || !isHttp2) {
        const connection = new ClientConnection(socket, deadlines, limits)
        close = () => connection.abort()
        if (http === undefined) finish('healthy')
        else ask(connection, ['Connection: close'])
        return
      }
      const session = new ClientSession(socket, { ...SESSION_OPTIONS, head: limits }, deadlines, {
        ready: (own) => ask(own.open(), []),
        freed: () => {},
        closed: () => finish('unhealthy'),
      })
      close = () => session.destroy('closed')
    },
    failed: (reason) => finish(reason === 'connect-timeout' ? 'timeout' : 'unhealthy'),
  })
  return { cancel: () => finish(undefined) }
}

function headOf(path: string, named: readonly string[]): string {
  const lines = [`GET ${path} HTTP/1.1`, ...named, 'User-Agent: portcullis-health-check']
  return `${lines.join('\r\n')}\r\n\r\n`
}
