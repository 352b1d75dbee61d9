import type { Deadlines } from '../wire/deadlines.ts'
import { Http2Pool, type Http2PoolObserver } from '../wire/http2/client-pool.ts'
import type { RequestPool } from './cluster.ts'
import type { Dial } from './connect.ts'
import { type ConnectFailure, isConnectFailure } from './connect-failure.ts'
import type { Http2Offence, PoolObserver, PoolOptions } from './pool.ts'

/** HTTP/2 connections to one endpoint, with the interface of an HTTP/1.1 pool. */
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
    // An open HTTP/2 connection accepts more requests, so it never counts as idle.
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

/** Reasons for a connection's end that are an offence by the backend. */
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

/** Reasons for a failed connection that are not the dialer's, and how they are reported. */
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
