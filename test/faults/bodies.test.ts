import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { startRunning } from '../proxy/running.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { fill, PatternReader, randomOf } from './patterns.ts'
import {
  type Client,
  FAULTS,
  http1Client,
  http2Client,
  LATE,
  startPatternBackend,
  type Transfer,
} from './transfers.ts'

/*
 * Complete bodies under back-pressure: the test compares every byte of both directions while slow
 * readers fill every buffer on the path. BODIES sets the number of transfers of each kind.
 */

const COUNT = Number(process.env['BODIES'] ?? 6)
const SEED = Number(process.env['BODIES_SEED'] ?? 1)

describe('complete bodies under back-pressure', { skip: WITHOUT_OPENSSL }, () => {
  it('every byte arrives once and in its place over every protocol', async () => {
    const backend = startPatternBackend()
    const target = await listen(backend)
    const [plain, secured, stream] = await Promise.all([free(), free(), free()])
    const { cert, key } = makeAuthority('bodies').issue({ names: ['IP:127.0.0.1'] })
    const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
    const running = await startRunning(`frontendPolicies: { accessLog: { filter: 'false' } }
gateways:
  plain: { port: ${plain} }
  secured: { port: ${secured}, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
  stream: { port: ${stream}, protocol: TCP }
routes:
- name: kept
  gateways: [plain, secured]
  matches: [{ path: { pathPrefix: / }, headers: [{ name: x-kept, value: { exact: 'yes' } }] }]
  policies: { retry: { attempts: 2 } }
  backends: [{ host: 127.0.0.1:${target} }]
- name: all
  gateways: [plain, secured]
  backends: [{ host: 127.0.0.1:${target} }]
tcpRoutes:
- { name: stream, gateways: [stream], backends: [{ host: 127.0.0.1:${target} }] }
`)
    const h2 = http2Client(plain, false)
    const h2tls = http2Client(secured, true)
    const clients: Readonly<Record<string, Client>> = {
      'HTTP/1.1': http1Client(plain, false),
      'HTTP/1.1 over TLS': http1Client(secured, true),
      'HTTP/2': h2,
      'HTTP/2 over TLS': h2tls,
      TCP: http1Client(stream, false),
    }
    const wrong: string[] = []
    try {
      await Promise.all(
        Object.entries(clients).map(async ([name, client], index) => {
          const transfers = transfersOf(SEED * 1_000 + index, COUNT)
          await eachOf(transfers, 4, async (transfer) => {
            const fault = await client(transfer)
            if (fault !== undefined) wrong.push(`${name}: ${JSON.stringify(transfer)}: ${fault}`)
          })
        }),
      )
    } finally {
      h2.close()
      h2tls.close()
      await running.stop()
      backend.closeAllConnections()
      backend.close()
    }
    assert.deepEqual([...wrong, ...FAULTS], [], `BODIES_SEED=${SEED}`)
  })

  it('detects a byte that is lost, duplicated, changed or from another transfer', () => {
    const whole = fill(3, 0, 1_000)
    const changed = Buffer.from(whole)
    changed[700] = (changed[700] as number) ^ 1
    for (const bytes of [
      Buffer.concat([whole.subarray(0, 500), whole.subarray(501)]),
      Buffer.concat([whole.subarray(0, 500), whole.subarray(499)]),
      changed,
      fill(4, 0, 1_000),
    ]) {
      const reader = new PatternReader(3)
      reader.take(bytes)
      assert.ok(reader.wrongAt >= 0)
    }
  })
})

/**
 * Transfers of all sizes. The sockets of one machine buffer some megabytes before a writer has to
 * wait, so every third transfer is larger and its reader starts late.
 */
function transfersOf(seed: number, count: number): readonly Transfer[] {
  const random = randomOf(seed)
  const small = () => [0, 1 + random(100), random(70_000), random(300_000)][random(4)] as number
  const large = () => 16_000_000 + random(6_000_000)
  return Array.from({ length: count }, (_, index) => ({
    seed: random(1 << 30),
    up: index % 6 === 0 ? large() : small(),
    down: index % 6 === 3 ? large() : small(),
    isOpenEnded: random(2) === 0,
    idleness: index % 3 === 0 ? LATE : random(3) === 0 ? 0 : 1 + random(12),
  }))
}

async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  use: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < items.length) await use(items[next++] as T)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
