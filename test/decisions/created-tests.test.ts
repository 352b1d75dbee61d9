import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readSuite } from '../../src/cli/suite/read.ts'
import { runSuite } from '../../src/cli/suite/run-suite.ts'
import type { Decision } from '../../ui/src/api/shapes.ts'
import { testFileOf } from '../../ui/src/decisions/test-file.ts'
import { freePort } from '../free-port.ts'
import { type Deciding, startDeciding } from './gateway.ts'

interface Case {
  readonly name: string
  /** What is denied at `/`, and by which rule of which policy. */
  readonly backend: object
  readonly traffic?: object
  readonly mcp?: object
  readonly send: (port: number) => Promise<string>
}

const HERE = { host: '127.0.0.1:1' }

const post =
  (path: string, body: object, headers: object = {}) =>
  async (port: number) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        ...headers,
      },
    })
    await response.text()
    return response.headers.get('x-request-id') ?? ''
  }

const deny = (expression: string) => ({ authorization: { rules: [{ deny: expression }] } })

const CASES: readonly Case[] = [
  {
    name: 'HTTP',
    backend: HERE,
    traffic: deny("request.path == '/x' && request.headers['x-team'] == 'ops'"),
    send: post('/x', {}, { 'x-team': 'ops' }),
  },
  {
    name: 'gRPC',
    backend: HERE,
    traffic: deny("request.path.startsWith('/shop.Orders/')"),
    send: (port) =>
      new Promise((resolve, reject) => {
        const session = connectHttp2(`http://127.0.0.1:${port}`)
        session.on('error', reject)
        const stream = session.request({
          ...{ ':method': 'POST', ':path': '/shop.Orders/Delete' },
          ...{ 'content-type': 'application/grpc', te: 'trailers' },
        })
        stream.on('response', (headers) => resolve(String(headers['x-request-id'])))
        stream.on('close', () => session.close())
        stream.resume()
        stream.end()
      }),
  },
  {
    name: 'a call to a model',
    backend: {
      name: 'models',
      ai: { name: 'one', provider: { openAI: {} }, hostOverride: HERE.host },
      policies: deny("llm.requestModel == 'gpt-x'"),
    },
    send: post('/v1/chat/completions', {
      model: 'gpt-x',
      messages: [{ role: 'user', content: 'hello' }],
    }),
  },
  {
    name: 'an MCP tool that is hidden',
    backend: { name: 'tools', mcp: { targets: [{ name: 'own', mcp: { host: HERE.host } }] } },
    mcp: { mcpAuthorization: { rules: [{ allow: "mcp.tool.name == 'other'" }] } },
    send: post('/mcp', {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'read_note', arguments: { name: 'a' } },
    }),
  },
  {
    name: 'an MCP tool with these arguments, of one of several servers',
    backend: {
      name: 'tools',
      mcp: {
        targets: [
          { name: 'own', mcp: { host: HERE.host } },
          { name: 'two', mcp: { host: HERE.host } },
        ],
      },
    },
    mcp: {
      mcpAuthorization: {
        rules: [
          { allow: "mcp.tool.name == 'list'" },
          { allow: "mcp.tool.name == 'read' && mcp.tool.arguments.name.startsWith('team/')" },
        ],
      },
    },
    send: post('/mcp', {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'own_read', arguments: { name: 'private/salaries' } },
    }),
  },
  {
    name: 'an agent',
    backend: { ...HERE, policies: { a2a: {}, ...deny("a2a.method == 'SendMessage'") } },
    send: post(
      '/',
      {
        ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage' },
        params: { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
      },
      { 'a2a-version': '1.0' },
    ),
  },
]

describe('a test that is created from a decision', () => {
  let folder: string
  let running: Deciding | undefined

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  })

  after(() => rmSync(folder, { recursive: true }))

  for (const { name, backend, traffic = {}, mcp, send } of CASES) {
    it(`${name}: passes with the configuration that decided, and fails without its rules`, async () => {
      const port = await freePort()
      const own = backend as { readonly policies?: object }
      const fileOf = (isGuarded: boolean) => ({
        config: {
          decisions: { show: ["request.headers['x-team']", 'mcp.tool.arguments'] },
        },
        gateways: { default: { port } },
        routes: [
          {
            name: 'all',
            policies: isGuarded ? traffic : {},
            backends: [
              {
                ...backend,
                policies: isGuarded ? { ...own.policies, ...mcp } : without(own.policies),
              },
            ],
          },
        ],
      })
      running = await startDeciding(JSON.stringify(fileOf(true)))
      try {
        const id = await send(port)
        const text = testFileOf(running.decisions({ id }) as readonly Decision[])
        const file = join(folder, 'decision.test.yaml')
        assert.ok(text !== undefined)
        writeFileSync(file, text)
        assert.deepEqual(await failuresIn(file, fileOf(true)), [], text)
        assert.notDeepEqual(await failuresIn(file, fileOf(false)), [], text)
      } finally {
        await running.stop()
      }
    })
  }

  async function failuresIn(file: string, config: object): Promise<readonly string[]> {
    writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(config))
    const { value: suite, diagnostics } = readSuite(file)
    assert.deepEqual(diagnostics, [])
    const result = await runSuite(suite ?? assert.fail(), file, { environment: {} })
    assert.deepEqual(result.diagnostics, [])
    return result.cases.flatMap(({ failures }) => failures)
  }
})

function without(policies: object = {}): object {
  return Object.fromEntries(Object.entries(policies).filter(([kind]) => kind === 'a2a'))
}
