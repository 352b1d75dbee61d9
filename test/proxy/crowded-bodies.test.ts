import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { free } from './accepting.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const LONG = 1_024
const CLIENTS = 160
const HEAD = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${LONG}\r\n\r\n`

describe('bodies that rules wait for', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number
  const sockets: Socket[] = []
  const texts: string[] = []

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      if (text.endsWith('.')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies: { http: { maxBufferSize: ${LONG} } }
routes:
- name: read
  policies: { authorization: { rules: [{ deny: "string(request.body).contains('forbidden')" }] } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
  })

  after(async () => {
    for (const socket of sockets) socket.destroy()
    await gateway.stop()
    upstream.close()
  })

  it('together take no more memory than 128 bodies of the max length, and release it when done', async () => {
    for (let i = 0; i < CLIENTS; i++) {
      const socket = connect(port, '127.0.0.1')
      sockets.push(socket)
      texts.push('')
      socket.on('error', () => {})
      socket.on('data', (bytes) => (texts[i] += bytes.toString('latin1')))
      socket.write(HEAD + 'a'.repeat(LONG - 1))
    }
    const shed = () => texts.filter((text) => /^HTTP\/1.1 503 .*\r\nretry-after: 1\r\n/s.test(text))
    await until('those that are too many', () => shed().length === CLIENTS - 128)
    const record = gateway.lines.find(({ reason }) => reason === 'overload')
    assert.equal(record?.['detail'], 'buffers')
    for (const [i, socket] of sockets.entries()) if (texts[i] === '') socket.write('.')
    await until('the others', () => texts.filter((text) => text.endsWith('ok')).length === 128)
    for (const socket of sockets) socket.destroy()
    await until('their end', () => gateway.connections() === 0)
    const responses = Array.from({ length: 200 }, () =>
      exchange(port, `${HEAD}${'a'.repeat(LONG - 1)}.`, 'ok'),
    )
    for (const response of await Promise.all(responses))
      assert.match(response, /^HTTP\/1.1 (200|503) /)
    assert.match(await exchange(port, `${HEAD}${'a'.repeat(LONG - 1)}.`, 'ok'), /^HTTP\/1.1 200 /)
  })
})

describe('compressed bodies that rules wait for', () => {
  /** As long as a body may be when decoded, and short on the wire. */
  const coded = gzipSync('a'.repeat(LONG))
  const request = Buffer.concat([
    Buffer.from(
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: ${coded.length}\r\n\r\n`,
    ),
    coded,
  ])
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number
  let isSlow = true

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      if (!isSlow && text.includes('\r\n\r\n'))
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies: { http: { maxBufferSize: ${LONG} } }
routes:
- name: read
  policies: { authorization: { rules: [{ deny: "string(request.body).contains('forbidden')" }] } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  it('count with their decoded length until they are done', async () => {
    const texts = Array.from({ length: CLIENTS }, () => '')
    const sockets = texts.map((_, at) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.on('data', (bytes) => (texts[at] += bytes.toString('latin1')))
      socket.write(request)
      return socket
    })
    const room = Math.floor((128 * LONG) / (LONG + coded.length))
    const shed = () => texts.filter((text) => /^HTTP\/1.1 503 .*retry-after: 1\r\n/s.test(text))
    await until('those that are too many', () => shed().length >= CLIENTS - room)
    assert.equal(gateway.lines.find(({ reason }) => reason === 'overload')?.['detail'], 'buffers')
    for (const socket of sockets) socket.destroy()
    await until('their end', () => gateway.connections() === 0)
    isSlow = false
    for (let round = 0; round < 2; round++) {
      const responses = Array.from({ length: room / 2 }, () => exchange(port, request, 'ok'))
      for (const response of await Promise.all(responses)) assert.match(response, /^HTTP\/1.1 200 /)
    }
  })
})
