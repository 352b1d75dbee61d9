import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startConformanceServer } from './mcp-conformance-server.ts'

const SUITE = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
)

/** The result of the official suite for each scenario. */
async function results(port: number): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
  const url = `http://127.0.0.1:${port}/mcp`
  const args = [SUITE, 'server', '--url', url, '--suite', 'all']
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 1 << 26 }, (_, stdout) =>
      resolve(stdout),
    )
  })
  rmSync(folder, { recursive: true })
  return said.split('\n').filter((line) => /^[✓✗]/.test(line))
}

describe('the MCP conformance suite', () => {
  let server: Awaited<ReturnType<typeof startConformanceServer>>
  let gateway: Deciding
  let port = 0

  before(async () => {
    server = await startConformanceServer()
    port = await freePort()
    const allowed = { mcpAuthorization: { rules: [{ allow: 'true' }] } }
    const target = { name: 'suite', mcp: { host: `127.0.0.1:${server.port}` } }
    const route = (name: string, path: string) => ({
      name,
      matches: [{ path: { pathPrefix: path } }],
      backends: [{ backend: name }],
    })
    gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        backends: [{ name: 'guarded', mcp: { targets: [target] }, policies: allowed }],
        routes: [route('guarded', '/mcp')],
      }),
    )
  })
  after(async () => {
    await gateway.stop()
    server.close()
  })

  it('reports the same for a server directly and through the gateway', async () => {
    const direct = await results(server.port)
    const through = await results(port)
    const passed = direct.filter((line) => line.startsWith('✓'))
    assert.ok(passed.length >= 25, `only ${passed.length} pass directly:\n${direct.join('\n')}`)
    assert.deepEqual(through, direct)
  })
})
