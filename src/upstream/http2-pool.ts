import type { Deadlines } from '../wire/deadlines.ts'
import { Http2Pool, type Http2PoolObserver } from '../wire/http2/client-pool.ts'
import type { RequestPool } from './cluster.ts'
import type { Dial } from './connect.ts'
import { type ConnectFailure, isConnectFailure } from './connect-failure.ts'
import type { Http2Offence, PoolObserver, PoolOptions } from './pool.ts'

/** Connections of HTTP/2 to one endpoint, with the face of those of HTTP/1.1. */
export function http2Pool(
  dial: Dial,
  options: PoolOptions,
  deadlines: Deadlines,
  observer?: PoolObserver,
): RequestPool {
  const { max, maxPending, idleTimeout, connectTimeout } = options
  const own = {
    idleTimeout,
    connectTimeout,
    maxStreams: options.maxRequestsPerConnection ?? Number.POSITIVE_INFINITY,
    ...(Number.isFinite(max) ? { max } : {}),
    ...(maxPending === undefined ? {} : { maxPending }),
    ...(options.maxAge === undefined ? {} : { maxAge: options.maxAge }),
    ...(options.head === undefined ? {} : { head: options.head }),
  }
  const pool = new Http2Pool(dial, own, deadlines, observer && observerOf(observer))
  return {
    get isFull() {
      return pool.isFull
    },
    get open() {
      return pool.open
    },
    // A connection of HTTP/2 takes more requests as long as it is open.
    idle: 0,
    get waiting() {
      return pool.waiting
    },
    take: () => pool.take(),
    follow: (addresses) => pool.follow(addresses),
    request: (waiting) => pool.request(waiting),
    cancel: (waiting) => pool.cancel(waiting),
    connect: dial,
    close: () => pool.close(),
  }
}

/** What a backend can do to a connection that is none of an orderly end. */
const OFFENCES: ReadonlyMap<string, Http2Offence> = new Map<string, Http2Offence>([
  ['http2-error', 'protocol'],
  ['too-many-pings', 'control-frames'],
  ['too-many-settings', 'control-frames'],
  ['too-many-priorities', 'control-frames'],
  ['too-many-empty-frames', 'control-frames'],
  ['too-many-header-frames', 'protocol'],
  ['too-many-window-updates', 'overhead'],
  ['too-much-overhead', 'overhead'],
  ['ping-timeout', 'ping-timeout'],
])

/** Why a connection could not be had, where that is not one of the dialer's words. */
const FAILURES: ReadonlyMap<string, ConnectFailure> = new Map<string, ConnectFailure>([
  ['closed', 'connect-reset'],
  ['error', 'connect-reset'],
  ['goaway', 'connect-reset'],
  ['ECONNRESET', 'connect-reset'],
  ['EPIPE', 'connect-reset'],
])

function observerOf(observer: PoolObserver): Http2PoolObserver {
  return {
    opened: (milliseconds) => observer.opened(milliseconds, 'http2'),
    closed: (reason) => {
      const offence = OFFENCES.get(reason)
      if (offence !== undefined) observer.offended?.(offence)
      observer.closed()
    },
    failed: (reason, detail) => {
      const word = FAILURES.get(reason) ?? (isConnectFailure(reason) ? reason : 'connect-error')
      observer.failed(word, detail)
    },
    shed: (reason) => observer.shed(reason),
  }
}
