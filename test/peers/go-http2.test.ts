import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { buildGo } from '../oracle/build-go.ts'
import { free } from '../proxy/accepting.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'

const built = buildGo(new URL('go/', import.meta.url), 'http2-peers')
const program = 'missing' in built ? '' : built.program
const skip = 'missing' in built ? built.missing : false

/** grpc-go and net/http on both sides of the gateway. */
describe('HTTP/2 with Go', { skip }, () => {
  let server: ChildProcess
  let said = ''
  let gateway: WholeGateway
  let port = 0

  before(async () => {
    server = spawn(program, ['serve'], { stdio: ['pipe', 'pipe', 'inherit'] })
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    await until('the ports', () => said.includes('\n'))
    const [grpc, http] = said.split('\n', 1).join('').split(' ')
    port = await free()
    const to = (own: string | undefined) =>
      `[{ host: '127.0.0.1:${own}', policies: { http: { version: HTTP2 } } }]`
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- { name: grpc, matches: [{ path: { pathPrefix: /test.Go } }], backends: ${to(grpc)} }
- { name: http, backends: ${to(http)} }
`)
  })

  after(async () => {
    await gateway.stop()
    server.stdin?.end()
    server.kill()
  })

  const run = (...args: readonly string[]) =>
    new Promise<readonly string[]>((resolve) => {
      execFile(program, args, { timeout: 60_000 }, (_, out) => resolve(out.trim().split('\n')))
    })

  it('all kinds of calls, large messages, deadlines and cancellation with grpc-go', async () => {
    assert.deepEqual(await run('grpc', `127.0.0.1:${port}`), [
      `unary 1 ${8 << 20} [yes] <nil>`,
      'server 1000 10000000 <nil>',
      'client 1 8 <nil>',
      'both 1000 10000000 <nil>',
      'fail NotFound no such thing',
      'deadline DeadlineExceeded',
      'cancel Canceled',
    ])
    // The backend sees both cancellations.
    await until('two cancellations', () => said.match(/cancelled silent/g)?.length === 2)
  })

  it('bidirectional bodies, trailers, and a response before the request is complete', async () => {
    assert.deepEqual(await run('http', `http://127.0.0.1:${port}`), [
      ...[0, 1, 16_384, 65_536, 1_000_000, 5_000_000].map((size) => `${size} 200 true true`),
      'early 418 enough <nil>',
    ])
  })
})
