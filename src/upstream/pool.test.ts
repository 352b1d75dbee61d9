import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Deadlines } from '../wire/deadlines.ts'
import type { ClientConnection } from '../wire/http1/client-connection.ts'
import { type Dial, dialer } from './connect.ts'
import {
  DIAL,
  eventually,
  freePort,
  liveHandles,
  RESPONSE,
  responding,
  serve,
} from './fixtures/servers.ts'
import { silence } from './fixtures/silent.ts'
import { Pool, type PoolObserver, type PoolOptions, type Waiting } from './pool.ts'

const HEAD = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

/** Milliseconds: longer than any pause of the process. */
const TIMEOUT_MS = 600_000

type TestOptions = Partial<PoolOptions> & { readonly dialTimeout?: number }

function poolOf(port: number, options: TestOptions = {}, observer?: PoolObserver): Pool {
  const { dialTimeout: timeout = TIMEOUT_MS, ...rest } = options
  const dial = dialer({ kind: 'tcp', host: '127.0.0.1', port }, { ...DIAL, timeout })
  return poolWith(dial, rest, observer)
}

function poolWith(dial: Dial, options: Partial<PoolOptions> = {}, observer?: PoolObserver): Pool {
  const whole = { idleTimeout: 5_000, connectTimeout: TIMEOUT_MS, max: 100, ...options }
  return new Pool(dial, whole, new Deadlines(5), observer)
}

function connection(pool: Pool): Promise<ClientConnection | string> {
  const free = pool.take()
  if (free !== undefined) return Promise.resolve(free)
  return new Promise((resolve) => {
    pool.request({ connected: resolve, unconnected: resolve })
  })
}

/** Sends a request; returns the status, or why there is none. */
function send(taken: ClientConnection, timeout = TIMEOUT_MS): Promise<number | string> {
  return new Promise((resolve) => {
    let status = 0
    taken.send('GET', HEAD, false, timeout, {
      interim: () => {},
      response: (head) => {
        status = head.status
        return false
      },
      data: () => true,
      ended: () => resolve(status),
      failed: resolve,
      drained: () => {},
    })
  })
}

async function ask(pool: Pool, timeout?: number): Promise<number | string> {
  const taken = await connection(pool)
  return typeof taken === 'string' ? taken : send(taken, timeout)
}

function tally(): PoolObserver & { readonly reported: Record<string, number> } {
  const reported: Record<string, number> = {}
  const count = (what: string) => {
    reported[what] = (reported[what] ?? 0) + 1
  }
  return {
    reported,
    opened: () => count('opened'),
    closed: () => count('closed'),
    failed: (reason) => count(reason),
    shed: (reason) => count(reason),
  }
}

const tick = () => new Promise((resolve) => setImmediate(resolve))
const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time))

describe('connection reuse', () => {
  it('serves requests on one connection in sequence', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port)
    for (let i = 0; i < 50; i++) assert.equal(await ask(pool), 200)
    assert.equal(server.accepted(), 1)
    assert.deepEqual([pool.open, pool.idle, pool.waiting, pool.dialing], [1, 1, 0, 0])
    pool.close()
    assert.ok(await eventually(() => server.sockets.size === 0))
    assert.equal(pool.open, 0)
    await server.close()
  })

  it('reuses the most recently used connection first', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port)
    const three = await Promise.all([connection(pool), connection(pool), connection(pool)])
    for (const taken of three) assert.equal(await send(taken as ClientConnection), 200)
    assert.equal(pool.idle, 3)
    assert.deepEqual([pool.take(), pool.take(), pool.take()], three.toReversed())
    assert.equal(pool.take(), undefined)
    for (const taken of three) (taken as ClientConnection).abort()
    assert.equal(pool.open, 0)
    await server.close()
  })

  it('leaves no listeners behind, however often a connection is used', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port)
    await ask(pool)
    const taken = (await connection(pool)) as ClientConnection
    const count = () =>
      taken.socket.eventNames().reduce((sum, name) => sum + taken.socket.listenerCount(name), 0)
    const before = count()
    for (let i = 0; i < 20; i++) {
      await send(taken)
      assert.equal(pool.take(), taken)
    }
    assert.equal(count(), before)
    taken.abort()
    await server.close()
  })

  it('closes an unused connection after the idle timeout', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port, { idleTimeout: 20 })
    await ask(pool)
    assert.equal(pool.idle, 1)
    assert.ok(await eventually(() => pool.open === 0 && server.sockets.size === 0))
    assert.equal(await ask(pool), 200)
    pool.close()
    await server.close()
  })

  it('does not count the time in which a connection is in use as idle', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port, { idleTimeout: 20 })
    await ask(pool)
    const taken = pool.take()
    await sleep(60)
    assert.equal(pool.open, 1)
    assert.equal(await send(taken as ClientConnection), 200)
    pool.close()
    await server.close()
  })

  for (const [sentence, options] of [
    ['so many requests', { maxRequestsPerConnection: 3 }],
    ['so long', { maxAge: 0 }],
  ] as const) {
    it(`a connection retires after ${sentence}`, async () => {
      const server = await serve(responding())
      const pool = poolOf(server.port, options)
      for (let i = 0; i < 6; i++) assert.equal(await ask(pool), 200)
      assert.equal(server.accepted(), 'maxAge' in options ? 6 : 2)
      assert.ok(await eventually(() => server.sockets.size === 0))
      assert.equal(pool.open, 0)
      await server.close()
    })
  }

  it('closes connections to addresses that the name no longer has, once they are idle', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port)
    const three = await Promise.all([connection(pool), connection(pool), connection(pool)])
    const [busy, ...others] = three as [ClientConnection, ClientConnection, ClientConnection]
    for (const taken of others) await send(taken)
    pool.follow(['127.0.0.9', '127.0.0.1'])
    assert.deepEqual([pool.open, pool.idle], [3, 2])
    assert.deepEqual([pool.take(), pool.take()], others.toReversed(), 'in the same order')
    for (const taken of others) await send(taken)
    pool.follow(['127.0.0.9'])
    assert.deepEqual([pool.open, pool.idle], [1, 0])
    assert.equal(await send(busy), 200)
    assert.equal(pool.open, 0)
    await server.close()
  })

  it('does not return an idle connection that the endpoint closes, resets or writes to', async () => {
    for (const spoil of [
      (socket: Socket) => socket.end(),
      (socket: Socket) => socket.resetAndDestroy(),
      (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
    ]) {
      const server = await serve(responding())
      const pool = poolOf(server.port)
      await ask(pool)
      for (const socket of server.sockets) spoil(socket)
      assert.ok(await eventually(() => pool.idle === 0))
      assert.equal(pool.open, 0)
      assert.equal(await ask(pool), 200)
      pool.close()
      await server.close()
    }
  })

  it('skips a destroyed socket before its close event', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port)
    const taken = (await connection(pool)) as ClientConnection
    await send(taken)
    taken.socket.destroy()
    assert.equal(pool.take(), undefined)
    assert.ok(await eventually(() => pool.open === 0))
    await server.close()
  })

  it('never delivers extra bytes of a response to the next request', async () => {
    const server = await serve(responding((nth) => (nth === 1 ? RESPONSE + RESPONSE : RESPONSE)))
    const pool = poolOf(server.port, { max: 1 })
    const statuses = await Promise.all([ask(pool), ask(pool)])
    assert.deepEqual(statuses, [200, 200])
    assert.equal(server.accepted(), 2)
    pool.close()
    await server.close()
  })
})

describe('pool limits', () => {
  it('requests beyond the max connections wait, in order', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port, { max: 2 })
    const order: number[] = []
    const all = Array.from({ length: 20 }, async (_, at) => {
      assert.equal(await ask(pool), 200)
      order.push(at)
    })
    await Promise.all(all)
    assert.deepEqual(order.slice(0, 4).toSorted(), [0, 1, 2, 3].toSorted())
    assert.equal(server.accepted(), 2)
    pool.close()
    await server.close()
  })

  it('requests beyond the max pending are rejected at once', async (t) => {
    const server = await serve(() => {})
    const observer = tally()
    const pool = poolOf(server.port, { max: 1, maxPending: 2 }, observer)
    const first = (await connection(pool)) as ClientConnection
    const waiting = [connection(pool), connection(pool)]
    assert.equal(pool.isFull, true)
    assert.equal(await connection(pool), 'overloaded')
    first.abort()
    assert.equal(typeof (await waiting[0]), 'object')
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + TIMEOUT_MS)
    assert.equal(await waiting[1], 'pending-timeout')
    assert.equal(observer.reported.overloaded, 1)
    assert.equal(observer.reported['pending-timeout'], 1)
    pool.close()
    await server.close()
  })

  for (const [max, maxPending, served] of [
    [2, 3, 5],
    [1, 1, 2],
    [3, 0, 3],
    [Number.POSITIVE_INFINITY, 2, 2],
  ] as const) {
    it(`of a burst on ${max} connections with ${maxPending} who wait, ${served} are not rejected`, async () => {
      const server = await serve(() => {})
      const observer = tally()
      const pool = poolOf(server.port, { max, maxPending }, observer)
      const all = Array.from({ length: 8 }, async () => {
        const given = await connection(pool)
        if (typeof given === 'object') given.release()
        return given
      })
      const rejected = (await Promise.all(all)).filter((given) => given === 'overloaded')
      assert.equal(all.length - rejected.length, served)
      pool.close()
      await server.close()
    })
  }

  it('a canceled request no longer waits, and no connection is opened without a waiting request', async () => {
    const silent = await silence()
    const pool = poolOf(silent.port, { dialTimeout: 300, connectTimeout: 300 })
    const reported: string[] = []
    const waiting: Waiting = {
      connected: () => reported.push('connected'),
      unconnected: (reason) => reported.push(reason),
    }
    for (let i = 0; i < 100; i++) {
      pool.request(waiting)
      pool.cancel(waiting)
    }
    assert.deepEqual([pool.waiting, pool.dialing, pool.open], [0, 0, 0])
    await sleep(350)
    assert.deepEqual(reported, [])
    await silent.close()
  })

  it('raw byte connections count, too', async () => {
    const server = await serve(() => {})
    const pool = poolOf(server.port, { max: 1 })
    const socket = await new Promise<Socket>((opened, failed) => pool.connect({ opened, failed }))
    assert.equal(pool.open, 1)
    const rejected = new Promise((failed) => {
      pool.connect({ opened: () => failed('opened'), failed })
    })
    assert.equal(await rejected, 'connect-refused')
    // One that is no longer wanted is told nothing.
    pool.connect({ opened: () => assert.fail(), failed: () => assert.fail() }).cancel()
    await tick()
    const waits = connection(pool)
    socket.destroy()
    assert.equal(typeof (await waits), 'object')
    ;((await waits) as ClientConnection).abort()
    assert.equal(pool.open, 0)
    await server.close()
  })

  it('a closing pool lets requests finish, keeps no connection and still serves late requests', async () => {
    const server = await serve(responding())
    const pool = poolOf(server.port)
    const taken = (await connection(pool)) as ClientConnection
    pool.close()
    assert.equal(await send(taken), 200)
    assert.equal(pool.open, 0)
    assert.equal(await ask(pool), 200)
    assert.equal(pool.open, 0)
    await server.close()
  })
})

describe('connection faults', () => {
  it('leak no socket and no timer', async () => {
    const before = liveHandles().length
    const [silent, rejecting] = [await silence(), await freePort()]
    const server = await serve((socket, count) => {
      if (count % 3 === 0) socket.resetAndDestroy()
      else if (count % 3 === 1) responding()(socket)
    })
    const pools = [silent.port, rejecting, server.port].map((port) =>
      poolOf(port, { max: 3, dialTimeout: 300, connectTimeout: 300 }),
    )
    const asked = pools.flatMap((pool) => Array.from({ length: 30 }, () => ask(pool, 200)))
    const outcomes = new Set(await Promise.all(asked))
    assert.ok(outcomes.has(200) && outcomes.has('connect-refused') && outcomes.has('timeout'))
    for (const pool of pools) {
      pool.close()
      assert.ok(await eventually(() => pool.open + pool.waiting + pool.dialing === 0))
    }
    await silent.close()
    await server.close()
    assert.ok(await eventually(() => liveHandles().length <= before), liveHandles().join(' '))
  })

  it('a closed port, and fewer connections than requests: every request fails', async () => {
    const pool = poolOf(await freePort(), { max: 1 })
    const all = await Promise.all(Array.from({ length: 5 }, () => ask(pool)))
    assert.deepEqual(all, Array(5).fill('connect-refused'))
    assert.deepEqual([pool.open, pool.waiting, pool.dialing], [0, 0, 0])
  })

  it('a closed port: every request fails, and the next one afterwards recovers', async () => {
    const port = await freePort()
    const observer = tally()
    const pool = poolOf(port, {}, observer)
    const all = await Promise.all(Array.from({ length: 50 }, () => ask(pool)))
    assert.deepEqual([...new Set(all)], ['connect-refused'])
    assert.equal(observer.reported['connect-refused'], 50)
    const server = await serve(responding(), { port })
    assert.equal(await ask(pool), 200)
    pool.close()
    await server.close()
  })

  it('a silent port: connect-timeout, without leaks', async () => {
    const silent = await silence()
    const pool = poolOf(silent.port, { dialTimeout: 300 })
    const all = await Promise.all(Array.from({ length: 10 }, () => ask(pool)))
    assert.deepEqual([...new Set(all)], ['connect-timeout'])
    assert.deepEqual([pool.waiting, pool.dialing, pool.open], [0, 0, 0])
    await silent.close()
  })

  it('a response cut by a reset at any byte: the request fails or is complete, without leaks', async () => {
    for (let cut = 0; cut <= RESPONSE.length; cut++) {
      const server = await serve((socket, count) => {
        if (count > 1) return responding()(socket)
        socket.once('data', () => {
          socket.write(RESPONSE.slice(0, cut), () => socket.resetAndDestroy())
        })
      })
      const pool = poolOf(server.port)
      const first = await ask(pool)
      assert.ok(cut === RESPONSE.length || typeof first === 'string', `${cut}: ${first}`)
      assert.ok(await eventually(() => pool.open === 0 || pool.idle === 0))
      await tick()
      assert.equal(await ask(pool), 200)
      pool.close()
      assert.ok(await eventually(() => pool.open === 0))
      await server.close()
    }
  })

  it('an endpoint that closes after each response costs connections, not requests', async () => {
    const response = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
    const server = await serve((socket) => socket.once('data', () => socket.end(response)))
    const pool = poolOf(server.port, { max: 4 })
    const all = await Promise.all(Array.from({ length: 40 }, () => ask(pool)))
    assert.deepEqual([...new Set(all)], [200])
    assert.equal(pool.open, 0)
    await server.close()
  })

  it('a connection with an unsupported protocol is closed again', async () => {
    const server = await serve(() => {})
    const dial = dialer({ kind: 'tcp', host: '127.0.0.1', port: server.port }, DIAL)
    const pool = poolWith((events) =>
      dial({ opened: (socket) => events.opened(socket, 'h2'), failed: events.failed }),
    )
    assert.equal(await ask(pool), 'alpn')
    assert.equal(pool.open, 0)
    assert.ok(await eventually(() => server.sockets.size === 0))
    await server.close()
  })
})
