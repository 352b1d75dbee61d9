import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const RESPONSE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'

interface Client {
  readonly socket: Socket
  text: string
  isClosed: boolean
}

describe('a connection that new network rules deny', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let ports: { http: number; tcp: number }
  const clients: Client[] = []
  let respondLate = () => {}

  const config = (rule: string) => `config: { connectionTerminationDeadline: 1s }
gateways:
  web: { port: ${ports.http} }
  raw: { port: ${ports.tcp}, protocol: TCP }
frontendPolicies: { networkAuthorization: { rules: [{ deny: "${rule}" }] } }
routes: [{ name: all, gateways: [web], backends: [{ host: 127.0.0.1:${upstream.port} }] }]
tcpRoutes: [{ name: bytes, gateways: [raw], backends: [{ host: 127.0.0.1:${upstream.port} }] }]
`
  const LET_IN = config.bind(undefined, "source.address == '192.0.2.1'")
  const KEPT_OUT = config.bind(undefined, "source.address == '127.0.0.1'")

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      if (text.startsWith('GET /late')) respondLate = () => socket.write(RESPONSE)
      else socket.write(RESPONSE)
    })
    ports = { http: await free(), tcp: await free() }
    gateway = await startWhole(LET_IN())
  })

  after(async () => {
    for (const { socket } of clients) socket.destroy()
    await gateway.stop()
    upstream.close()
  })

  async function open(port: number, bytes: string, response = 'ok'): Promise<Client> {
    const client: Client = { socket: connect(port, '127.0.0.1'), text: '', isClosed: false }
    clients.push(client)
    client.socket.on('error', () => {})
    client.socket.on('data', (data) => (client.text += data))
    client.socket.on('close', () => (client.isClosed = true))
    client.socket.write(bytes)
    await until('a response', () => client.text.endsWith(response))
    return client
  }

  it('accepts no further requests, over any protocol, and is logged', async () => {
    const idle = await open(ports.http, GET)
    const bytes = await open(ports.tcp, GET)
    const late = await open(ports.http, `${GET}GET /late HTTP/1.1\r\nhost: x\r\n\r\n${GET}`)
    const http2 = connectHttp2(`http://127.0.0.1:${ports.http}`)
    http2.on('error', () => {})
    const first = http2.request({ ':path': '/' })
    await new Promise((resolve) => first.on('response', resolve))
    first.resume()
    const dumb = connect(ports.http, '127.0.0.1')
    dumb.on('error', () => {})
    dumb.write('G')
    await until('all of them', () => gateway.connections() === 5)
    await until('the late one', () => upstream.received.some((text) => text.includes('/late')))
    const before = upstream.received.join('').split('GET / ').length

    await gateway.apply(KEPT_OUT())
    idle.socket.write(GET)
    await until('the end of who was idle', () => idle.isClosed && dumb.destroyed)
    await until('the end of HTTP/2', () => http2.destroyed || http2.closed)
    // The request in progress finishes by its original rules; the pipelined one after it does not
    // start.
    respondLate()
    await until('the end of who waited', () => late.isClosed)
    assert.equal(late.text.split('ok').length, 3)
    assert.match(late.text, /connection: close/)
    await until('the end of the bytes', () => bytes.isClosed)
    assert.equal(upstream.received.join('').split('GET / ').length, before)
    const denials = gateway.lines.filter(({ error }) => error === 'authorization failed')
    assert.equal(denials.length, 5)
  })

  it('stays open if the rules still allow it', async () => {
    await gateway.apply(LET_IN())
    const client = await open(ports.http, GET)
    await gateway.apply(config("source.address == '192.0.2.2'"))
    client.text = ''
    client.socket.write(GET)
    await until('another response', () => client.text.endsWith('ok'))
    assert.equal(client.isClosed, false)
  })
})
