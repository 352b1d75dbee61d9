import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo, Server, Socket } from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { serveNames } from '../../src/upstream/fixtures/name-server.ts'
import { free } from '../proxy/accepting.ts'
import { exchange } from '../proxy/harness.ts'
import { startWhole, until } from '../proxy/whole-gateway.ts'

const GET = 'GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
const OLD = '127.0.0.1'
const NEW = '127.0.0.2'

/** A server that responds with the address at which it was reached. */
async function serve(version: '1' | '2', address: string, port: number) {
  const handler = (_: unknown, response: { end(text: string): void }) => response.end(address)
  const server = (version === '1' ? createServer(handler) : createHttp2Server(handler)) as Server
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(port, address)
  await once(server, 'listening')
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { port: (server.address() as AddressInfo).port, sockets, close }
}

describe('a name whose address changes', () => {
  for (const version of ['1', '2'] as const) {
    it(`is followed while its connections are in use, over HTTP/${version}`, async () => {
      const old = await serve(version, OLD, 0)
      const next = await serve(version, NEW, old.port)
      let address = OLD
      const names = await serveNames((_, family) =>
        family === 4 ? { addresses: [address], ttl: 1 } : 'no-name',
      )
      const port = await free()
      const gateway =
        await startWhole(`config: { dns: { servers: ['${names.address}'], lookupFamily: V4Only } }
gateways: { default: { port: ${port} } }
routes:
- name: all
  backends:
  - host: moved.fault.test:${old.port}
    policies: { http: { version: HTTP${version} } }
`)
      const ask = async () => /127\.0\.0\.\d/.exec(await exchange(port, GET))?.[0]
      assert.equal(await ask(), OLD)
      assert.equal(old.sockets.size, 1)
      // A warm connection counts as use of the name.
      const before = names.asked.length
      await until(
        'another question',
        async () => (await ask()) === OLD && names.asked.length > before,
      )
      address = NEW
      await until('the new address', async () => (await ask()) === NEW, 10)
      await until('the end of the old connection', () => old.sockets.size === 0)
      assert.equal(await ask(), NEW)
      await gateway.stop()
      // Without connections, the name is no longer resolved.
      await wait(1_500)
      const asked = names.asked.length
      await wait(1_500)
      assert.equal(names.asked.length, asked)
      names.close()
      old.close()
      next.close()
    })
  }

  it('keeps its addresses when DNS once returns only one address family', async () => {
    const server = await serve('1', OLD, 0)
    let responses = 0
    const names = await serveNames((_, family) => {
      if (family === 6) return 'no-name'
      // The second DNS query fails; the known addresses remain valid.
      return ++responses === 2 ? 'failure' : { addresses: [OLD], ttl: 1 }
    })
    const port = await free()
    const gateway =
      await startWhole(`config: { dns: { servers: ['${names.address}'], lookupFamily: V4Only } }
gateways: { default: { port: ${port} } }
routes:
- name: all
  backends: [{ host: 'moved.fault.test:${server.port}' }]
`)
    const seen = new Set<Socket>()
    await until('three responses', async () => {
      assert.match(await exchange(port, GET), /200 OK/)
      for (const socket of server.sockets) seen.add(socket)
      return responses > 3
    })
    await gateway.stop()
    names.close()
    server.close()
    assert.equal(seen.size, 1)
  })
})

describe('the max age of connections', () => {
  for (const version of ['1', '2'] as const) {
    it(`can be set, over HTTP/${version}`, async () => {
      const server = await serve(version, OLD, 0)
      const port = await free()
      const gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: all
  backends:
  - host: 127.0.0.1:${server.port}
    policies: { http: { version: HTTP${version} }, connectionLimits: { maxAge: 1s } }
`)
      const seen = new Set<Socket>()
      await until('another connection', async () => {
        assert.match(await exchange(port, GET), /200/)
        for (const socket of server.sockets) seen.add(socket)
        return seen.size > 1
      })
      await gateway.stop()
      server.close()
    })
  }
})
