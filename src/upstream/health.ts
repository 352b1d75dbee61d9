import type { Deadlines } from '../wire/deadlines.ts'
import { ClientConnection } from '../wire/http1/client-connection.ts'
import type { HeadLimits } from '../wire/http1/message.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
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
  { dial, host, deadlines, limits }: Probed,
  judge: (outcome: CheckOutcome) => void,
): Dialing {
  let connection: ClientConnection | undefined
  let isOver = false
  const finish = (outcome: CheckOutcome | undefined) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    dialing.cancel()
    connection?.abort()
    if (outcome !== undefined) judge(outcome)
  }
  const timer = setTimeout(() => finish('timeout'), check.timeout)
  const dialing = dial({
    opened: (socket) => {
      const { http } = check
      connection = new ClientConnection(socket, deadlines, limits)
      if (http === undefined) {
        finish('healthy')
        return
      }
      connection.send('GET', headOf(http.path, http.host ?? host), false, check.timeout, {
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
    },
    failed: (reason) => finish(reason === 'connect-timeout' ? 'timeout' : 'unhealthy'),
  })
  return { cancel: () => finish(undefined) }
}

function headOf(path: string, host: string): string {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}`,
    'User-Agent: portcullis-health-check',
    'Connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}
