import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { AgentCard } from '@a2a-js/sdk'
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Agent, messageOf, startAgent } from './agent.ts'

/* Agents and clients of the SDK, with the gateway in between at several prefixes. */

let agent: Agent
let below: Agent
let odd: Server
let running: Deciding
let port = 0
/** The card that the odd agent sends. */
let oddCard = ''

const rules = (...all: (object | string)[]) => ({ authorization: { rules: all } })

function config(policies: object = {}): string {
  const host = (own: number) => [{ host: `127.0.0.1:${own}`, policies: { a2a: {}, ...policies } }]
  const at = (name: string, path: string, own: number, rewrite?: string) => ({
    name,
    matches: [{ path: { pathPrefix: path } }],
    policies: rewrite === undefined ? {} : { urlRewrite: { path: { prefix: rewrite } } },
    backends: host(own),
  })
  return JSON.stringify({
    gateways: { default: { port } },
    routes: [
      at('plain', '/', agent.port),
      at('prefix', '/agents/echo', agent.port, '/'),
      at('deep', '/agents/deep', below.port, '/inner/agent'),
      at('odd', '/odd', (odd.address() as AddressInfo).port, '/'),
    ],
  })
}

const PREFIXES = ['', '/agents/echo', '/agents/deep'] as const
const VERSIONS = ['1.0', '0.3'] as const
const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const

const base = (prefix = '') => `http://127.0.0.1:${port}${prefix}`
const legacyCompat = { enabled: true }

async function cardAt(prefix: string): Promise<AgentCard> {
  return new DefaultAgentCardResolver({ legacyCompat }).resolve(`${base(prefix)}/`)
}

async function clientFor(prefix: string, binding: string, version: string): Promise<Client> {
  const card = await cardAt(prefix)
  const supportedInterfaces = card.supportedInterfaces.filter(
    (one) => one.protocolBinding === binding && one.protocolVersion === version,
  )
  assert.equal(supportedInterfaces.length, 1, JSON.stringify(card.supportedInterfaces))
  const transports = [
    new JsonRpcTransportFactory({ legacyCompat }),
    new RestTransportFactory({ legacyCompat }),
  ]
  return new ClientFactory({ transports }).createFromAgentCard({ ...card, supportedInterfaces })
}

const send = (text: string, own = {}) => ({
  ...{ tenant: '', message: messageOf(text, own), configuration: undefined, metadata: undefined },
})

async function rpc(method: string, params: object, at = '/rpc', id: unknown = 7) {
  const response = await fetch(`${base()}${at}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
  })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text) as Record<string, unknown> }
}

describe('agents', () => {
  before(async () => {
    ;[agent, below] = await Promise.all([startAgent(), startAgent('/inner/agent')])
    odd = createServer((_, response) => response.end(oddCard))
    await new Promise<void>((done) => odd.listen(0, '127.0.0.1', done))
    port = await freePort()
    running = await startDeciding(config(), 'json')
  })

  after(async () => {
    await running.stop()
    await Promise.all([agent.close(), below.close(), new Promise((done) => odd.close(done))])
  })

  beforeEach(async () => {
    await running.apply(config())
    agent.arrived.length = 0
  })

  for (const prefix of PREFIXES) {
    it(`the card at ${prefix}/ names the gateway, and no other binding or signature`, async () => {
      const card = await cardAt(prefix)
      assert.deepEqual(
        card.supportedInterfaces.map(({ url, protocolBinding }) => [url, protocolBinding]),
        [
          [`${base(prefix)}/rpc`, 'JSONRPC'],
          [`${base(prefix)}/rest`, 'HTTP+JSON'],
          [`${base(prefix)}/rpc`, 'JSONRPC'],
          [`${base(prefix)}/rest`, 'HTTP+JSON'],
        ],
      )
      assert.equal(card.provider?.url, 'https://maker.example')
    })

    for (const version of VERSIONS) {
      for (const binding of BINDINGS) {
        it(`${binding} ${version} at ${prefix}/: whole, streamed, tasks`, async () => {
          const client = await clientFor(prefix, binding, version)
          const made = await client.sendMessage(send('stay'))
          assert.ok('status' in made, JSON.stringify(made))
          const events: unknown[] = []
          for await (const event of client.sendMessageStream(send('hello'))) events.push(event)
          assert.ok(events.length >= 2)
          const read = await client.getTask({ tenant: '', id: made.id })
          assert.equal(read.id, made.id)
          const cancelled = await client.cancelTask({
            ...{ tenant: '', id: made.id, metadata: undefined },
          })
          assert.equal(cancelled.id, made.id)
          await assert.rejects(client.getTask({ tenant: '', id: 'nobody' }))
        })
      }
    }
  }

  for (const version of VERSIONS) {
    for (const binding of BINDINGS) {
      it(`rules read ${binding} ${version} by the same names`, async () => {
        await running.apply(
          config(rules({ deny: "a2a.method == 'GetTask' && a2a.taskId == 'secret'" }, 'true')),
        )
        const client = await clientFor('/agents/echo', binding, version)
        const made = await client.sendMessage(send('stay'))
        assert.ok('status' in made)
        assert.equal((await client.getTask({ tenant: '', id: made.id })).id, made.id)
        agent.arrived.length = 0
        await assert.rejects(client.getTask({ tenant: '', id: 'secret' }), /denied/)
        assert.deepEqual(agent.arrived, [])
      })

      it(`addresses of notifications are known to rules: ${binding} ${version}`, async () => {
        const inside = "a2a.callbackUrls.all(url, url.startsWith('https://hooks.example/'))"
        await running.apply(config(rules({ require: inside })))
        const client = await clientFor('', binding, version)
        const made = await client.sendMessage(send('stay'))
        assert.ok('status' in made)
        const notify = (url: string) =>
          client.createTaskPushNotificationConfig({
            ...{ tenant: '', id: 'one', taskId: made.id, url, token: '' },
            authentication: undefined,
          })
        await notify('https://hooks.example/a')
        await assert.rejects(notify('http://169.254.169.254/'), /denied/)
        const configuration = {
          ...{ acceptedOutputModes: [], returnImmediately: false },
          taskPushNotificationConfig: {
            ...{ tenant: '', id: 'x', taskId: '', url: 'http://10.0.0.1/', token: '' },
            authentication: undefined,
          },
        }
        await assert.rejects(client.sendMessage({ ...send('x'), configuration }), /denied/)
      })
    }
  }

  it('the extended card is rewritten, in the result of a call and over REST', async () => {
    const { body } = await rpc('GetExtendedAgentCard', {})
    const { result } = body as unknown as { result: AgentCard }
    assert.equal(result.version, '1')
    assert.ok(result.supportedInterfaces.every(({ url }) => url.startsWith(base())))
    const response = await fetch(`${base('/agents/echo')}/rest/extendedAgentCard`, {
      headers: { 'a2a-version': '1.0' },
    })
    const card = (await response.json()) as AgentCard
    assert.ok(card.supportedInterfaces.every(({ url }) => url.startsWith(base('/agents/echo/'))))
  })

  it('errors have the ID of the call and the form of its binding', async () => {
    await running.apply(config(rules({ deny: "a2a.method == 'GetTask'" }, 'true')))
    for (const id of [7, '7', 'a"b']) {
      const { status, body } = await rpc('GetTask', { id: 'x' }, '/rpc', id)
      assert.equal(status, 403)
      assert.deepEqual(
        [body.jsonrpc, body.id, Object.keys(body.error as object)],
        ['2.0', id, ['code', 'message']],
      )
    }
    const response = await fetch(`${base()}/rest/tasks/x`)
    const { error } = (await response.json()) as { error: Record<string, unknown> }
    assert.deepEqual([error.code, error.status], [403, 'PERMISSION_DENIED'])
  })

  for (const version of VERSIONS) {
    it(`a malformed call gets the error of an agent of ${version}`, async () => {
      const call = (fields: object) => JSON.stringify({ id: 3, jsonrpc: '2.0', ...fields })
      const rpcError = async (at: string, body: string) => {
        const headers = { 'content-type': 'application/json', 'a2a-version': version }
        const response = await fetch(`${at}/rpc`, { method: 'POST', headers, body })
        const { error, id } = (await response.json()) as {
          error: { code: number; message: string }
          id: unknown
        }
        assert.ok(error.message.length > 0)
        return [response.status, error.code, id]
      }
      for (const [body, code, id] of [
        ['{"jsonrpc":"2.0","id":3,', -32700, null],
        ['not JSON', -32700, null],
        ['"text"', -32600, null],
        [call({ jsonrpc: '1.0', method: 'SendMessage' }), -32600, 3],
        [JSON.stringify({ id: 3, method: 'SendMessage' }), -32600, 3],
        [call({}), -32600, 3],
        [call({ method: 7 }), -32600, 3],
        [call({ method: 'GetTask', params: [1] }), -32602, 3],
        [call({ method: 'GetTask', params: { id: 'a', task_id: 'b' } }), -32602, 3],
        [`[${call({ method: 'GetTask' })}]`, -32600, null],
        ['{"jsonrpc":"2.0","id":3,"method":"GetTask","method":"CancelTask"}', -32600, null],
      ] as const) {
        assert.deepEqual(await rpcError(base(), body), [200, code, id], body)
      }
      const response = await fetch(`${base()}/rest/message:send`, { method: 'POST', body: '{' })
      assert.equal(response.status, 400)
    })
  }

  it('input that the agent might interpret differently does not reach it', async () => {
    await running.apply(config(rules({ deny: "a2a.method == 'CancelTask'" }, 'true')))
    const cases: readonly (readonly [
      string,
      string,
      string | undefined,
      Record<string, string>?,
    ])[] = [
      ['POST', '/rest/tasks/x%3Acancel', undefined],
      ['POST', '/rest/TASKS/x:CANCEL/', undefined],
      ['POST', '/rest/v1/tasks/x:cancel', '{}'],
      ['POST', '/rest/acme/tasks/x:cancel', '{}'],
      ['POST', '/rpc', '{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"x"}}'],
      ['POST', '/rpc', '{"jsonrpc":"2.0","id":1,"\\u006dethod":"CancelTask"}'],
      ['POST', '/rpc', '{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask"}'],
      ['POST', '/rpc', '[{"jsonrpc":"2.0","id":1,"method":"CancelTask"}]'],
      ['POST', '/rpc', 'CancelTask'],
      ['POST', '/rpc', '{"method":"CancelTask"}'],
      ['POST', '/rpc', '', { 'content-type': 'application/grpc' }],
      ['PUT', '/rpc', '{"jsonrpc":"2.0","id":1,"method":"CancelTask"}'],
      ['POST', '/rpc', '{"jsonrpc":"2.0","method":"GetTask","params":{"id":"a","task_id":"b"}}'],
    ]
    // Calls that the agent itself would reject, in a response with 200.
    const malformed = new Set<string | undefined>(cases.slice(6, 10).map(([, , body]) => body))
    malformed.add(cases.at(-1)?.[2])
    for (const [method, path, body, headers = {}] of cases) {
      const response = await fetch(`${base()}${path}`, {
        ...{ method, headers: { 'content-type': 'application/json', ...headers } },
        ...(body === undefined ? {} : { body }),
      })
      const isMalformed = malformed.has(body)
      const isRejected = response.status >= 400 && response.status < 500
      assert.ok(isMalformed ? response.status === 200 : isRejected, `${path} ${body}`)
      assert.match(await response.text(), /"error":/)
    }
    assert.deepEqual(agent.arrived, [])
  })

  it('an unreadable card is not forwarded', async () => {
    for (const text of ['{"url":', '[]', '"x"', '']) {
      oddCard = text
      const response = await fetch(`${base('/odd')}/.well-known/agent-card.json`)
      assert.equal(response.status, 502, text)
    }
  })

  it('cards of 0.3: another interface replaces an unsupported one', async () => {
    oddCard = JSON.stringify({
      url: 'agent.internal:50051',
      preferredTransport: 'GRPC',
      additionalInterfaces: [
        { url: 'agent.internal:50051', transport: 'GRPC' },
        { url: 'https://agent.example/a2a?x=1', transport: 'JSONRPC' },
      ],
      signatures: [{ protected: 'e30', signature: 'x' }],
      'x-number': 1e2,
    }).replace('100', '1e2')
    for (const file of ['agent-card.json', 'agent.json']) {
      const response = await fetch(`${base('/odd')}/.well-known/${file}`)
      const text = await response.text()
      const url = `${base('/odd')}/a2a?x=1`
      assert.deepEqual(JSON.parse(text), {
        ...{ url, preferredTransport: 'JSONRPC', 'x-number': 100 },
        additionalInterfaces: [{ url, transport: 'JSONRPC' }],
      })
      assert.ok(text.includes('1e2'))
    }
  })

  it('the address in cards is configurable', async () => {
    await running.apply(config({ a2a: { publicUrl: 'https://agents.example.com/' } }))
    const card = await cardAt('/agents/echo')
    assert.equal(card.supportedInterfaces[0]?.url, 'https://agents.example.com/agents/echo/rpc')
  })
})
