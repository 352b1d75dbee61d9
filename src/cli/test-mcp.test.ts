import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'mcp-cases-'))
after(() => rmSync(FOLDER, { recursive: true }))

const PINS = { version: 1, targets: { files: { read: {}, write: {}, delete: {} } } }
writeFileSync(join(FOLDER, 'pins.json'), JSON.stringify(PINS))
const API = {
  openapi: '3.1.0',
  info: { title: 'orders', version: '1' },
  paths: { '/orders': { get: { operationId: 'list', responses: {} } } },
}
writeFileSync(join(FOLDER, 'api.json'), JSON.stringify(API))

const CONFIG = `
  gateways: { default: { port: 8080 } }
  mcp:
    targets:
      - { name: files, mcp: { host: 'files.internal' }, pins: { file: pins.json } }
      - { name: shell, stdio: { cmd: /does/not/exist } }
      - { name: orders, openapi: { host: 'orders.internal', schema: { file: api.json } } }
    policies:
      jwtAuthentication:
        issuer: https://issuer.example.com
        jwks: { url: https://issuer.example.com/keys }
      mcpAuthorization:
        rules:
          - allow: mcp.tool.name == 'read' && mcp.tool.arguments.path.startsWith('/srv/')
          - allow: jwt.sub == 'root'
          - allow: mcp.tool.target == 'orders'
          - allow: mcp.methodName == 'tools/call' && mcp.tool.name == 'delete'
          - allow: mcp.prompt.name == 'hello' || mcp.resource.name == 'file:///a'
          - require: "!has(mcp.tool) || mcp.tool.name != 'write' || 'w' in jwt.may"
            scopes: [write]
          - deny: mcp.tool.name == 'exec'
`

function suite(name: string, requests: string, more = ''): string {
  const file = join(FOLDER, `${name}.yaml`)
  const identities = 'identities: { alice: { sub: alice }, root: { sub: root } }\n'
  writeFileSync(file, `name: ${name}\nconfig:${CONFIG}${identities}${more}requests:\n${requests}`)
  return file
}

const run = (...args: readonly string[]) => runWith(['test', ...args])

describe('portcullis test with tools of MCP servers', () => {
  it('reports who may call what, and who sees it', async () => {
    const file = suite(
      'tools',
      `
- { as: alice, mcp: { tool: files_read, arguments: { path: /srv/a } }, expect: admitted }
- { as: alice, mcp: { tool: files_read, arguments: { path: /etc/a } }, expect: denied, because: no Allow matches }
- { as: alice, mcp: { tool: files_read }, expect: denied }
- { as: alice, mcp: { tool: files_list }, expect: hidden }
- { as: root, mcp: { tool: files_list }, expect: { mcp: hidden, stage: mcp } }
- { as: alice, mcp: { tool: files_delete }, expect: unlisted }
- { as: alice, mcp: { tool: shell_run }, expect: hidden }
- { as: root, mcp: { tool: shell_run }, expect: { mcp: admitted, body: shell says, upstream: { backend: mcp/shell } } }
- { as: root, mcp: { tool: shell_exec }, expect: { mcp: hidden, because: 'Deny[6] matches', upstream: false } }
- { as: alice, mcp: { tool: orders_list }, expect: { mcp: admitted, upstream: { backend: mcp/orders, method: GET, path: /orders } } }
- { as: root, mcp: { tool: files_write }, expect: { mcp: denied, status: 403 } }
- { as: { sub: root, may: [w] }, mcp: { tool: files_write }, expect: admitted }
- { as: alice, mcp: { prompt: files_hello }, expect: admitted }
- { as: alice, mcp: { prompt: files_other }, expect: hidden }
- { as: alice, mcp: { resource: 'files+file:///a' }, expect: admitted }
- { as: alice, mcp: { resource: 'files+file:///b' }, expect: hidden }
- { mcp: { tool: files_read }, expect: 401 }
`,
      'backends: { mcp/shell: { body: shell says } }\n',
    )
    const { code, out } = await run(file)
    assert.equal(code, 0, out)
    assert.match(out, /tools: 17 of 17 passed\n {2}7 of 7 rules decided something\n/)
  })

  it('reports the actual outcome instead', async () => {
    const file = suite(
      'wrong',
      `
- { as: alice, mcp: { tool: files_read, arguments: { path: /etc/a } }, expect: admitted }
- { as: alice, mcp: { tool: files_read, arguments: { path: /srv/a } }, expect: hidden }
- { as: alice, mcp: { tool: files_delete }, expect: admitted }
- { mcp: { tool: files_read }, expect: hidden }
`,
    )
    const { code, out } = await run(file)
    assert.equal(code, 1)
    for (const said of [
      'expected `admitted`, got `denied`: no Allow matches',
      'expected `hidden`, got `admitted`',
      'expected `admitted`, got `unlisted`',
      'expected `hidden`, got status 401: credentials: missing',
    ]) {
      assert.ok(out.includes(said), `${said}\n${out}`)
    }
  })

  it('messages in raw form reach the stand-ins too', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const headers =
      '{ content-type: application/json, accept: "application/json, text/event-stream" }'
    const file = suite(
      'raw',
      `- { as: root, method: POST, path: /mcp, headers: ${headers}, body: '${body}', expect: 200 }\n`,
    )
    const { code, out } = await run(file)
    assert.equal(code, 0, out)
  })

  it('rejects an expectation without a tool', async () => {
    const file = suite('nothing', '- { as: root, expect: hidden }\n')
    const { code, out, err } = await run(file)
    assert.equal(code, 1)
    assert.match(out + err, /`mcp` is missing/)
  })
})
