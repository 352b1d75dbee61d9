import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startSseMcpServer } from '../proxy/sse-mcp-server.ts'
import {
  type FixtureServer,
  startFixtures,
  startOther,
  startSseFixtures,
} from './stateless-fixtures.ts'

/*
 * The conformance suite for revision 2026-07-28, which is not released yet; `test/peers/install.sh`
 * installs it. The server serves that revision itself over HTTP; over its standard streams and over
 * the transport of 2024-11-05 it has sessions, which the gateway holds for the suite.
 */
const SUITE = join(
  import.meta.dirname,
  '../../.cache/mcp-clients/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js',
)
const PROGRAM = join(import.meta.dirname, 'stateless-fixtures-program.ts')
const OTHER = join(import.meta.dirname, '../proxy/mcp-sdk-program.ts')
const MINUTE = 60_000

interface Outcome {
  readonly passed: number
  readonly failed: number
}

type Outcomes = ReadonlyMap<string, Outcome>

async function results(port: number): Promise<Outcomes> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
  const url = `http://127.0.0.1:${port}/mcp`
  const args = [SUITE, 'server', '--url', url, '--requirements', '2026-07-28']
  const output = await new Promise<string>((resolve) => {
    const options = { cwd: folder, maxBuffer: 1 << 26, timeout: 5 * MINUTE }
    execFile(process.execPath, args, options, (_, stdout) => resolve(stdout))
  })
  rmSync(folder, { recursive: true })
  const lines = [...output.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gm)]
  return new Map(
    lines.map(([, name = '', passed, failed]) => [
      name,
      { passed: Number(passed), failed: Number(failed) },
    ]),
  )
}

/** Scenarios with more failures than directly, or none of whose checks pass any longer. */
function worse(direct: Outcomes, through: Outcomes): readonly string[] {
  return [...direct].flatMap(([name, { passed, failed }]) => {
    const outcome = through.get(name) ?? { passed: 0, failed: 1 }
    return outcome.failed > failed || (outcome.passed === 0 && passed > 0) ? [name] : []
  })
}

const skip = existsSync(SUITE) ? false : 'the suite is not in .cache/mcp-clients/conformance'

describe('the MCP conformance suite for 2026-07-28', { skip, timeout: 10 * MINUTE }, () => {
  const servers: FixtureServer[] = []
  const targets: Record<string, object> = {}
  let direct: Outcomes = new Map()
  let gateway: Deciding | undefined

  before(async () => {
    const [http, sse, other, otherSse] = await Promise.all([
      startFixtures(),
      startSseFixtures(),
      startOther(),
      startSseMcpServer('other'),
    ])
    servers.push(http, sse, other, otherSse)
    targets['httpOther'] = { mcp: { host: `127.0.0.1:${other.port}` } }
    targets['sseOther'] = { sse: { host: `127.0.0.1:${otherSse.port}` } }
    targets['stdioOther'] = { stdio: { cmd: process.execPath, args: [OTHER, 'other'] } }
    targets['http'] = { mcp: { host: `127.0.0.1:${http.port}` } }
    targets['sse'] = { sse: { host: `127.0.0.1:${sse.port}` } }
    targets['stdio'] = { stdio: { cmd: process.execPath, args: [PROGRAM] } }
    direct = await results(http.port)
  })
  after(async () => {
    await gateway?.stop()
    for (const { close } of servers) close()
  })

  async function through(prefixMode: string, ...kinds: readonly string[]): Promise<Outcomes> {
    const port = await freePort()
    const policies = { mcpAuthorization: { rules: [{ allow: 'true' }] } }
    const all = kinds.map((kind, at) => ({ name: `s${at}`, ...targets[kind] }))
    gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        backends: [{ name: 'guarded', mcp: { targets: all, prefixMode }, policies }],
        routes: [{ name: 'guarded', backends: [{ backend: 'guarded' }] }],
      }),
    )
    const outcomes = await results(port)
    await gateway.stop()
    gateway = undefined
    return outcomes
  }

  it('passes directly, except for what the server of this test does not do', () => {
    const passed = [...direct].filter(([, { failed }]) => failed === 0)
    assert.ok(passed.length >= 37, JSON.stringify([...direct]))
  })

  it('reports nothing else for one server over HTTP, except for the protection', async () => {
    const outcomes = await through('Conditional', 'http')
    assert.deepEqual(outcomes.get('dns-rebinding-protection'), { passed: 2, failed: 0 })
    // The state that clients carry is sealed.
    const state = 'input-required-result-tampered-state'
    assert.deepEqual(outcomes.get(state), { passed: 2, failed: 0 })
    const others = (all: Outcomes) =>
      [...all].filter(([name]) => name !== 'dns-rebinding-protection' && name !== state)
    assert.deepEqual(others(outcomes), others(direct))
  })

  for (const kind of ['stdio', 'sse'] as const) {
    it(`reports nothing worse for one server over ${kind}`, async () => {
      assertOnly(LISTED.session, await through('Conditional', kind))
    })
    // The suite uses the names of the first server, which is the only one that offers them.
    for (const mode of ['Conditional', 'Never']) {
      it(`reports nothing worse for HTTP and ${kind}, with the prefix mode ${mode}`, async () => {
        assertOnly(LISTED[kind], await through(mode, 'http', `${kind}Other`))
      })

      it(`reports nothing worse for ${kind} and HTTP, with the prefix mode ${mode}`, async () => {
        assertOnly(LISTED.session, await through(mode, kind, 'httpOther'))
      })
    }
  }

  function assertOnly(listed: readonly string[], outcomes: Outcomes): void {
    const others = worse(direct, outcomes).filter((name) => !listed.includes(name))
    assert.deepEqual(others, [], JSON.stringify([...outcomes]))
  }
})

/**
 * The scenarios that cannot have the same result as for a server without sessions.
 *
 * `basic-elicitation` expects the name by which the tool refers to its input: in a session, the
 * request of the server has a number only. `server-stateless` expects that a call fails with
 * −32021 if the client lacks a capability: the SDK's server responds with a result instead of
 * requesting anything; and it waits half a second for a call, in which no program may have started.
 */
const LISTED = {
  session: ['server-stateless', 'input-required-result-basic-elicitation'],
  stdio: ['server-stateless'],
  sse: [],
}
