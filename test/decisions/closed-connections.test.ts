import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { freePorts } from '../free-port.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { type Deciding, startDeciding } from './gateway.ts'
import { sendRaw } from './rejecting.ts'

const GET = 'GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n'

describe('a connection that is closed', { skip: WITHOUT_OPENSSL }, () => {
  let own: Deciding
  let ports: readonly number[]

  before(async () => {
    ports = await freePorts(2)
    const [required, open] = ports
    const authority = makeAuthority('clients')
    const { cert, key } = authority.issue({ names: ['DNS:a.test'] })
    const tls = { cert: { inline: cert }, key: { inline: key }, root: { inline: authority.cert } }
    own = await startDeciding(
      JSON.stringify({
        config: { limits: { connections: 1 } },
        gateways: { required: { port: required, tls }, open: { port: open } },
        routes: [{ name: 'all', policies: { directResponse: { status: 200 } } }],
      }),
      'json',
    )
  })

  after(() => own.stop())

  it('without the client certificate has a record, whose id is in the log', async () => {
    const [port = 0] = ports
    await new Promise((resolve) => {
      const options = { port, host: '127.0.0.1', servername: 'a.test', rejectUnauthorized: false }
      const socket = connectTls(options)
      socket.on('error', () => {})
      socket.on('close', resolve)
      socket.resume()
    })
    const record = await own.only({ stage: 'connection' })
    assert.partialDeepStrictEqual(record, {
      ...{ kind: 'rejection', verdict: 'denied', cause: 'authentication' },
      ...{ detail: 'client-certificate-missing', gateway: 'required', sni: 'a.test' },
    })
    assert.ok(own.lines.some((line) => line.includes(`"request.id":"${record.id}"`)))
  })

  it('for plain HTTP on a TLS port has the id that the client receives', async () => {
    const text = await sendRaw(ports[0] ?? 0, GET)
    const id = /^x-request-id: (.+)\r$/im.exec(text)?.[1] ?? assert.fail(text)
    const record = await own.only({ id })
    assert.partialDeepStrictEqual(record, { kind: 'rejection', cause: 'bad-request' })
  })
  it('over the limit has the id that the client receives', async () => {
    const port = ports[1] ?? 0
    const first = connect(port, '127.0.0.1')
    await once(first, 'connect')
    let text = ''
    while (!text.includes(' 503 ')) text = await sendRaw(port, GET)
    first.destroy()
    const id = /^x-request-id: (.+)\r$/im.exec(text)?.[1] ?? assert.fail(text)
    const record = await own.only({ id })
    assert.partialDeepStrictEqual(record, { kind: 'rejection', cause: 'overload' })
  })
})
