import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { describe, it } from 'node:test'
import { makeAuthority, makeServingCertificate } from '../../xds/certificate.ts'
import { HttpsKubeClient } from './client.ts'

const skip = process.platform === 'linux' ? false : 'only Linux shows the timers of sockets'

describe('a watch of an API server', () => {
  it('probes a silent connection to detect a server that vanished', {
    skip,
  }, async () => {
    const valid = { from: Date.now() - 60_000, to: Date.now() + 600_000 }
    const authority = makeAuthority('test', valid)
    const { cert, key } = makeServingCertificate(authority, ['127.0.0.1'], valid)
    const sockets: Socket[] = []
    const server = createServer({ cert, key }, (_, response) => {
      response.writeHead(200)
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: {} })}\n`)
    })
    server.on('connection', (socket) => sockets.push(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stop = new AbortController()
    const { port } = server.address() as AddressInfo
    const tls = { ca: Buffer.from(authority.cert) }
    const client = new HttpsKubeClient({ server: new URL(`https://127.0.0.1:${port}`), tls })
    let seen = () => {}
    const first = new Promise<void>((resolve) => (seen = resolve))
    const watching = client.watch('/api', () => seen(), stop.signal)
    try {
      await Promise.race([first, watching])
      const local = sockets[0]?.remotePort ?? 0
      // Sent data must be acknowledged first.
      const end = Date.now() + 60_000
      while (timerOf(local) !== KEEP_ALIVE_TIMER) {
        assert.ok(Date.now() < end, `the timer of the socket is ${timerOf(local)}`)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    } finally {
      stop.abort()
      await watching.catch(() => undefined)
      client.close()
      server.close()
      server.closeAllConnections()
    }
  })
})

/** proc_net_tcp(5): 1 is retransmission, 2 is keep-alive. */
const KEEP_ALIVE_TIMER = '02'

/** The timer of the connection from a local port. */
function timerOf(port: number): string | undefined {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n')
  const row = rows.map((line) => line.trim().split(/\s+/)).find(([, local]) => local === address)
  return row?.[5]?.split(':')[0]
}
