import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { pass } from '../passing-time.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'
import { until } from './whole-gateway.ts'

const PACKAGES = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol')

let files: TestMcpServer
let port = 0
let running: Deciding | undefined
const open: Client[] = []

before(async () => {
  files = await startMcpServer({ name: 'files' })
  port = await freePort()
})
after(async () => {
  await running?.stop()
  await files.close()
})
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
})

interface Written {
  readonly targets?: readonly object[]
  readonly options?: object
  readonly policies?: object
  readonly route?: object
  readonly config?: object
}

const at = (name: string, { port: own }: { port: number }) => ({
  name,
  mcp: { host: `127.0.0.1:${own}`, path: '/mcp' },
})

async function serve(written: Written = {}): Promise<Deciding> {
  const { targets = [at('files', files)], options = {}, policies = {}, route = {} } = written
  const text = JSON.stringify({
    ...(written.config === undefined ? {} : { config: written.config }),
    gateways: { default: { port } },
    backends: [{ name: 'tools', mcp: { targets, ...options }, policies }],
    routes: [{ name: 'tools', policies: route, backends: [{ backend: 'tools' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
  return running
}

async function connect(headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { sampling: {}, elicitation: {}, roots: {} } },
  )
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } })
  await client.connect(transport as never)
  open.push(client)
  return client
}

const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).sort()
const said = (result: unknown) =>
  (result as { content: readonly { text?: string }[] }).content.map(({ text }) => text).join()

describe('an MCP server on standard streams', () => {
  const program = join(import.meta.dirname, 'mcp-stdio-program.ts')
  const stdio = (options = {}) => ({
    name: 'local',
    stdio: { cmd: process.execPath, args: [program], env: { OWN: '1' }, ...options },
  })
  const pidOf = (result: unknown) => Number(said(result).split(' ')[0])

  it('gets few variables of the environment, and the configured ones', async () => {
    await serve({ targets: [stdio()] })
    const client = await connect()
    const names = JSON.parse(said(await client.callTool({ name: 'environment' }))) as string[]
    const known = ['HOME', 'LANG', 'OWN', 'PATH', 'TMPDIR']
    assert.deepEqual(
      names.filter((name) => !known.includes(name)),
      [],
    )
    assert.ok(names.includes('OWN') && names.includes('PATH'))
    const progress: number[] = []
    await client.callTool({ name: 'progress' }, undefined, {
      onprogress: (own) => progress.push(own.progress),
    })
    assert.deepEqual(progress, [1])
  })

  it('has a process for each session, which survives a reload and ends with the session', async () => {
    await serve({ targets: [stdio()] })
    const [one, two] = [await connect(), await connect()]
    const first = pidOf(await one.callTool({ name: 'calls' }))
    const second = pidOf(await two.callTool({ name: 'calls' }))
    assert.notEqual(first, second)
    await serve({
      targets: [stdio()],
      policies: { mcpAuthorization: { rules: [{ allow: 'true' }] } },
    })
    assert.equal(said(await one.callTool({ name: 'calls' })), `${first} 2 true`)
    await (one.transport as StreamableHTTPClientTransport).terminateSession()
    await until('the process ends', () => !isAlive(first))
    await serve()
    await until('the other process ends', () => !isAlive(second))
  })

  it('is restarted for a session whose process is gone', async () => {
    await serve({ targets: [stdio()] })
    const client = await connect()
    const pid = pidOf(await client.callTool({ name: 'calls' }))
    // Longer than a process lives that is not started again.
    pass(2_000)
    await assert.rejects(client.callTool({ name: 'crash' }))
    const next = await client.callTool({ name: 'calls' })
    assert.match(said(next), / 1 true$/)
    assert.notEqual(pidOf(next), pid)
  })

  it('is restarted for the calls that follow a crash right after its start', async () => {
    await serve({ targets: [stdio()] })
    const client = await connect()
    for (let i = 0; i < 2; i++) {
      await assert.rejects(client.callTool({ name: 'crash' }))
      const calls = ['calls', 'calls'].map((name) => client.callTool({ name }))
      const [first, second] = await Promise.all(calls)
      assert.match(said(first), / 1 true$/)
      assert.match(said(second), / 2 true$/)
    }
  })

  it('leaves no children behind, whether it crashes or its session ends', async () => {
    await serve({ targets: [stdio()] })
    const client = await connect()
    const child = pidOf(await client.callTool({ name: 'child' }))
    assert.ok(isAlive(child))
    await assert.rejects(client.callTool({ name: 'crash' }))
    await until('its child ends', () => !isAlive(child))
    const next = pidOf(await client.callTool({ name: 'child' }))
    assert.ok(isAlive(next))
    await (client.transport as StreamableHTTPClientTransport).terminateSession()
    await until('the next child ends', () => !isAlive(next))
  })

  it('can be any server: the reference servers, federated', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-files-'))
    writeFileSync(join(folder, 'note.txt'), 'a note')
    const packaged = (name: string, ...args: readonly string[]) => ({
      name,
      stdio: {
        cmd: process.execPath,
        args: [join(PACKAGES, `server-${name}/dist/index.js`), ...args],
      },
    })
    const under = `mcp.tool.arguments.path.startsWith('${folder}/')`
    await serve({
      targets: [packaged('everything', 'stdio'), packaged('filesystem', folder)],
      policies: {
        mcpAuthorization: {
          rules: [
            { allow: "mcp.tool.target == 'everything'" },
            { allow: `mcp.tool.name == 'read_text_file' && ${under}` },
          ],
        },
      },
    })
    const client = await connect()
    const { tools } = await client.listTools()
    const own = names(tools).filter((name) => name.startsWith('filesystem_'))
    assert.deepEqual(own, ['filesystem_read_text_file'])
    assert.ok(names(tools).includes('everything_echo'))
    const read = { name: 'filesystem_read_text_file', arguments: { path: `${folder}/note.txt` } }
    assert.equal(said(await client.callTool(read)), 'a note')
    const other = { ...read, arguments: { path: '/etc/hostname' } }
    await assert.rejects(client.callTool(other), /Unknown tool/)
    const echo = await client.callTool({ name: 'everything_echo', arguments: { message: 'x' } })
    assert.match(said(echo), /x/)
    rmSync(folder, { recursive: true })
  })

  it('gets initialized with numbers that a double cannot hold, and receives their progress', async () => {
    const send = async (message: string, session?: string) => {
      const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: 'POST',
        body: message,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session === undefined ? {} : { 'mcp-session-id': session }),
        },
      })
      return { response, text: await response.text() }
    }
    const params =
      '{"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"},' +
      '"capabilities":{"experimental":{"x":{"n":9007199254740993}}}}'
    const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${params}}`
    for (const targets of [[stdio()], [stdio(), at('files', files)]]) {
      await serve({ targets })
      const { response, text } = await send(initialize)
      assert.equal(response.status, 200, text)
      const progress = '{"progressToken":9007199254740993,"progress":1}'
      const told = await send(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":${progress}}`,
        response.headers.get('mcp-session-id') ?? '',
      )
      assert.equal(told.response.status, 202, told.text)
    }
  })

  it('that cannot be started fails alone', async () => {
    const broken = stdio({ cmd: '/nowhere/program' })
    const options = { failureMode: 'FailOpen' }
    await serve({ targets: [{ ...broken, name: 'broken' }, at('files', files)], options })
    const client = await connect()
    assert.equal(said(await client.callTool({ name: 'files_echo' })), 'files/echo: ')
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
