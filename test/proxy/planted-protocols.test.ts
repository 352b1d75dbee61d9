import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer, request, type Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { openMetrics } from '../../src/cli/fleet.ts'
import { payloadsToSign, withSignatures } from '../../src/protocols/a2a/signed-card.ts'
import type { CallOutName } from '../../src/proxy/call-outs.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { steady } from '../steady-settings.ts'
import { free } from './accepting.ts'
import { listen } from './harness.ts'
import {
  arm,
  disarm,
  hasThrown,
  PLANTED_CARD,
  plantEverywhere,
  plantInProgram,
  unplant,
} from './planted.ts'
import { type LogLine, modelOf, settingsOf, until } from './whole-gateway.ts'

/*
 * A throw in the code that reads, guards, translates and counts calls to models, tools and agents.
 */

type Call =
  | 'model'
  | 'translated'
  | 'stream'
  | 'tool'
  | 'list'
  | 'events'
  | 'unreachable'
  | 'agent'
  | 'card'
  | 'counted'
  | 'delayed'

interface Plant {
  readonly call: Call
  readonly place: string
  readonly callOut: CallOutName
  readonly seen: number
}

const PLANTS: readonly Plant[] = [
  { call: 'model', place: 'reading a call to a model', callOut: 'body', seen: 500 },
  { call: 'model', place: 'reserving a budget', callOut: 'provider', seen: 500 },
  { call: 'model', place: 'preparing a call to a model', callOut: 'provider', seen: 500 },
  { call: 'translated', place: 'preparing a call to a model', callOut: 'provider', seen: 500 },
  { call: 'model', place: 'a guard', callOut: 'provider', seen: 500 },
  { call: 'stream', place: 'a guarded stream', callOut: 'response', seen: 500 },
  { call: 'model', place: 'the end of a call to a model', callOut: 'telemetry', seen: 200 },
  { call: 'model', place: 'settling a budget', callOut: 'telemetry', seen: 200 },
  { call: 'tool', place: 'sending to an MCP server', callOut: 'delivery', seen: 500 },
  { call: 'tool', place: 'a message of an MCP server', callOut: 'delivery', seen: 500 },
  { call: 'tool', place: 'the order of what an MCP server sends', callOut: 'delivery', seen: 500 },
  { call: 'list', place: 'the order of what an MCP server sends', callOut: 'delivery', seen: 500 },
  {
    ...{ call: 'unreachable', place: 'the order of what an MCP server sends' },
    ...{ callOut: 'delivery', seen: 500 },
  },
  { call: 'unreachable', place: 'a failure of an MCP server', callOut: 'delivery', seen: 500 },
  {
    call: 'events',
    place: 'the order of what an MCP server sends',
    callOut: 'response',
    seen: 200,
  },
  { call: 'tool', place: 'a guard', callOut: 'delivery', seen: 500 },
  { call: 'model', place: 'the latency of a provider', callOut: 'response', seen: 500 },
  { call: 'list', place: 'a long list of an MCP server', callOut: 'delivery', seen: 500 },
  { call: 'card', place: 'the signature of a card', callOut: 'response', seen: 500 },
  { call: 'delayed', place: 'delay at traffic of route', callOut: 'policy', seen: 500 },
  { call: 'delayed', place: 'delay, later', callOut: 'policy', seen: 500 },
  { call: 'agent', place: 'reading a message to an agent', callOut: 'backend', seen: 500 },
  { call: 'counted', place: 'remoteRateLimit at traffic of route', callOut: 'policy', seen: 500 },
  { call: 'counted', place: 'remoteRateLimit, later', callOut: 'policy', seen: 500 },
]

const COMPLETION = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
const MESSAGE = {
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
  content: [{ type: 'text', text: 'hi' }],
  usage: { input_tokens: 1, output_tokens: 1 },
}
const CHUNK = {
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: null }],
}
const RESULT = { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'hi' }] } }

/** More than are filtered in one turn. */
const TOOLS = Array.from({ length: 2_000 }, (_, n) => ({ name: `tool${n}`, inputSchema: {} }))

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const KEYS = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }] }

function signedCard(): string {
  const card = JSON.stringify({ name: PLANTED_CARD, url: 'http://agent.test/' })
  const header = Buffer.from('{"alg":"ES256","kid":"one"}').toString('base64url')
  const signatures = (payloadsToSign(card, []) ?? []).map((payload) => {
    const input = `${header}.${Buffer.from(payload).toString('base64url')}`
    const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign('sha256', Buffer.from(input), key).toString('base64url')
    return { protected: header, signature }
  })
  return withSignatures(card, [], signatures)
}

const CARD = signedCard()

const PROMPT = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] }
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

/** `served`: the status without a throw; 200 by default. */
const REQUESTS: Readonly<Record<Call, { path: string; body?: object; served?: number }>> = {
  model: { path: '/v1/chat/completions', body: PROMPT },
  translated: { path: '/v1/chat/completions', body: PROMPT },
  stream: { path: '/v1/chat/completions', body: { ...PROMPT, stream: true } },
  tool: { path: '/mcp', body: rpc('tools/call', { name: 'echo', arguments: { a: 'hello' } }) },
  agent: { path: '/', body: rpc('message/send', { message: { messageId: '1', parts: [] } }) },
  counted: { path: '/', body: {} },
  list: { path: '/list', body: rpc('tools/list', {}) },
  events: { path: '/events', body: rpc('tools/call', { name: 'echo', arguments: {} }) },
  unreachable: {
    ...{ path: '/mcp', body: rpc('tools/call', { name: 'echo', arguments: {} }) },
    served: 503,
  },
  card: { path: '/.well-known/agent-card.json' },
  delayed: { path: '/', body: {} },
}

describe('a throw in a call to a model, a tool or an agent', () => {
  const lines: LogLine[] = []
  let gateway: Gateway | undefined
  let backend: Server
  let port = 0

  before(async () => {
    plantEverywhere()
    backend = createServer((message, response) => {
      const { url = '' } = message
      let text = ''
      message.on('data', (bytes: Buffer) => {
        text += bytes.toString()
      })
      message.on('end', () => {
        if (text.includes('"stream":true')) {
          response.setHeader('content-type', 'text/event-stream')
          response.end(`data: ${JSON.stringify(CHUNK)}\n\ndata: [DONE]\n\n`)
          return
        }
        if (url === '/events') {
          response.setHeader('content-type', 'text/event-stream')
          return void response.end(`event: message\ndata: ${JSON.stringify(RESULT)}\n\n`)
        }
        response.setHeader('content-type', 'application/json')
        if (url === '/keys') return void response.end(JSON.stringify(KEYS))
        if (url.endsWith('agent-card.json')) return void response.end(CARD)
        if (url === '/list') {
          return void response.end(JSON.stringify({ ...RESULT, result: { tools: TOOLS } }))
        }
        const body = url.startsWith('/mcp') ? RESULT : /messages/.test(url) ? MESSAGE : COMPLETION
        response.end(JSON.stringify(body))
      })
    })
    const host = `127.0.0.1:${await listen(backend)}`
    port = await free()
    const ai = (provider: string) => ({
      ai: {
        groups: [
          { providers: [{ name: 'one', provider: { [provider]: {} }, hostOverride: host }] },
        ],
      },
    })
    const guard = [{ regex: { rules: [{ builtin: 'email' }] } }]
    const budgets = [{ requests: 1000, per: 'Hour' }]
    const route = (name: Call, policies: object, target: object) => ({
      ...{ name, hostnames: [`${name}.test`], policies, backends: [target] },
    })
    const text = JSON.stringify({
      gateways: { default: { port } },
      routes: [
        route('model', { guardrails: { request: guard }, budgets }, ai('openAI')),
        route('translated', {}, ai('anthropic')),
        route('stream', { guardrails: { response: guard } }, ai('openAI')),
        route(
          'tool',
          { guardrails: { request: guard } },
          { mcp: { targets: [{ name: 'one', mcp: { host, path: '/mcp' } }] } },
        ),
        route(
          'list',
          { mcpAuthorization: { rules: [{ deny: "mcp.tool.name == 'tool7'" }] } },
          { mcp: { targets: [{ name: 'one', mcp: { host, path: '/list' } }] } },
        ),
        route(
          'events',
          {},
          { mcp: { targets: [{ name: 'one', mcp: { host, path: '/events' } }] } },
        ),
        route(
          'unreachable',
          {},
          { mcp: { targets: [{ name: 'one', mcp: { host: '127.0.0.1:9', path: '/mcp' } }] } },
        ),
        route('agent', {}, { host, policies: { a2a: {} } }),
        route(
          'card',
          {},
          { host, policies: { a2a: { verify: { jwks: { url: `http://${host}/keys` } } } } },
        ),
        route('delayed', { delay: { duration: '1ms' } }, { host }),
        route(
          'counted',
          {
            remoteRateLimit: {
              ...{ host: '127.0.0.1:9', domain: 'd', failureMode: 'Allow', timeout: '1s' },
              descriptors: [{ entries: [{ key: 'a', value: "'b'" }] }],
            },
          },
          { host },
        ),
      ],
    })
    const settings = settingsOf(text)
    const write = (line: string) => void lines.push(JSON.parse(line))
    const log = createLogger({ format: 'json', level: 'info', write })
    const metrics = openMetrics(settings)
    gateway = new Gateway({ settings: steady(settings), log, metrics, reusePort: false })
    const { isApplied, diagnostics } = await gateway.apply(modelOf(text))
    assert.ok(isApplied, JSON.stringify(diagnostics))
    plantInProgram(gateway.program ?? assert.fail())
  })

  after(async () => {
    await gateway?.drain()
    unplant()
    backend.close()
    backend.closeAllConnections()
  })

  const reported = () => lines.filter(({ scope }) => scope === 'internal')

  function ask(call: Call): Promise<number> {
    const { path, body } = REQUESTS[call]
    return new Promise((resolve, reject) => {
      const own = request(
        {
          ...{ host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST' },
          headers: {
            host: `${call}.test`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
        },
        (response) => {
          response.on('error', () => {}).on('close', () => resolve(response.statusCode ?? 0))
          response.resume()
        },
      )
      own.on('error', reject).end(body && JSON.stringify(body))
    })
  }

  for (const call of Object.keys(REQUESTS) as Call[]) {
    it(`${call}: without a throw it is served`, async () => {
      lines.length = 0
      assert.equal(await ask(call), REQUESTS[call].served ?? 200)
      assert.deepEqual(reported(), [])
    })
  }

  for (const { call, place, callOut, seen } of PLANTS) {
    it(`${call}, ${place}: ${seen}`, async () => {
      lines.length = 0
      arm(place)
      assert.equal(await ask(call), seen)
      await until('the throw', hasThrown)
      disarm()
      await until('the record', () => reported().length > 0)
      assert.equal(await ask(call), REQUESTS[call].served ?? 200, 'the next one is served')
      const [record, ...others] = reported()
      assert.deepEqual(others, [], 'it is reported once')
      assert.equal(record?.['call-out'], callOut)
      assert.match(String(record?.error), /planted/)
    })
  }
})
