import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { free } from '../proxy/accepting.ts'
import { startMcpServer, type TestMcpServer } from '../proxy/mcp-server.ts'
import { type Running, startRunning } from '../proxy/running.ts'

const CALLS = 12

describe('streams of MCP clients on a gateway with several workers', () => {
  let server: TestMcpServer | undefined
  let running: Running | undefined
  let port = 0

  before(async () => {
    server = await startMcpServer({ name: 'files' })
    port = await free()
    const config = `gateways: { default: { port: ${port} } }
mcp:
  gateways: default
  targets:
  - { name: files, mcp: { host: '127.0.0.1:${server.port}' } }
`
    running = await startRunning(config, { workers: 3 })
  })
  after(async () => {
    await running?.stop()
    await server?.close()
  })

  it('get the responses to messages that reach other workers', async () => {
    const client = new Client({ name: 'test', version: '1' })
    const url = new URL(`http://127.0.0.1:${port}/mcp/sse`)
    await client.connect(new SSEClientTransport(url) as never)
    // In parallel, so that each has its own connection, which may reach any worker.
    const results = await Promise.all(
      Array.from({ length: CALLS }, (_, at) =>
        client.callTool({ name: 'echo', arguments: { text: `number ${at}` } }),
      ),
    )
    assert.deepEqual(
      results.map(({ content }) => content),
      results.map((_, at) => [{ type: 'text', text: `files/echo: number ${at}` }]),
    )
    await client.close()
  })
})
