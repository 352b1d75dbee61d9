import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { freePort } from '../free-port.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'
import { sumOf } from './running.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

describe('metrics and logs of MCP', () => {
  let files: TestMcpServer
  let search: TestMcpServer
  let gateway: WholeGateway
  let client: Client
  let port = 0

  before(async () => {
    files = await startMcpServer({ name: 'files' })
    search = await startMcpServer({ name: 'search', isJson: true })
    port = await freePort()
    const at = (name: string, server: TestMcpServer) => ({
      name,
      mcp: { host: `127.0.0.1:${server.port}` },
    })
    gateway = await startWhole(
      JSON.stringify({
        gateways: { default: { port } },
        mcp: {
          targets: [at('files', files), at('search', search)],
          policies: {
            mcpAuthorization: {
              rules: [{ deny: "mcp.tool.name == 'delete'" }, { allow: 'has(mcp.tool)' }],
            },
          },
        },
      }),
    )
    client = new Client({ name: 'test', version: '1' })
    const url = new URL(`http://127.0.0.1:${port}/mcp`)
    await client.connect(new StreamableHTTPClientTransport(url) as never)
  })
  after(async () => {
    await client?.close()
    await gateway?.stop()
    await files?.close()
    await search?.close()
  })

  const calls = (target: string, tool: string, method: string, outcome: string) =>
    gateway.metric(
      `portcullis_mcp_calls_total{route="mcp",target="${target}",tool="${tool}",method="${method}",outcome="${outcome}"}`,
    )

  it('count calls by method, server, tool and outcome, and the entries hidden in lists', async () => {
    await client.listTools()
    for (const name of ['files_echo', 'search_echo', 'search_echo']) await client.callTool({ name })
    for (const name of ['files_delete', 'files_made-up', 'nowhere_echo']) {
      await assert.rejects(client.callTool({ name }))
    }
    await client.ping()
    const counted = () => [
      calls('files', 'echo', 'tools/call', 'success'),
      calls('search', 'echo', 'tools/call', 'success'),
      calls('files', 'delete', 'tools/call', 'denied'),
      calls('files', 'other', 'tools/call', 'unknown'),
      calls('none', 'none', 'tools/call', 'unknown'),
      calls('none', 'none', 'tools/list', 'success'),
      calls('none', 'none', 'initialize', 'success'),
      calls('none', 'none', 'ping', 'success'),
    ]
    // A request is counted when it finishes, which may be after its response has arrived.
    await until('all is counted', () => counted().every((count) => count > 0))
    assert.deepEqual(counted(), [1, 2, 1, 1, 1, 1, 1, 1])
    for (const target of ['files', 'search']) {
      const hidden = `portcullis_mcp_hidden_items_total{route="mcp",target="${target}",kind="tool",reason="authorization"}`
      assert.equal(gateway.metric(hidden), 1)
    }
    assert.match(gateway.metrics(), /portcullis_mcp_call_duration_seconds_count\{.*tool="echo".*2/)
  })

  it('count errors of tools, in streams too, and sessions', async () => {
    // One server responds with a stream, the other with a message.
    for (const name of ['files_echo', 'search_echo']) {
      const { isError } = await client.callTool({ name, arguments: { text: 5 } })
      assert.equal(isError, true)
    }
    const series = 'portcullis_mcp_sessions_total{route="mcp",transport="streamable-http",outcome='
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      body: '{}',
      headers: { 'mcp-session-id': 'made-up' },
    })
    assert.equal(response.status, 404)
    const errors = () =>
      ['files', 'search'].map((target) => calls(target, 'echo', 'tools/call', 'tool-error'))
    await until('all is counted', () => errors().every((count) => count === 1))
    await until('the rejected session is counted', () => {
      return gateway.metric(`${series}"refused"}`) === 1
    })
    assert.equal(gateway.metric(`${series}"opened"}`), 1)
  })

  it('log the purpose of a request', () => {
    const line = gateway.lines.find((own) => own['gen_ai.tool.name'] === 'delete')
    assert.deepEqual(
      [line?.['mcp.method.name'], line?.['mcp.target'], line?.['mcp.outcome']],
      ['tools/call', 'files', 'denied'],
    )
  })

  it('distinguish the first byte of a stream from its end', async () => {
    const sum = (name: string) => sumOf(gateway.metrics(), `portcullis_request_${name}_sum`)
    const streamed = () => sum('duration_seconds') - sum('first_byte_seconds')
    // The client has had a stream for messages of the server since it connected.
    const before = streamed()
    await new Promise((resolve) => setTimeout(resolve, 300))
    await client.close()
    await until('the stream is over', () => streamed() > before + 0.3)
  })
})
