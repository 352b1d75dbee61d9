import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange } from './harness.ts'
import { spansIn } from './spans.ts'
import { startWhole } from './whole-gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))

async function listening(server: Server, where: ListenOptions): Promise<Server> {
  await new Promise<void>((done) => server.listen(where, done))
  return server
}

const portOf = (server: Server) => (server.address() as AddressInfo).port

describe('spans name the server', () => {
  const path = join(folder, 'backend.sock')
  for (const [title, where, backendOf, address, hasPort] of [
    ['an address', {}, (port: number) => `127.0.0.1:${port}`, '127.0.0.1', true],
    ['a name', {}, (port: number) => `localhost:${port}`, 'localhost', true],
    ['a socket', { path }, () => `unix:${path}`, `unix:${path}`, false],
  ] as const) {
    it(`of the backend, which is ${title}, and of the gateway`, async () => {
      const tcp = { host: '127.0.0.1', port: 0 }
      const batches: Buffer[] = []
      const backend = await listening(
        createServer((_, response) => response.end('hello')),
        'path' in where ? where : tcp,
      )
      const collector = await listening(
        createServer((request, response) => {
          request.on('data', (chunk) => batches.push(chunk)).on('end', () => response.end())
        }),
        tcp,
      )
      const own = 'path' in where ? 0 : portOf(backend)
      const port = await free()
      const gateway = await startWhole(`config: { dns: { lookupFamily: V4Only } }
gateways: { default: { port: ${port} } }
frontendPolicies:
  tracing: { host: '127.0.0.1:${portOf(collector)}', protocol: http, randomSampling: true }
routes:
- name: all
  backends: [{ host: '${backendOf(own)}' }]
`)
      const request = 'GET / HTTP/1.1\r\nhost: api.test:1234\r\nconnection: close\r\n\r\n'
      assert.match(await exchange(port, request), /^HTTP\/1\.1 200 /)
      await gateway.stop()
      backend.close()
      collector.close()
      const spans = spansIn([Buffer.concat(batches)])
      const server = spans.find(({ name }) => name === 'GET all')?.attributes
      const client = spans.find(({ name }) => name === 'GET')?.attributes
      assert.equal(spans.length, 2)
      // The name that the client called, and the port that it reached.
      assert.deepEqual([server?.['server.address'], server?.['server.port']], ['api.test', port])
      assert.deepEqual(
        [client?.['server.address'], client?.['server.port']],
        [address, hasPort ? own : undefined],
      )
    })
  }
})

it('headers for the collector are sent with each batch, and are never shown', async () => {
  const got: (string | undefined)[] = []
  const collector = await listening(
    createServer((request, response) => {
      got.push(request.headers.authorization, request.headers['x-scope'] as string)
      request.resume().on('end', () => response.end())
    }),
    { host: '127.0.0.1', port: 0 },
  )
  const port = await free()
  const gateway = await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies:
  tracing:
    host: '127.0.0.1:${portOf(collector)}'
    protocol: http
    randomSampling: true
    headers: { Authorization: Basic c2VjcmV0, X-Scope: tenant-1 }
routes:
- name: all
  policies: { directResponse: { status: 204 } }
`)
  try {
    const request = 'GET / HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\n\r\n'
    assert.match(await exchange(port, request), /^HTTP\/1\.1 204 /)
  } finally {
    await gateway.stop()
    collector.close()
  }
  assert.deepEqual(got, ['Basic c2VjcmV0', 'tenant-1'])
})
