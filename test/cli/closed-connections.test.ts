// The objects of a connection become garbage when it closes, and no collection copies them.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { connect } from 'node:tls'
import { free } from '../proxy/accepting.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'

const CONNECTIONS = 800
/** Bytes that collections copy per connection; a whole connection has about 40,000. */
const MAX_COPIED = 10_000

describe('closed TLS connections', { skip: WITHOUT_OPENSSL }, () => {
  const backend = createServer((_, response) => response.end('ok'))
  let running: Running
  let port: number

  before(async () => {
    port = await free()
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
    const { cert, key } = makeAuthority('gateway.test')
    const inline = (pem: string) => JSON.stringify({ inline: pem })
    running = await startRunning(
      `gateways:
  default: { port: ${port}, protocol: HTTPS, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
routes:
- backends: [{ host: 127.0.0.1:${(backend.address() as AddressInfo).port} }]
`,
      { flags: ['--trace-gc-nvp', '--min-semi-space-size=8', '--max-semi-space-size=8'] },
    )
  })
  after(async () => {
    backend.close()
    await running.stop()
  })

  const request = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () =>
        socket.write('GET / HTTP/1.1\r\nhost: gateway.test\r\nconnection: close\r\n\r\n'),
      )
      socket
        .on('error', reject)
        .on('close', () => resolve())
        .resume()
    })

  it('are not copied by collections of young objects', async () => {
    for (let left = 200; left > 0; left--) await request()
    const before = running.out().length
    for (let left = CONNECTIONS; left > 0; left--) await request()
    const scavenges = running
      .out()
      .slice(before)
      .split('\n')
      .filter((line) => line.includes('"gc":"s"'))
    assert.ok(scavenges.length >= 2, `${scavenges.length} scavenges`)
    const bytes = (line: string, name: string) =>
      Number(new RegExp(`"${name}":(\\d+)`).exec(line)?.[1])
    const copied = scavenges
      .map((line) => bytes(line, 'promoted') + bytes(line, 'new_space_survived'))
      .reduce((sum, each) => sum + each, 0)
    const perConnection = Math.round(copied / CONNECTIONS)
    assert.ok(perConnection < MAX_COPIED, `${perConnection} bytes of each connection`)
  })
})
