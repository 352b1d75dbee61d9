import type { Deadlines } from '../wire/deadlines.ts'
import { Http2Pool } from '../wire/http2/client-pool.ts'
import type { RequestPool } from './cluster.ts'
import type { Dial } from './connect.ts'
import type { PoolOptions } from './pool.ts'

/** Connections of HTTP/2 to one endpoint, with the face of those of HTTP/1.1. */
export function http2Pool(dial: Dial, options: PoolOptions, deadlines: Deadlines): RequestPool {
  const { max, maxPending } = options
  const own = {
    ...(Number.isFinite(max) ? { max } : {}),
    ...(maxPending === undefined ? {} : { maxPending }),
    ...(options.maxAge === undefined ? {} : { maxAge: options.maxAge }),
    ...(options.head === undefined ? {} : { head: options.head }),
  }
  const pool = new Http2Pool(dial, own, deadlines)
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
