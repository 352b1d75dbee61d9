import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/* Tools with pages (MCP Apps), which hosts read as resources, and which call tools themselves. */

const PAGE = 'ui://board/dash.html'
const TEMPLATE = 'log://{day}/entries'

/** A server whose tools have the same page; `own` is a tool that only this server has. */
async function startAppServer(name: string, own: string) {
  const http = createServer((request, response) => {
    void (async () => {
      const server = new McpServer({ name, version: '1' })
      const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
      const meta = { ui: { resourceUri: PAGE, visibility: ['model'] }, 'ui/resourceUri': PAGE }
      server.registerTool(
        'show',
        { description: 'Shows', _meta: { ...meta, 'openai/outputTemplate': PAGE, other: PAGE } },
        () => text(`${name} shows`),
      )
      server.registerTool(own, { description: 'Refreshes' }, () => text(`${name} refreshes`))
      server.registerResource('page', PAGE, { mimeType: 'text/html;profile=mcp-app' }, (uri) => ({
        contents: [{ uri: uri.href, text: `<p>${name}</p>` }],
      }))
      const template = new ResourceTemplate(`${own}-${TEMPLATE}`, { list: undefined })
      server.registerResource('logs', template, {}, (uri, { day }) => ({
        contents: [{ uri: uri.href, text: `${name} on ${String(day)}` }],
      }))
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
      await server.connect(transport as never)
      await transport.handleRequest(request, response)
    })().catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const close = () => {
    http.closeAllConnections()
    http.close()
  }
  return { port: (http.address() as AddressInfo).port, close }
}

let servers: readonly (Awaited<ReturnType<typeof startAppServer>> & { name: string })[] = []
let port = 0
let running: Deciding | undefined
const open: Client[] = []

before(async () => {
  port = await freePort()
  servers = await Promise.all(
    (
      [
        ['weather', 'refresh'],
        ['stocks', 'reload'],
      ] as const
    ).map(async ([name, own]) => ({ ...(await startAppServer(name, own)), name })),
  )
})
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
  await running?.stop()
  running = undefined
})
after(() => {
  for (const server of servers) server.close()
})

async function connect(options: object = {}, rules?: readonly object[]): Promise<Client> {
  const targets = servers.map((own) => ({
    name: own.name,
    mcp: { host: `127.0.0.1:${own.port}` },
  }))
  const policies = rules === undefined ? {} : { mcpAuthorization: { rules } }
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'tools', mcp: { targets, ...options }, policies }],
    routes: [{ name: 'tools', backends: [{ backend: 'tools' }] }],
  })
  running = await startDeciding(text, 'json')
  const client = new Client({ name: 'host', version: '1' })
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  await client.connect(new StreamableHTTPClientTransport(url) as never)
  open.push(client)
  return client
}

const said = (result: unknown) =>
  (result as { content: readonly { text?: string }[] }).content.map(({ text }) => text).join()
interface Content {
  readonly uri: string
  readonly text?: string
}
const contents = async (client: Client, uri: string) =>
  (await client.readResource({ uri })).contents as readonly Content[]

async function pageOf(client: Client, name: string): Promise<string> {
  const { tools } = await client.listTools()
  const tool = tools.find((own) => own.name === name) ?? assert.fail(name)
  const { ui, other, ...flat } = tool._meta as {
    ui: { resourceUri: string; visibility: object }
  } & Record<string, unknown>
  assert.deepEqual(ui.visibility, ['model'])
  assert.equal(other, PAGE)
  assert.deepEqual(flat, {
    'ui/resourceUri': ui.resourceUri,
    'openai/outputTemplate': ui.resourceUri,
  })
  return ui.resourceUri
}

describe('the page of a tool of one of several servers', () => {
  it('is a ui:// resource that leads to its server', async () => {
    const client = await connect()
    const { resources } = await client.listResources()
    for (const { name } of servers) {
      const page = await pageOf(client, `${name}_show`)
      assert.match(page, /^ui:\/\//)
      assert.ok(resources.some(({ uri }) => uri === page))
      const [content] = await contents(client, page)
      assert.deepEqual([content?.uri, content?.text], [page, `<p>${name}</p>`])
    }
  })

  it('is subject to the rules of its server, by its URI there', async () => {
    const allow = [
      { allow: `mcp.resource.target == 'weather' && mcp.resource.name == '${PAGE}'` },
      { allow: "mcp.tool.name == 'show'" },
    ]
    const client = await connect({}, allow)
    const [weather, stocks] = [
      await pageOf(client, 'weather_show'),
      await pageOf(client, 'stocks_show'),
    ]
    const [content] = await contents(client, weather)
    assert.equal(content?.text, '<p>weather</p>')
    await assert.rejects(contents(client, stocks), /Resource not found/)
  })

  it('is unchanged without prefixes', async () => {
    const client = await connect({ prefixMode: 'Never' })
    assert.equal(await pageOf(client, 'show'), PAGE)
    const [content] = await contents(client, PAGE)
    assert.equal(content?.text, '<p>weather</p>')
  })
})

describe('a page', () => {
  it('calls tools of its server by their own names, if no other server has the same', async () => {
    const client = await connect()
    assert.equal(said(await client.callTool({ name: 'refresh' })), 'weather refreshes')
    assert.equal(said(await client.callTool({ name: 'reload' })), 'stocks refreshes')
    await assert.rejects(client.callTool({ name: 'show' }), /Unknown tool: show/)
    await assert.rejects(client.callTool({ name: 'other' }), /Unknown tool: other/)
    await assert.rejects(contents(client, PAGE), /Resource not found/)
  })

  it('cannot call a denied tool by its own name', async () => {
    const rules = [{ deny: "mcp.tool.target == 'weather' && mcp.tool.name == 'refresh'" }]
    const client = await connect({}, rules)
    assert.equal(said(await client.callTool({ name: 'reload' })), 'stocks refreshes')
    await assert.rejects(client.callTool({ name: 'refresh' }), /Unknown tool: refresh/)
  })
})

describe('a resource with a template', () => {
  for (const [mode, prefix] of [
    ['Never', ''],
    ['Conditional', ''],
    ['Conditional', 'stocks+'],
  ] as const) {
    it(`is read from the server that offers it with ${prefix}URI and ${mode}`, async () => {
      const client = await connect({ prefixMode: mode })
      const uri = `${prefix}reload-${TEMPLATE.replace('{day}', 'monday')}`
      const [content] = await contents(client, uri)
      assert.equal(content?.text, 'stocks on monday')
      await assert.rejects(contents(client, 'refresh-log://monday'), /Resource not found/)
    })
  }
})
