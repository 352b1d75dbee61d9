import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { freePort } from '../free-port.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

/*
 * Concurrent streams. CI opens some hundred; MODEL_STREAMS=5000 is the long form, for which a
 * process needs 20,000 files.
 */

const STREAMS = Number(process.env['MODEL_STREAMS'] ?? 400)

const chunk = (content: string) => {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices })}\n\n`
}
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const LAST = `data: ${JSON.stringify({ id: 'c', choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`

const event = (type: string, rest: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const MESSAGE = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] }
const said = (text: string) =>
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })

/** What each provider writes at first, and once all streams are open. */
const PARTS = {
  openAI: [chunk('first '), chunk('last') + LAST],
  anthropic: [
    event('message_start', { message: { ...MESSAGE, usage: { input_tokens: 3 } } }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
      said('first '),
    said('last') +
      event('content_block_stop', { index: 0 }) +
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }) +
      event('message_stop', {}),
  ],
} as const

/** A provider whose streams wait in the middle. */
class WaitingProvider {
  readonly waiting: ServerResponse[] = []
  readonly #server: Server

  constructor(kind: keyof typeof PARTS) {
    this.#server = createServer((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(PARTS[kind][0])
        this.waiting.push(response)
      })
    })
    this.#server.maxConnections = Number.POSITIVE_INFINITY
  }

  async start(): Promise<number> {
    this.#server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 })
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  proceed(kind: keyof typeof PARTS): void {
    for (const response of this.waiting.splice(0)) response.end(PARTS[kind][1])
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const eventually = (what: string, test: () => boolean) => until(what, test, 120)

interface Client {
  readonly socket: Socket
  text: string
}

describe('many concurrent streams', () => {
  const providers = {
    openAI: new WaitingProvider('openAI'),
    anthropic: new WaitingProvider('anthropic'),
  }
  let gateway: WholeGateway
  let port = 0
  const clients: Client[] = []

  before(async () => {
    port = await freePort()
    const models = await Promise.all(
      (['openAI', 'anthropic'] as const).map(async (kind) => ({
        ...{ name: kind, provider: kind },
        params: { apiKey: 'x', hostOverride: `127.0.0.1:${await providers[kind].start()}` },
      })),
    )
    gateway = await startWhole(JSON.stringify({ gateways: { default: { port } }, llm: { models } }))
  })

  after(async () => {
    for (const { socket } of clients) socket.destroy()
    await gateway?.stop()
    for (const one of Object.values(providers)) one.close()
  })

  const open = (model: string) => {
    const body = JSON.stringify({
      ...{ model, stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    })
    const socket = connect({ port, host: '127.0.0.1' })
    const client = { socket, text: '' }
    socket.setEncoding('latin1').on('data', (text) => {
      client.text += String(text)
    })
    socket.on('error', () => socket.destroy())
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json'
    socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    clients.push(client)
  }

  for (const kind of ['openAI', 'anthropic'] as const) {
    it(`${kind}: all are served, none is held back, and all end`, async () => {
      const first = clients.length
      // At most as many start at a time as fit in a listener's queue.
      for (let begun = 0; begun < STREAMS; begun += 100) {
        const wanted = Math.min(STREAMS, begun + 100)
        for (let at = begun; at < wanted; at++) open(kind)
        await eventually('they are open', () => providers[kind].waiting.length >= wanted)
      }
      const own = clients.slice(first)
      await eventually('the first words are there', () =>
        own.every(({ text }) => text.includes('first ')),
      )
      assert.ok(own.every(({ text }) => !text.includes('last')))
      assert.ok(gateway.connections() >= STREAMS)
      providers[kind].proceed(kind)
      await eventually('all have ended', () => own.every(({ text }) => text.endsWith('0\r\n\r\n')))
      for (const { text } of own) {
        assert.match(text, /^HTTP\/1\.1 200/)
        assert.match(text, /last[\s\S]*data: \[DONE\]/)
        // The client did not request it.
        assert.doesNotMatch(text, /"total_tokens"/)
      }
      const series = `portcullis_llm_requests_total{route="llm",provider="${kind}",model="${kind}",operation="chat",outcome="success"}`
      await eventually('all are counted', () => gateway.metric(series) === STREAMS)
    })
  }

  it('nothing of them is left', async () => {
    for (const { socket } of clients) socket.destroy()
    await eventually('the connections are closed', () => gateway.connections() === 0)
    assert.equal(providers.openAI.waiting.length + providers.anthropic.waiting.length, 0)
  })
})
