import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

/* Guards on what clients send to tools and on what tools return. */

let streaming: TestMcpServer
let whole: TestMcpServer
let port = 0
let running: Deciding | undefined
const open: Client[] = []

const MAIL = 'ann@example.com'
const EMAIL = { builtin: 'email' }
const mask = (...rules: object[]) => ({ regex: { rules } })
const reject = (...rules: object[]) => ({ regex: { action: 'reject', rules } })

function config(guardrails: object): string {
  const target = (name: string, { port: own }: TestMcpServer) => ({
    ...{ name, mcp: { host: `127.0.0.1:${own}`, path: '/mcp' } },
  })
  const targets = [target('one', streaming), target('two', whole)]
  return JSON.stringify({
    gateways: { default: { port } },
    mcp: { targets, policies: { guardrails } },
  })
}

async function connect(guardrails: object): Promise<Client> {
  const text = config(guardrails)
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { sampling: {} } })
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  await client.connect(new StreamableHTTPClientTransport(url) as never)
  open.push(client)
  return client
}

const call = (client: Client, name: string, args: Record<string, unknown>) =>
  client.callTool({ name, arguments: args })

/** Two servers: one sends events, the other complete messages. */
const SERVERS = ['one', 'two'] as const

describe('MCP guards', () => {
  before(async () => {
    streaming = await startMcpServer({ name: 'one' })
    whole = await startMcpServer({ name: 'two', isJson: true })
    port = await freePort()
  })
  after(async () => {
    await running?.stop()
    await Promise.all([streaming.close(), whole.close()])
  })
  afterEach(async () => {
    for (const client of open.splice(0)) await client.close()
  })

  for (const server of SERVERS) {
    it(`${server}: arguments are masked before the server has them`, async () => {
      const client = await connect({ request: [mask(EMAIL)] })
      const said = await call(client, `${server}_echo`, { text: `to ${MAIL}` })
      assert.match(JSON.stringify(said), /to <EMAIL_ADDRESS>/)
    })

    it(`${server}: a call is rejected, and the server does not get it`, async () => {
      const client = await connect({ request: [reject(EMAIL)] })
      await assert.rejects(call(client, `${server}_echo`, { text: MAIL }), /not allowed/)
      assert.match(JSON.stringify(await call(client, `${server}_echo`, { text: 'x' })), /x/)
    })

    it(`${server}: results are masked, and nothing else of them changes`, async () => {
      const client = await connect({ response: [mask(EMAIL, { pattern: 'echo', name: 'E' })] })
      const { tools } = await client.listTools()
      assert.ok(
        tools.some(({ name }) => name === `${server}_echo`),
        'names stay',
      )
      const said = await call(client, `${server}_echo`, { text: `\u0061nn@example.com "q"` })
      assert.match(JSON.stringify(said), /<EMAIL_ADDRESS> \\"q\\"/)
    })

    it(`${server}: a result is rejected`, async () => {
      const client = await connect({ response: [reject(EMAIL)] })
      await assert.rejects(call(client, `${server}_echo`, { text: MAIL }), /not allowed/)
    })
  }

  it('a request of a server to a client is guarded like a result', async () => {
    const client = await connect({ response: [mask({ pattern: '[a-z]+', name: 'W' })] })
    const asked: string[] = []
    client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
      asked.push(JSON.stringify(params.messages))
      return { role: 'assistant', model: 'm', content: { type: 'text', text: 'fine' } }
    })
    await call(client, 'one_sample', {})
    assert.equal(asked.length, 1)
    assert.match(asked[0] ?? '', /"role":"user"/)
    assert.match(asked[0] ?? '', /<W>/)
  })

  it('guards of a single server are rejected when the configuration is loaded', async () => {
    const guardrails = { response: [mask(EMAIL)] }
    const host = { host: '127.0.0.1:1', path: '/mcp' }
    const text = JSON.stringify({
      gateways: { default: { port: 1 } },
      mcp: { targets: [{ name: 'a', mcp: host, policies: { guardrails } }] },
    })
    const { result } = loadText(text, 'gateway.yaml', { environment: {} })
    assert.deepEqual(
      result.diagnostics.map(({ code }) => code),
      ['PC0219'],
    )
  })
})
