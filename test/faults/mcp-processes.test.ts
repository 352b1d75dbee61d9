import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'

/* Processes of MCP servers, and the sessions that they belong to, in all workers. */

/** The max processes that one caller may have. */
const PER_CALLER = 32

for (const workers of [1, 2]) {
  describe(`processes of MCP servers, with ${workers} workers`, {
    skip: process.platform === 'linux' ? false : 'needs /proc',
    timeout: 300_000,
  }, () => {
    let port = 0
    let mark = ''
    let folder = ''
    let running: Running | undefined

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
      await start()
    })
    after(async () => {
      await running?.stop()
      rmSync(folder, { recursive: true })
      await until('all processes end', () => processes() === 0)
    })

    /** A shell is enough of a server: it responds to each request with the same result. */
    const start = async () => {
      port = await free()
      mark = `mcp-processes-${port}`
      const result = '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{}}'
      const script = join(folder, 'server.sh')
      const lines = `while read -r line; do case "$line" in *'"id":'*) rest=\${line#*'"id":'}
printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "\${rest%%,*}" '${result}';; esac; done`
      writeFileSync(script, lines)
      const stdio = { cmd: '/bin/sh', args: [script, mark] }
      const backend = { name: 'tools', mcp: { targets: [{ name: 'local', stdio }] } }
      const text = `gateways: { default: { port: ${port} } }
backends: [${JSON.stringify(backend)}]
routes: [{ name: tools, backends: [{ backend: tools }] }]
`
      running = await startRunning(text, { workers })
    }

    /** How many of them run. */
    function processes(): number {
      return readdirSync('/proc').filter((name) => {
        if (!/^\d+$/.test(name)) return false
        try {
          const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
          return words.includes(mark) && words[0] === '/bin/sh'
        } catch {
          return false
        }
      }).length
    }

    /** Each request has its own connection, so any worker may get it. */
    const send = (method: string, message: object | undefined, session?: string) =>
      new Promise<{ status: number; session: string }>((resolve, reject) => {
        const headers = {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session === undefined ? {} : { 'mcp-session-id': session }),
        }
        const sent = request({ port, method, path: '/mcp', headers, agent: false }, (response) => {
          response.resume()
          const id = String(response.headers['mcp-session-id'] ?? '')
          response.on('end', () => resolve({ status: response.statusCode ?? 0, session: id }))
        })
        sent.on('error', reject)
        sent.end(message === undefined ? undefined : JSON.stringify(message))
      })

    const call = (method: string, session?: string) =>
      send('POST', { jsonrpc: '2.0', id: 1, method, params: {} }, session)

    it('end with their session, which is then rejected', async () => {
      const { status, session } = await call('initialize')
      assert.equal(status, 200)
      // Every worker that gets a request begins the session again.
      for (let i = 0; i < 12; i++) assert.equal((await call('ping', session)).status, 200)
      assert.ok(processes() >= 1)
      assert.equal((await send('DELETE', undefined, session)).status, 200)
      const after = await Promise.all(
        Array.from(
          { length: 24 },
          async (_, at) => (await call(METHODS[at % 3] ?? '', session)).status,
        ),
      )
      assert.deepEqual([...new Set(after)], [404])
      assert.equal((await send('DELETE', undefined, session)).status, 404)
      await until('all processes end', () => processes() === 0)
    })

    it('are limited for each caller', async () => {
      let most = 0
      const sessions: string[] = []
      for (let i = 0; i < PER_CALLER + 16; i += 8) {
        const begun = await Promise.all(Array.from({ length: 8 }, () => call('initialize')))
        for (const { status, session } of begun) {
          assert.ok(status === 200 || status === 503, String(status))
          if (status === 200) sessions.push(session)
        }
        most = Math.max(most, processes())
      }
      assert.ok(most <= PER_CALLER, `${most} processes`)
      const metric = await running?.metric('portcullis_mcp_processes{target="local"}')
      assert.equal(metric, processes())
      assert.ok(most >= PER_CALLER - workers, `only ${most} processes`)
      // The unused ones made room, and begin again when they are used.
      assert.ok(sessions.length > PER_CALLER, `only ${sessions.length} sessions`)
      assert.equal((await call('ping', sessions.at(-1))).status, 200)
    })
  })
}

const METHODS = ['ping', 'tools/list', 'resources/list']
