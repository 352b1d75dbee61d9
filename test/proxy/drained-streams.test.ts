import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { free } from './accepting.ts'
import { listen } from './harness.ts'
import { startWhole, until } from './whole-gateway.ts'

/** Opens a stream that never ends, and resolves once some of it has arrived. */
const CLIENTS = {
  'HTTP/1.1': async (port: number) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'data')
    return () => socket.destroy()
  },
  'HTTP/2': async (port: number) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`).on('error', () => {})
    const stream = session.request({ ':path': '/' }).on('error', () => {})
    await once(stream, 'data')
    return () => session.destroy()
  },
} as const

describe('a stream in progress', () => {
  for (const isTcp of [false, true]) {
    for (const [version, open] of Object.entries(CLIENTS)) {
      if (isTcp && version === 'HTTP/2') continue
      for (const by of ['gateway', 'client'] as const) {
        // When a TCP client closes, the gateway cannot know whether it was done.
        if (isTcp && by === 'client') continue
        const reason = by === 'gateway' ? 'draining' : 'client-gone'
        it(`${isTcp ? 'TCP' : version}, cut by the ${by}, is logged as ${reason}`, async () => {
          const backend = createServer((_, response) => response.write('data: begun\n\n'))
          const behind = await listen(backend)
          const port = await free()
          const to = `backends: [{ host: 127.0.0.1:${behind} }]`
          const gateway = await startWhole(`config: { connectionTerminationDeadline: 200ms }
gateways: { default: { port: ${port}${isTcp ? ', protocol: TCP' : ''} } }
${isTcp ? 'tcpRoutes' : 'routes'}: [{ name: all, ${to} }]
`)
          try {
            const close = await open(port)
            const record = () =>
              gateway.lines.find(({ scope, backend: to }) => scope === 'request' && to)
            if (by === 'client') close()
            else await gateway.stop()
            await until('the record', () => record() !== undefined)
            assert.equal(record()?.['reason'], reason)
            close()
          } finally {
            await gateway.stop()
            backend.close()
            backend.closeAllConnections()
          }
        })
      }
    }
  }
})
