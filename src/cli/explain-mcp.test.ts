import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const NO_PARTS = {}

describe('portcullis explain of messages to MCP servers', () => {
  let folder = ''
  const file = () => join(folder, 'gateway.yaml')

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'explain-mcp-'))
    const pins = { version: 1, targets: { files: { read: NO_PARTS, write: NO_PARTS } } }
    writeFileSync(join(folder, 'pins.json'), JSON.stringify(pins))
    writeFileSync(
      file(),
      `
gateways: { default: { port: 4000 } }
mcp:
  targets:
    - { name: files, mcp: { host: 'files:80' }, pins: { file: pins.json } }
    - { name: search, mcp: { host: 'search:80' } }
  policies:
    mcpAuthorization:
      rules:
        - allow: mcp.tool.name == 'read' && mcp.tool.arguments.path.startsWith('/srv/')
        - allow: request.headers['x-team'] == 'eng'
`,
    )
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const explain = async (method: string, params: object, ...args: readonly string[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const type = ['--header', 'content-type: application/json']
    const { code, out, err } = await runWith([
      ...['explain', file(), '--request', 'POST /mcp', '--body', body, '--json'],
      ...type,
      ...args,
    ])
    assert.equal(err, '')
    return { code, ...(JSON.parse(out) as Said) }
  }
  interface Said {
    readonly outcome: string
    readonly status?: number
    readonly stages: readonly { readonly stage: string; readonly cause: string }[]
    readonly tools?: readonly object[]
  }
  const call = (name: string, given: object = {}, ...args: readonly string[]) =>
    explain('tools/call', { name, arguments: given }, ...args)

  const ENG = ['--header', 'x-team: eng']

  for (const [what, name, given, args, outcome, cause] of [
    ['allowed, as pinned', 'files_read', { path: '/srv/a' }, [], 'not-known', 'matched'],
    ['denied by its arguments', 'files_read', { path: '/etc' }, [], 'denied', 'no-allow-match'],
    ['denied by its name', 'files_write', {}, [], 'denied', 'no-allow-match'],
    ['allowed for a team, as pinned', 'files_write', {}, ENG, 'not-known', 'matched'],
    ['not pinned', 'files_delete', {}, ENG, 'denied', 'pin'],
    ['of a server without pins', 'search_delete', {}, ENG, 'forwarded', 'matched'],
  ] as const) {
    it(`says of a tool that is ${what}: ${outcome}`, async () => {
      const said = await call(name, given, ...args)
      assert.equal(said.outcome, outcome)
      const last = said.stages.at(-1)
      assert.deepEqual([last?.stage, last?.cause], ['mcp', cause])
      if (outcome === 'denied') assert.deepEqual([said.status, said.code], [200, 1])
    })
  }

  it('says that several servers serve no method that the gateway does not know', async () => {
    const { outcome, status, code } = await explain('no/such', {}, ...ENG)
    assert.deepEqual([outcome, status, code], ['not-served', 200, 1])
  })

  it('lists the tools that a caller sees', async () => {
    const others = await explain('tools/list', {})
    assert.deepEqual(others.tools, [
      { tool: 'files_read', state: 'shown' },
      { tool: 'files_write', state: 'hidden' },
    ])
    const eng = await explain('tools/list', {}, ...ENG)
    assert.deepEqual(eng.tools, [
      { tool: 'files_read', state: 'shown' },
      { tool: 'files_write', state: 'shown' },
    ])
  })

  it('lists the tools of an API as a caller sees them', async () => {
    const api = {
      openapi: '3.1.0',
      info: { title: 'orders', version: '1' },
      paths: {
        '/orders': {
          get: { operationId: 'read', responses: {} },
          post: { operationId: 'create', responses: {} },
        },
      },
    }
    writeFileSync(join(folder, 'api.json'), JSON.stringify(api))
    const text = readFileSync(file(), 'utf8')
    const target =
      "    - { name: orders, openapi: { host: 'orders:80', schema: { file: api.json } } }\n"
    writeFileSync(file(), text.replace('  policies:\n', `${target}  policies:\n`))
    try {
      const { tools = [] } = await explain('tools/list', {})
      assert.deepEqual(tools.slice(2), [
        { tool: 'orders_read', state: 'shown' },
        { tool: 'orders_create', state: 'hidden' },
      ])
      const { out } = await runWith(['effective', file()])
      assert.match(out, /server orders\n +tools read, create\n/)
    } finally {
      writeFileSync(file(), text)
    }
  })

  it('and `effective` lists pinned tools', async () => {
    const { out } = await runWith(['effective', file()])
    assert.match(out, /server files\n +pins read, write\n/)
    assert.doesNotMatch(out, /server search/)
  })

  it('reports not known without the message', async () => {
    const { out } = await runWith(['explain', file(), '--request', 'POST /mcp', '--json'])
    assert.equal((JSON.parse(out) as Said).outcome, 'not-known')
  })

  it('rejects a body that is not a message', async () => {
    const { out } = await runWith([
      ...['explain', file(), '--request', 'POST /mcp', '--body', '{"a":1}', '--json'],
      ...['--header', 'content-type: application/json'],
    ])
    assert.equal((JSON.parse(out) as Said).outcome, 'rejected')
  })
})
