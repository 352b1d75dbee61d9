import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  type Answerer,
  type NameServer,
  serveNames,
} from '../../src/upstream/fixtures/name-server.ts'
import { free } from '../proxy/accepting.ts'
import { exchange, type RawUpstream, startEcho } from '../proxy/harness.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'
const GET = 'GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

describe('names that cannot be resolved', () => {
  let upstream: RawUpstream
  let names: NameServer
  let gateway: WholeGateway
  let port: number
  let response: ReturnType<Answerer> = 'failure'

  before(async () => {
    upstream = await startEcho(OK)
    names = await serveNames((_, family) => (family === 4 ? response : 'no-name'))
    port = await free()
    gateway =
      await startWhole(`config: { dns: { servers: ['${names.address}'], lookupFamily: V4Only } }
gateways: { default: { port: ${port} } }
routes:
- name: all
  backends: [{ host: backend.fault.test:${upstream.port} }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
    names.close()
  })

  const ask = () => exchange(port, GET)

  for (const how of ['failure', 'no-name'] as const) {
    it(`${how}: 503 that says so in the log`, async () => {
      response = how
      assert.match(await ask(), /^HTTP\/1\.1 503 /)
      const line = gateway.lines.at(-1)
      assert.equal(line?.['reason'], 'upstream-connect')
      assert.match(String(line?.['detail']), /^dns/)
      assert.match(
        gateway.metrics(),
        /upstream_connection_failures_total\{backend="all\/0",reason="dns"\} [1-9]/,
      )
    })
  }

  it('are served without a restart as soon as the name server responds', async () => {
    response = { addresses: ['127.0.0.1'], ttl: 1 }
    await until('recovery', async () => (await ask()).includes('200 OK'))
  })

  it('keep their addresses when the name server fails later', async () => {
    response = 'failure'
    const before = names.asked.length
    await until('it to be asked in vain', async () => {
      assert.match(await ask(), /^HTTP\/1\.1 200 /)
      return names.asked.length > before + 1
    })
    assert.match(await ask(), /^HTTP\/1\.1 200 /)
  })
})
