import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { exchange } from '../../test/proxy/harness.ts'
import { ConnectionCounts } from './connection-counts.ts'

const GET = 'GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
const SCARCE = fileURLToPath(new URL('../../test/proxy/scarce.ts', import.meta.url))

/** Starts a gateway that may open this many files. */
async function start(descriptors: number, mode: 'bounded' | 'unbounded') {
  const command = `ulimit -n ${descriptors}; exec "$0" "$1" ${mode}`
  const child = spawn('sh', ['-c', command, process.execPath, SCARCE], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  return { port: Number(line), close: () => child.stdin.end(), exited: once(child, 'exit') }
}

function hold(port: number, count: number): Promise<Socket[]> {
  const one = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.resume()
    await new Promise((resolve) => socket.on('connect', resolve).on('close', resolve))
    return socket
  }
  return Promise.all(Array.from({ length: count }, one))
}

const skip = process.platform === 'linux' ? false : 'limits are read from /proc'

describe('file descriptor limits', { skip }, () => {
  for (const mode of ['bounded', 'unbounded'] as const) {
    it(`${mode}: what is too much is closed, and when it is gone all is well again`, async () => {
      const own = await start(120, mode)
      assert.match(await exchange(own.port, GET, 'hello'), /200 OK/)
      const held = await hold(own.port, 200)
      const left = () => held.filter((socket) => !socket.destroyed).length
      const isSo = () => (mode === 'bounded' ? left() === 28 : left() > 28 && left() < 120)
      for (let turn = 0; turn < 3_000 && !isSo(); turn++) await wait(20)
      assert.ok(isSo(), String(left()))
      for (const socket of held) socket.destroy()
      // Until the gateway has noticed, it rejects further connections.
      const isServed = async () => /200 OK/.test(await exchange(own.port, GET, 'hello'))
      for (let turn = 0; turn < 1_000 && !(await isServed()); turn++) await wait(20)
      for (let turn = 0; turn < 5; turn++) assert.ok(await isServed())
      own.close()
      const [code] = await own.exited
      assert.equal(code, 0)
    })
  }

  it('reserve half of them for upstreams', () => {
    const limits = { connections: 50_000, connectionsPerAddress: 10 }
    assert.equal(new ConnectionCounts(limits, 1024).limits.connections, 480)
    assert.equal(new ConnectionCounts(limits, 1_000_000).limits.connections, 50_000)
  })
})
