import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from '../proxy/mcp-server.ts'

/** Third-party clients and servers, as installed by `test/peers/install.sh`. */
const CACHE = join(import.meta.dirname, '../../.cache/mcp-clients')
const PYTHON = join(CACHE, 'python')
const NODE_PACKAGES = join(CACHE, 'node/node_modules/@modelcontextprotocol')

function missing(path: string): string | false {
  return existsSync(join(CACHE, path)) ? false : `${path} is not in .cache/mcp-clients`
}

const MINUTE = 60_000

function run(program: string, args: readonly string[], env: object = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: 2 * MINUTE, env: { ...process.env, ...env } }
    execFile(program, [...args], options, (error, out, err) => {
      if (error === null) resolve(out)
      else reject(new Error(`${error.message}\n${out}\n${err}`))
    })
  })
}

const python = (text: string, ...args: readonly string[]) =>
  run('python3', ['-c', text, ...args], { PYTHONPATH: PYTHON })

/** Both print what the client sees: the tools, a result, and the message for a denied tool. */
const MCP = `
import asyncio, json, sys
from mcp import ClientSession
try:
    from mcp.client.streamable_http import streamable_http_client as connect
except ImportError:
    from mcp.client.streamable_http import streamablehttp_client as connect

async def main():
    async with connect(sys.argv[1]) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            tools = sorted(tool.name for tool in (await session.list_tools()).tools)
            called = await session.call_tool('files_echo', {'text': 'Grüße'})
            try:
                denied = await session.call_tool('files_delete', {})
                said = denied.content[0].text
            except Exception as error:
                said = str(error)
            print(json.dumps([tools, called.content[0].text, said]))

asyncio.run(main())
`

const FASTMCP = `
import asyncio, json, sys
from fastmcp import Client

async def main():
    async with Client(sys.argv[1]) as client:
        tools = sorted(tool.name for tool in await client.list_tools())
        called = await client.call_tool('files_echo', {'text': 'Grüße'})
        try:
            await client.call_tool('files_delete', {})
            said = ''
        except Exception as error:
            said = str(error)
        print(json.dumps([tools, called.content[0].text, said]))

asyncio.run(main())
`

describe('third-party MCP clients', () => {
  let files: TestMcpServer
  let notes: TestMcpServer
  let gateway: Deciding
  let url = ''

  before(async () => {
    files = await startMcpServer({ name: 'files' })
    notes = await startMcpServer({ name: 'notes' })
    const port = await freePort()
    url = `http://127.0.0.1:${port}/mcp`
    const at = (name: string, { port: own }: TestMcpServer) => ({
      name,
      mcp: { host: `127.0.0.1:${own}` },
    })
    const rules = [{ allow: "mcp.tool.name in ['echo', 'add']" }]
    gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        mcp: {
          targets: [at('files', files), at('notes', notes)],
          policies: { mcpAuthorization: { rules } },
        },
      }),
    )
  })
  after(async () => {
    await gateway?.stop()
    await files?.close()
    await notes?.close()
  })

  for (const [name, program] of [
    ['mcp', MCP],
    ['fastmcp', FASTMCP],
  ] as const) {
    it(`Python ${name}`, { skip: missing(`python/${name}`), timeout: 3 * MINUTE }, async () => {
      const said = JSON.parse(await python(program, url)) as [string[], string, string]
      const [tools, called, denied] = said
      assert.deepEqual(tools, ['files_add', 'files_echo', 'notes_add', 'notes_echo'])
      assert.match(called, /Grüße/)
      assert.match(denied, /Unknown tool: files_delete/)
    })
  }

  const SERVERS = [
    'node/node_modules/@modelcontextprotocol/server-memory',
    'python/mcp_server_time',
  ]
  const lacking = SERVERS.map(missing).find(Boolean) ?? missing('python/mcp_server_git')
  it('third-party servers as programs', { skip: lacking, timeout: 3 * MINUTE }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-servers-'))
    const port = await freePort()
    const env = { PYTHONPATH: PYTHON }
    const memory = join(NODE_PACKAGES, 'server-memory/dist/index.js')
    const of = (name: string, cmd: string, args: readonly string[], more: object = {}) => ({
      name,
      stdio: { cmd, args, env: { ...env, ...more } },
    })
    let second: Deciding | undefined
    const client = new Client({ name: 'test', version: '1' })
    try {
      await run('git', ['init', '--quiet', folder])
      const targets = [
        of('memory', process.execPath, [memory], { MEMORY_FILE_PATH: join(folder, 'memory.json') }),
        of('time', 'python3', ['-m', 'mcp_server_time', '--local-timezone', 'UTC']),
        of('git', 'python3', ['-m', 'mcp_server_git', '--repository', folder]),
      ]
      const rules = [{ deny: "mcp.tool.name == 'git_commit'" }]
      second = await startDeciding(
        JSON.stringify({
          gateways: { default: { port } },
          mcp: { targets, policies: { mcpAuthorization: { rules } } },
        }),
      )
      const at = new URL(`http://127.0.0.1:${port}/mcp`)
      await client.connect(new StreamableHTTPClientTransport(at) as never)
      const { tools } = await client.listTools()
      const names = tools.map(({ name }) => name)
      for (const name of ['memory_read_graph', 'time_get_current_time', 'git_git_status']) {
        assert.ok(names.includes(name), `${name} of ${names.join(', ')}`)
      }
      assert.equal(names.includes('git_git_commit'), false)
      const call = async (name: string, given: object) =>
        JSON.stringify(await client.callTool({ name, arguments: { ...given } }))
      assert.match(await call('time_get_current_time', { timezone: 'UTC' }), /timezone/)
      assert.match(await call('memory_read_graph', {}), /entities/)
      assert.match(await call('git_git_status', { repo_path: folder }), /branch|commit/i)
      await assert.rejects(call('git_git_commit', {}), /Unknown tool: git_git_commit/)
    } finally {
      await client.close()
      await second?.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  const INSPECTOR = 'node/node_modules/@modelcontextprotocol/inspector'
  it('the inspector', { skip: missing(INSPECTOR), timeout: 3 * MINUTE }, async () => {
    const cli = join(NODE_PACKAGES, '../.bin/mcp-inspector')
    const inspect = async (...args: readonly string[]) =>
      JSON.parse(await run(cli, ['--cli', url, '--transport', 'http', ...args])) as object
    const { tools } = (await inspect('--method', 'tools/list')) as { tools: { name: string }[] }
    assert.deepEqual(tools.map(({ name }) => name).sort(), [
      ...['files_add', 'files_echo', 'notes_add', 'notes_echo'],
    ])
    const called = await inspect(
      ...['--method', 'tools/call', '--tool-name', 'notes_echo', '--tool-arg', 'text=hello'],
    )
    assert.match(JSON.stringify(called), /hello/)
  })
})
