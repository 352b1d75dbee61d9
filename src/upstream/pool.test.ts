import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import type { ClientConnection } from '../wire/http1/client-connection.ts'
import { ask, connection, poolOf, send, sleep } from './fixtures/pools.ts'
import { eventually, RESPONSE, responding, serve } from './fixtures/servers.ts'

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
