import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { free } from '../proxy/accepting.ts'
import { startWhole, type WholeGateway } from '../proxy/whole-gateway.ts'

/**
 * A backend in its own process that closes connections after `idle` milliseconds of idle time, and
 * optionally announces that in `header`.
 */
const BACKEND = `
const { createServer } = require('node:net')
const idle = Number(process.argv[1])
const header = process.argv[2] ?? ''
const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {})
  let timer
  let text = ''
  const later = () => { timer = setTimeout(() => socket.destroy(), idle) }
  later()
  socket.on('data', (bytes) => {
    clearTimeout(timer)
    text += bytes.toString('latin1')
    while (text.includes('\\r\\n\\r\\nhello')) {
      text = text.slice(text.indexOf('\\r\\n\\r\\nhello') + 9)
      socket.write('HTTP/1.1 200 OK\\r\\n' + header + 'content-length: 2\\r\\n\\r\\nok')
    }
    later()
  })
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const POST = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello'
const CLIENTS = 40

describe('a backend that closes idle connections early', () => {
  const children: ChildProcess[] = []
  const gateways: WholeGateway[] = []
  after(async () => {
    for (const gateway of gateways) await gateway.stop()
    for (const child of children) child.kill('SIGKILL')
  })

  async function start(idle: number, header: string): Promise<number> {
    const child = spawn(process.execPath, ['-e', BACKEND, String(idle), header], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const [line] = await once(child.stdout as NonNullable<typeof child.stdout>, 'data')
    const port = await free()
    gateways.push(
      await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: all
  backends: [{ host: '127.0.0.1:${String(line).trim()}' }]
`),
    )
    return port
  }

  /** Opens one connection for each client. */
  async function clientsOf(port: number) {
    const sockets = await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        const socket = connect(port, '127.0.0.1')
        await once(socket, 'connect')
        socket.on('error', () => {})
        return socket
      }),
    )
    return sockets
  }

  /** Resolves with the status, or with `closed` if the connection ends before one arrives. */
  const responseOf = (socket: Socket) =>
    new Promise<string>((resolve) => {
      let text = ''
      const onClose = () => resolve('closed')
      const onData = (bytes: Buffer) => {
        text += bytes.toString('latin1')
        if (!/\r\n\r\n/.test(text)) return
        socket.off('data', onData)
        socket.off('close', onClose)
        resolve(text.slice(9, 12))
      }
      socket.on('data', onData)
      socket.once('close', onClose)
    })

  /** Sends a POST from all clients at once. */
  const burst = async (sockets: readonly Socket[], meanwhile = () => {}) => {
    const responses = sockets.map(responseOf)
    for (const socket of sockets) socket.write(POST)
    meanwhile()
    return Promise.all(responses)
  }

  /** Blocks this whole process, the gateway included. */
  const stall = (milliseconds: number) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
  }

  for (const [what, idle, header, pauses] of [
    ['that says when', 1_000, 'Keep-Alive: timeout=1\r\n', [700, 950, 990, 1_000, 1_010]],
    ['that says when, in seconds', 2_000, 'keep-alive: max=5, timeout=2\r\n', [1_950, 2_000]],
    ['that does not say when', 1_200, '', [1_150, 1_190, 1_200, 1_210]],
  ] as const) {
    it(`${what}: no POST fails`, async () => {
      const sockets = await clientsOf(await start(idle, header))
      const failed: string[] = []
      for (const pause of [0, ...pauses]) {
        await wait(pause)
        failed.push(...(await burst(sockets)).filter((status) => status !== '200'))
      }
      for (const socket of sockets) socket.destroy()
      assert.deepEqual(failed, [])
    })
  }

  for (const [what, idle, stalled] of [
    ['a short time', 300, 600],
    ['a long time', 1_000, 2_200],
  ] as const) {
    it(`while the gateway stalls for ${what}: no POST fails`, async () => {
      const sockets = await clientsOf(await start(idle, ''))
      await burst(sockets)
      const failed: string[] = []
      for (let round = 0; round < 3; round++) {
        const responses = await burst(sockets, () => stall(stalled))
        failed.push(...responses.filter((status) => status !== '200'))
      }
      for (const socket of sockets) socket.destroy()
      assert.deepEqual(failed, [])
    })
  }
})
