import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startConformanceServer, startSseConformanceServer } from './mcp-conformance-server.ts'
import { startMcpServer } from './mcp-server.ts'

const SUITE = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
)
const PROGRAM = join(import.meta.dirname, 'mcp-conformance-program.ts')

interface Outcome {
  readonly passed: number
  readonly failed: number
}

/** The result of the official suite for each scenario. */
async function results(port: number): Promise<ReadonlyMap<string, Outcome>> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
  const url = `http://127.0.0.1:${port}/mcp`
  const args = [SUITE, 'server', '--url', url, '--suite', 'all']
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 1 << 26 }, (_, stdout) =>
      resolve(stdout),
    )
  })
  rmSync(folder, { recursive: true })
  const lines = [...said.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gm)]
  return new Map(
    lines.map(([, name = '', passed, failed]) => [
      name,
      { passed: Number(passed), failed: Number(failed) },
    ]),
  )
}

/** Scenarios with more failures than directly, or none of whose checks pass any longer. */
function worse(
  direct: ReadonlyMap<string, Outcome>,
  through: ReadonlyMap<string, Outcome>,
): readonly string[] {
  return [...direct].flatMap(([name, { passed, failed }]) => {
    const own = through.get(name) ?? { passed: 0, failed: 1 }
    return own.failed > failed || (own.passed === 0 && passed > 0) ? [name] : []
  })
}

describe('the MCP conformance suite', () => {
  const servers: (() => unknown)[] = []
  let direct: ReadonlyMap<string, Outcome>
  let suite: object
  let sse: object
  let other: object
  const stdio = { stdio: { cmd: process.execPath, args: [PROGRAM] } }
  let gateway: Deciding | undefined

  before(async () => {
    const [http, old, more] = await Promise.all([
      startConformanceServer(),
      startSseConformanceServer(),
      startMcpServer({ name: 'other' }),
    ])
    servers.push(http.close, old.close, more.close)
    suite = { mcp: { host: `127.0.0.1:${http.port}` } }
    sse = { sse: { host: `127.0.0.1:${old.port}` } }
    other = { mcp: { host: `127.0.0.1:${more.port}` } }
    direct = await results(http.port)
  })
  after(() => {
    for (const close of servers) close()
  })

  async function through(
    prefixMode: string,
    ...own: readonly object[]
  ): Promise<ReadonlyMap<string, Outcome>> {
    const port = await freePort()
    const policies = { mcpAuthorization: { rules: [{ allow: 'true' }] } }
    const targets = own.map((one, at) => ({ name: at === 0 ? 'suite' : `other${at}`, ...one }))
    gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        backends: [{ name: 'guarded', mcp: { targets, prefixMode }, policies }],
        routes: [{ name: 'guarded', backends: [{ backend: 'guarded' }] }],
      }),
    )
    const found = await results(port)
    await gateway.stop()
    return found
  }

  it('passes directly, except for what the server of this test does not do', () => {
    const passed = [...direct].filter(([, { failed }]) => failed === 0)
    assert.ok(passed.length >= 28, JSON.stringify([...direct]))
  })

  it('reports nothing worse for one server', async () => {
    const found = await through('Conditional', suite)
    assert.deepEqual(worse(direct, found), [])
    // The gateway protects a server that does not protect itself.
    assert.deepEqual(found.get('dns-rebinding-protection'), { passed: 2, failed: 0 })
    const others = (all: ReadonlyMap<string, Outcome>) =>
      [...all].filter(([name]) => name !== 'dns-rebinding-protection')
    assert.deepEqual(others(found), others(direct))
  })

  // The suite uses the names of the server, which is the only one that offers them.
  for (const [what, mode, targets] of [
    ['two servers with prefixes', 'Conditional', () => [suite, other]],
    ['two servers without', 'Never', () => [suite, other]],
    ['two servers that offer the same', 'Never', () => [suite, suite]],
    ['a program and a server', 'Never', () => [stdio, other]],
    ['an old server and another one', 'Never', () => [sse, other]],
  ] as const) {
    it(`reports nothing worse for ${what}`, { timeout: 120_000 }, async () => {
      const found = await through(mode, ...targets())
      assert.deepEqual(worse(direct, found), [], JSON.stringify([...found]))
    })
  }
})
