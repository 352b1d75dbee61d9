import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { FLOODS } from '../../test/proxy/http2-flood-frames.ts'
import {
  END_HEADERS,
  fieldBlock,
  frame,
  HEADERS,
  rawHttp2,
} from '../../test/proxy/http2-gateway.ts'
import { reachable, SOURCE } from '../proxy/contenders.ts'
import {
  cpuOf,
  freePorts,
  pause,
  residentOf,
  type Started,
  start,
  stop,
} from '../proxy/processes.ts'
import type { Report } from '../report.ts'

/** Max CPU seconds of an attack. */
const MAX_CPU = 0.33
const CONNECTIONS = 400
const [STREAM_CONNECTIONS, STREAMS] = [100, 100]

/** Cost of attacks until the gateway ends them, and memory of connections and streams. */
export async function benchFloods(folder: string): Promise<Omit<Report, 'intro'>> {
  const backend = createServer((message, response) => {
    message.on('data', () => {}).on('end', () => response.end('ok'))
  }).listen(0, '127.0.0.1')
  await once(backend, 'listening')
  const [port = 0] = await freePorts(1)
  const file = join(folder, 'floods.yaml')
  writeFileSync(file, configuration(port, (backend.address() as AddressInfo).port))
  const gateway = start('proxy', process.execPath, [SOURCE, 'run', '-f', file])
  try {
    await reachable(port, gateway, 60_000)
    const found: (readonly [name: string, bytes: number, cpu: number, memory: number])[] = []
    // One run to warm up the code, one to measure.
    for (const isMeasured of [false, true])
      for (const [name, , , bytes] of FLOODS) {
        const cost = await attack(gateway, port, bytes)
        if (isMeasured) found.push([name, bytes.length, cost.cpu, cost.memory])
      }
    const memory = await holdings(gateway, port)
    const dearest = Math.max(...found.map(([, , cpu]) => cpu))
    return {
      tables: [
        {
          title: 'Attacks',
          columns: ['attack', 'sent', 'CPU', 'RSS'],
          rows: found.map(([name, bytes, cpu, grown]) => [
            name,
            `${(bytes / 1024).toFixed(0)} KiB`,
            `${(cpu * 1_000).toFixed(0)} ms`,
            `+${Math.max(0, grown).toFixed(1)} MB`,
          ]),
        },
        {
          title: 'Memory',
          columns: ['of', 'KiB'],
          rows: [
            ['an idle connection', memory.connection.toFixed(1)],
            ['a request that waits', memory.stream.toFixed(1)],
          ],
        },
      ],
      targets: [
        {
          what: 'CPU of the dearest attack',
          wanted: `≤ ${MAX_CPU} s`,
          measured: `${dearest.toFixed(2)} s`,
          met: dearest <= MAX_CPU,
        },
      ],
    }
  } finally {
    await stop(gateway)
    backend.close()
    backend.closeAllConnections()
  }
}

function configuration(port: number, backend: number): string {
  const backends = [{ host: `127.0.0.1:${backend}` }]
  // Nothing of such a request is forwarded before its body is complete.
  const rules = [{ require: `request.body != b'never'` }]
  const config = {
    workers: 1,
    adminAddr: 'off',
    statsAddr: 'off',
    readinessAddr: 'off',
    logging: { level: 'error' },
  }
  return stringify({
    config,
    gateways: { default: { port } },
    frontendPolicies: { accessLog: { enabled: false } },
    routes: [
      {
        name: 'waits',
        matches: [{ path: { exact: '/waits' } }],
        policies: { authorization: { rules } },
        backends,
      },
      { name: 'all', backends },
    ],
  })
}

async function attack(gateway: Started, port: number, bytes: Buffer) {
  const { user, kernel } = cpuOf(gateway.pid)
  const before = residentOf(gateway.pid)
  const socket = await rawHttp2(port)
  socket.resume()
  socket.write(bytes)
  const closed = once(socket, 'close')
  await Promise.race([closed, pause(20_000)])
  const isEnded = socket.closed
  socket.destroy()
  if (!isEnded) throw new Error('an attack was not ended')
  await pause(100)
  const after = cpuOf(gateway.pid)
  const cpu = after.user + after.kernel - user - kernel
  return { cpu, memory: residentOf(gateway.pid) - before }
}

/** KiB per connection, and per request on it. */
async function holdings(gateway: Started, port: number) {
  const open = (count: number) => Promise.all(Array.from({ length: count }, () => rawHttp2(port)))
  const end = (sockets: readonly Socket[]) => sockets.forEach((socket) => void socket.destroy())
  const resident = async () => {
    await pause(3_000)
    return (residentOf(gateway.pid) * 1e6) / 1024
  }
  const start0 = await resident()
  const idle = await open(CONNECTIONS)
  const connection = ((await resident()) - start0) / CONNECTIONS
  end(idle)
  const sockets = await open(STREAM_CONNECTIONS)
  const start1 = await resident()
  const head = fieldBlock([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'x'],
    [':path', '/waits'],
    ['user-agent', 'bench/1.0'],
    ['accept', '*/*'],
  ])
  for (const socket of sockets)
    for (let i = 0; i < STREAMS; i++) socket.write(frame(HEADERS, END_HEADERS, 2 * i + 1, head))
  const stream = ((await resident()) - start1) / (STREAM_CONNECTIONS * STREAMS)
  end(sockets)
  return { connection, stream }
}
