import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer } from './mcp-server.ts'
import { until } from './whole-gateway.ts'

/* One caller learns nothing about another, and guesses lead nowhere. */

const KEYS = { ann: 'key-of-ann', bob: 'key-of-bob' }
const apiKey = { keys: Object.entries(KEYS).map(([user, key]) => ({ key, metadata: { user } })) }

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number }
}

/** A client that writes its own messages. */
function clientOf(port: number, key: string, session?: string) {
  const send = async (message: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${key}`,
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
        ...headers,
      },
    })
  return { send }
}

/** Messages of a stream as they arrive, and its text once it is over. */
function follow(response: Response) {
  const messages: Message[] = []
  const over = (async () => {
    let text = ''
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece as Uint8Array, { stream: true })
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) {
        if (line.startsWith('data: {')) messages.push(JSON.parse(line.slice(6)))
      }
    }
  })()
  return { messages, over }
}

async function openSession(port: number, key: string) {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: { sampling: {} },
    clientInfo: { name: 't', version: '1' },
  }
  const first = await clientOf(port, key).send({ id: 0, method: 'initialize', params })
  await first.text()
  const session = first.headers.get('mcp-session-id') ?? assert.fail('no session')
  const client = clientOf(port, key, session)
  await (await client.send({ method: 'notifications/initialized' })).text()
  return client
}

describe('callers of MCP servers', () => {
  for (const count of [1, 2]) {
    it(`cannot respond to what others are asked, with ${count} behind the endpoint`, async () => {
      const names = ['files', 'search'].slice(0, count)
      const servers = await Promise.all(names.map((name) => startMcpServer({ name })))
      const port = await freePort()
      const targets = servers.map(({ port: own }, at) => ({
        name: names[at],
        mcp: { host: `127.0.0.1:${own}`, path: '/mcp' },
      }))
      const gateway = await startDeciding(
        JSON.stringify({
          gateways: { default: { port } },
          backends: [{ name: 'tools', mcp: { targets } }],
          routes: [{ name: 'tools', policies: { apiKey }, backends: [{ backend: 'tools' }] }],
        }),
      )
      try {
        const ann = await openSession(port, KEYS.ann)
        // Another user, and another session of the same user.
        const others = [await openSession(port, KEYS.bob), await openSession(port, KEYS.ann)]
        const params = { name: count === 1 ? 'sample' : 'files_sample', arguments: {} }
        const call = follow(await ann.send({ id: 1, method: 'tools/call', params }))
        await until('a question', () =>
          call.messages.some(({ method }) => method === 'sampling/createMessage'),
        )
        const { id } = call.messages.find((one) => one.method !== undefined) ?? assert.fail()
        const response = (text: string) => ({
          id,
          result: { role: 'assistant', model: 'm', content: { type: 'text', text } },
        })
        for (const other of others) await (await other.send(response('FORGED'))).text()
        await (await ann.send(response('of ann'))).text()
        await call.over
        const text = JSON.stringify(call.messages.at(-1))
        assert.match(text, /of ann/)
        assert.doesNotMatch(text, /FORGED/)
      } finally {
        await gateway.stop()
        for (const one of servers) await one.close()
      }
    })
  }

  it('cannot continue with the request state of others', async () => {
    const states: unknown[] = []
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 's', version: '1' }, { capabilities: { tools: {} } })
      server.registerTool('ask', { description: 'asks' }, (context) => {
        const state = context.mcpReq.requestState()
        states.push(state)
        if (state !== undefined) return { content: [{ type: 'text', text: String(state) }] }
        const requestedSchema = z.object({ colour: z.string() })
        const colour = inputRequired.elicit({ message: 'Which?', requestedSchema })
        return inputRequired({ requestState: 'state of ann', inputRequests: { colour } })
      })
      return server
    })
    const http = createServer(toNodeHandler(handler) as RequestListener)
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const port = await freePort()
    const { port: own } = http.address() as AddressInfo
    const targets = [{ name: 's', mcp: { host: `http://127.0.0.1:${own}/mcp` } }]
    const gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        backends: [{ name: 'tools', mcp: { targets } }],
        routes: [{ name: 'tools', policies: { apiKey }, backends: [{ backend: 'tools' }] }],
      }),
    )
    after(async () => {
      await gateway.stop()
      http.closeAllConnections()
      http.close()
    })
    const version = '2026-07-28'
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    }
    const call = async (key: string, more: object = {}): Promise<Message> => {
      const params = { name: 'ask', arguments: {}, ...more, _meta }
      const headers = {
        'mcp-protocol-version': version,
        'mcp-method': 'tools/call',
        'mcp-name': 'ask',
      }
      const response = await clientOf(port, key).send(
        { id: 7, method: 'tools/call', params },
        headers,
      )
      const text = await response.text()
      return JSON.parse(text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}'))
    }
    const { requestState } = (await call(KEYS.ann)).result ?? assert.fail()
    const inputResponses = { colour: { action: 'accept', content: { colour: 'red' } } }
    const asked = states.length
    const foreign = await call(KEYS.bob, { inputResponses, requestState })
    assert.equal(foreign.error?.code, -32602)
    assert.equal(states.length, asked, 'the server was not asked')
    const ownResponse = await call(KEYS.ann, { inputResponses, requestState })
    assert.match(JSON.stringify(ownResponse.result), /state of ann/)
  })
})
