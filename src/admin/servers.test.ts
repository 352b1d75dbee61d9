import assert from 'node:assert/strict'
import dns from 'node:dns'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, isIP } from 'node:net'
import { hostname } from 'node:os'
import { describe, it } from 'node:test'
import { type RequestHandler, serve, text } from './servers.ts'

type Looked = (error: NodeJS.ErrnoException | null, address: string, family: number) => void

const ORIGIN = { file: 'test', line: 1, column: 1 } as unknown as Parameters<typeof serve>[2]

async function statusFor(bound: string, host: string, isPrivate = false): Promise<string> {
  const responses = new Map<string, RequestHandler>([
    ['/secret', (_, response) => text(response, 200, 'yes')],
  ])
  const server = (await serve(
    { kind: 'tcp', host: bound, port: 0 },
    responses,
    ORIGIN,
    undefined,
    isPrivate,
  )) as Server
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`GET /secret HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  let response = ''
  socket.on('data', (bytes) => (response += bytes))
  await once(socket, 'close')
  server.close()
  return response.slice(9, 12)
}

describe('a server for operators', () => {
  for (const [host, status] of [
    ['localhost:15000', '200'],
    ['LOCALHOST', '200'],
    ['127.0.0.1:15000', '200'],
    ['[::1]:15000', '200'],
    ['attacker.example', '421'],
    ['attacker.example:15000', '421'],
    ['127.0.0.1.attacker.example', '421'],
    ['localhost.attacker.example', '421'],
    ['[::1].attacker.example', '421'],
  ] as const) {
    it(`that is for this machine responds to ${host} with ${status}`, async () => {
      assert.equal(await statusFor('127.0.0.1', host), status)
    })
  }

  it('responds 500 if a handler throws, now or later, and reports it once', async () => {
    const reported: unknown[] = []
    const responses = new Map<string, RequestHandler>([
      [
        '/now',
        () => {
          throw new Error('now')
        },
      ],
      ['/later', () => Promise.reject(new Error('later'))],
      ['/fine', (_, response) => text(response, 200, 'yes')],
    ])
    const at = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
    const broke = (error: unknown) => reported.push((error as Error).message)
    const server = (await serve(at, responses, ORIGIN, broke)) as Server
    const { port } = server.address() as AddressInfo
    const seen: number[] = []
    for (const path of ['/now', '/later', '/fine']) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      await response.text()
      seen.push(response.status)
    }
    server.close()
    server.closeAllConnections()
    assert.deepEqual(seen, [500, 500, 200])
    assert.deepEqual(reported, ['now', 'later'])
  })

  for (const [host, status] of [
    ['10.0.0.7:15000', '200'],
    ['localhost', '200'],
    [hostname(), '200'],
    ['attacker.example', '421'],
  ] as const) {
    it(`that shows what is private responds to ${host} with ${status} beyond this machine too`, async () => {
      assert.equal(await statusFor('0.0.0.0', host, true), status)
    })
  }

  it('accepts any host name when bound to all addresses', async () => {
    assert.equal(await statusFor('0.0.0.0', 'metrics.example'), '200')
  })

  it('needs no name lookup for localhost', async (context) => {
    const { lookup } = dns
    context.mock.method(dns, 'lookup', (name: string, options: object, done: Looked) => {
      if (isIP(name) !== 0) lookup(name, options, done)
      else done(Object.assign(new Error(`EAI_AGAIN ${name}`), { code: 'EAI_AGAIN' }), '', 4)
    })
    assert.equal(await statusFor('localhost', 'localhost'), '200')
  })

  it('closes slow clients and serves others meanwhile', { timeout: 60_000 }, async () => {
    const at = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
    const body: RequestHandler = async (request, response) => {
      for await (const _ of request) void _
      text(response, 200, 'whole')
    }
    const bounds = { head: 100, request: 200, connections: 40 }
    const server = (await serve(
      ...([at, new Map(), ORIGIN, undefined, true, body, [], bounds] as const),
    )) as Server
    const { port } = server.address() as AddressInfo
    const talk = (head: string) => {
      let said = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(head))
      socket.on('data', (bytes) => (said += bytes))
      socket.on('error', () => {})
      return once(socket, 'close').then(() => said)
    }
    const slow = Array.from({ length: 15 }, () => [
      talk('GET /api/x HTTP/1.1\r\nhost: localhost\r\nx-slow: '),
      talk('POST /api/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nab'),
    ]).flat()
    const other = 'GET /api/x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
    // A client that the process itself kept waiting counts as slow.
    while (!/^HTTP\/1\.1 200 .*whole/s.test(await talk(other)));
    for (const said of await Promise.all(slow)) assert.match(said, /^(?:HTTP\/1\.1 408 |$)/)
    while (!/^HTTP\/1\.1 200 /.test(await talk(other)));
    server.close()
  })
})

describe('a listen address that cannot be bound', () => {
  it('is reported with a hint', async () => {
    const first = (await serve(
      { kind: 'tcp', host: '127.0.0.1', port: 0 },
      new Map(),
      ORIGIN,
    )) as Server
    const { port } = first.address() as AddressInfo
    const taken = await serve({ kind: 'tcp', host: '127.0.0.1', port }, new Map(), ORIGIN)
    const foreign = await serve({ kind: 'tcp', host: '192.0.2.1', port: 0 }, new Map(), ORIGIN)
    first.close()
    assert.deepEqual(
      [taken, foreign].map((one) => one !== undefined && 'message' in one && one.message),
      [
        `cannot listen on 127.0.0.1:${port}: the address is already in use`,
        'cannot listen on 192.0.2.1:0: the address is not available on this machine',
      ],
    )
  })
})
