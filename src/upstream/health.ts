import type { Deadlines } from '../wire/deadlines.ts'
import { ClientConnection } from '../wire/http1/client-connection.ts'
import { HEAD_LIMITS, type HeadLimits } from '../wire/http1/message.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import { ClientSession } from '../wire/http2/client.ts'
import { SESSION_OPTIONS } from '../wire/http2/client-limits.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'
import type { Dial, Dialing } from './connect.ts'

/** The value of the policy `healthCheck`. Times are milliseconds. */
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
  /** Told when it changes; an endpoint is healthy until a check says otherwise. */
  changed(isHealthy: boolean): void
}

export interface Probed {
  readonly dial: Dial
  /** What is asked for where the policy names no host. */
  readonly host: string
  readonly deadlines: Deadlines
  readonly limits?: HeadLimits | undefined
  /** The endpoint is asked in HTTP/2, also in the clear. */
  readonly isHttp2?: boolean
  readonly random?: () => number
}

const JITTER = 0.1

/** Asks one endpoint again and again. The response ends it. */
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
    // The first response is all that is known: there is no reason to give it less weight.
    if (streak > 0 && (streak >= needed || isFirst)) {
      isHealthy = isGood
      streak = 0
      events.changed(isHealthy)
    }
    isFirst = false
    // Endpoints that were opened together are not asked together for ever.
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

/** One check, on a connection of its own: that new ones can be opened is part of the question. */
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
