import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/*
 * The conformance suite for revision 2026-07-28, which is not released yet; `test/peers/install.sh`
 * installs it. The server has what many scenarios require. The gateway must not change any result,
 * even in scenarios that the server itself fails, unless it protects the server.
 */
const SUITE = join(
  import.meta.dirname,
  '../../.cache/mcp-clients/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js',
)
/** Requests of foreign pages reach the server only without a gateway. */
const PROTECTED = /^[✓✗] dns-rebinding-protection:/
const MINUTE = 60_000

async function results(port: number): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
  const url = `http://127.0.0.1:${port}/mcp`
  const args = [SUITE, 'server', '--url', url, '--requirements', '2026-07-28']
  const said = await new Promise<string>((resolve) => {
    const options = { cwd: folder, maxBuffer: 1 << 26, timeout: 5 * MINUTE }
    execFile(process.execPath, args, options, (_, stdout) => resolve(stdout))
  })
  rmSync(folder, { recursive: true })
  return said.split('\n').filter((line) => /^[✓✗]/.test(line))
}

function serverWithFixtures(): McpServer {
  const server = new McpServer({ name: 'fixtures', version: '1' })
  const text = (value: string) => ({ type: 'text' as const, text: value })
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image = { type: 'image' as const, data: pixel, mimeType: 'image/png' }
  const tool = (name: string, content: readonly object[]) =>
    server.registerTool(name, { description: name, inputSchema: z.object({}) }, () => ({
      content: content as never,
    }))
  tool('test_simple_text', [text('This is a simple text response for testing.')])
  tool('test_image_content', [image])
  tool('test_multiple_content_types', [text('Multiple content types test:'), image])
  server.registerTool(
    'test_error_handling',
    { description: 'Fails', inputSchema: z.object({}) },
    () => {
      throw new Error('This tool intentionally returns an error for testing')
    },
  )
  server.registerPrompt('test_simple_prompt', { description: 'simple' }, () => ({
    messages: [{ role: 'user', content: text('This is a simple prompt for testing.') }],
  }))
  server.registerResource('static', 'test://static-text', { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'This is the content.' }],
  }))
  return server
}

describe('the MCP conformance suite for 2026-07-28', () => {
  let server: Server | undefined
  let gateway: Deciding | undefined
  let port = 0

  before(async () => {
    const handler = createMcpHandler(serverWithFixtures)
    const own = createServer(toNodeHandler(handler) as RequestListener)
    server = own
    await new Promise<void>((done) => own.listen(0, '127.0.0.1', done))
    port = await freePort()
    const target = { name: 'suite', mcp: { host: `127.0.0.1:${portOf(own)}` } }
    gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        mcp: {
          targets: [target],
          policies: { mcpAuthorization: { rules: [{ allow: 'true' }] } },
        },
      }),
    )
  })
  after(async () => {
    await gateway?.stop()
    server?.close()
    server?.closeAllConnections()
  })

  const portOf = (own: Server) => (own.address() as AddressInfo).port
  const skip = existsSync(SUITE) ? false : 'the suite is not in .cache/mcp-clients/conformance'

  it('is the same directly and through the gateway, which adds its protection', {
    skip,
    timeout: 10 * MINUTE,
  }, async () => {
    const direct = await results(portOf(server as Server))
    const through = await results(port)
    const passed = direct.filter((line) => line.startsWith('✓'))
    assert.ok(passed.length > 0, direct.join('\n'))
    const others = (lines: readonly string[]) => lines.filter((line) => !PROTECTED.test(line))
    assert.deepEqual(others(through), others(direct))
    assert.match(through.find((line) => PROTECTED.test(line)) ?? '', /^✓/)
  })
})
