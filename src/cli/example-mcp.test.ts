import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { freePort, startDeciding } from '../../test/decisions/gateway.ts'
import { serveExampleMcp } from './example-mcp.ts'

const QUICKSTART = join(import.meta.dirname, '../../examples/quickstart.yaml')

describe('the MCP server of the quick start', () => {
  it('is guarded as its file configures', async () => {
    const backend = createServer((request, response) => {
      if (!serveExampleMcp(request, response)) response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
    const { port: own } = backend.address() as AddressInfo
    const port = await freePort()
    const text = readFileSync(QUICKSTART, 'utf8')
    const moved = text.replaceAll('port: 4000', `port: ${port}`).replaceAll(':4001', `:${own}`)
    const gateway = await startDeciding(moved)
    const ask = async (method: string, params = {}, headers = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      })
      return response.text()
    }
    const read = (name: string) => ask('tools/call', { name: 'read_note', arguments: { name } })
    try {
      const listed = await ask('tools/list')
      assert.match(listed, /list_notes.*read_note/)
      assert.doesNotMatch(listed, /delete_note/)
      assert.match(await ask('tools/list', {}, { 'x-team': 'eng' }), /delete_note/)
      assert.match(await read('team/plan'), /Friday/)
      assert.match(await read('private/salaries'), /-32602.*Unknown tool: read_note/)
      assert.match(await ask('initialize'), /serverInfo/)
    } finally {
      await gateway.stop()
      backend.close()
      backend.closeAllConnections()
    }
  })
})
