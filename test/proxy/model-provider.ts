import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Provider, startProvider } from './providers.ts'

/** What a provider does with the next calls. */
export interface Behaviour {
  /** Rejects calls with this status, in the vendor's format. */
  status?: number
  headers?: Readonly<Record<string, string>>
  /** Breaks the connection: before it sends anything, or in the middle of a stream. */
  dies?: 'at-once' | 'in-stream'
  /** Responds once this promise settles. */
  waits?: Promise<unknown>
  /** Never responds. */
  hangs?: boolean
  /** Chunks of a stream, as they are sent on the wire. */
  pieces?: readonly (string | Buffer)[]
}

export interface ModelProvider extends Provider {
  behaviour: Behaviour
  /** The received bodies, as JSON. */
  readonly bodies: () => readonly Readonly<Record<string, unknown>>[]
}

/** A provider that rejects what the vendor rejects. */
export async function startModelProvider(
  vendor: 'openai' | 'anthropic',
  key = 'sk-provider',
): Promise<ModelProvider> {
  const provider = (await startProvider(vendor)) as ModelProvider
  provider.behaviour = {}
  Object.assign(provider, {
    bodies: () => provider.arrived.map(({ body }) => JSON.parse(body)),
  })
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const arrived = provider.arrived.at(-1) as (typeof provider.arrived)[number]
    const problem = problemOf(vendor, arrived, key)
    const { status, headers = {}, dies, hangs } = provider.behaviour
    if (hangs === true) return
    if (dies === 'at-once') {
      request.socket.destroy()
      return
    }
    if (problem !== undefined || status !== undefined) {
      const [code, message] = problem ?? [status as number, 'as told']
      sendJson(response, code, errorOf(vendor, message), headers)
      return
    }
    const body = JSON.parse(arrived.body) as Readonly<Record<string, unknown>>
    const { behaviour } = provider
    const respond = () => {
      if (body.stream === true) stream(vendor, body, response, behaviour)
      else sendJson(response, 200, whole(vendor, body), headers)
    }
    if (behaviour.waits === undefined) respond()
    else void behaviour.waits.then(respond)
  }
  provider.respondWith = serve
  return provider
}

type Problem = readonly [status: number, message: string]

function problemOf(
  vendor: 'openai' | 'anthropic',
  { method, url, headers, body }: Provider['arrived'][number],
  key: string,
): Problem | undefined {
  const [path] = url.split('?')
  const own = vendor === 'openai' ? headers.authorization : headers['x-api-key']
  if (own !== (vendor === 'openai' ? `Bearer ${key}` : key)) return [401, 'wrong key']
  const foreign = ['x-api-key', 'x-goog-api-key', 'api-key', 'authorization', 'cookie']
  const kept = vendor === 'openai' ? 'authorization' : 'x-api-key'
  for (const name of foreign) {
    if (name !== kept && headers[name] !== undefined) return [400, `${name} has leaked`]
  }
  if (url.includes('key=')) return [400, 'a key in the query has leaked']
  const served = vendor === 'openai' ? '/v1/chat/completions' : '/v1/messages'
  if (method !== 'POST' || path !== served) return [404, `no such endpoint: ${method} ${path}`]
  if (headers['content-encoding'] !== undefined) return [415, 'coded']
  let call: Readonly<Record<string, unknown>>
  try {
    call = JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))
  } catch {
    return [400, 'no JSON']
  }
  if (typeof call.model !== 'string') return [400, 'no model']
  if (!Array.isArray(call.messages) || call.messages.length === 0) return [400, 'no messages']
  if (vendor === 'anthropic') {
    if (headers['anthropic-version'] === undefined) return [400, 'no version']
    if (typeof call.max_tokens !== 'number') return [400, 'max_tokens: required']
  }
  return undefined
}

function errorOf(vendor: 'openai' | 'anthropic', message: string): object {
  if (vendor === 'anthropic') return { type: 'error', error: { type: 'api_error', message } }
  return { error: { message, type: 'server_error', param: null, code: null } }
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>>,
): void {
  const text = JSON.stringify(body)
  const length = Buffer.byteLength(text)
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': length,
      ...headers,
    })
    .end(text)
}

function whole(vendor: 'openai' | 'anthropic', { model }: Readonly<Record<string, unknown>>) {
  if (vendor === 'anthropic') {
    return {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: 'Grüße' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 2 },
    }
  }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Grüße' }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    'x-unknown': 1e2,
  }
}

/** Events as the vendor sends them, with a comment, a ping and an event of an unknown type. */
function stream(
  vendor: 'openai' | 'anthropic',
  body: Readonly<Record<string, unknown>>,
  response: ServerResponse,
  { pieces, dies, headers = {} }: Behaviour,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...headers })
  const text = vendor === 'openai' ? openAiEvents(body) : anthropicEvents(body)
  // Split at arbitrary bytes: in the middle of characters, lines and events.
  const all = pieces ?? cut(Buffer.from(text), 7)
  let at = 0
  const next = () => {
    if (dies === 'in-stream' && at === Math.ceil(all.length / 2)) {
      response.socket?.destroy()
      return
    }
    const piece = all[at++]
    if (piece === undefined) response.end()
    else {
      response.write(piece)
      setImmediate(next)
    }
  }
  next()
}

export function cut(bytes: Buffer, size: number): readonly Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  return pieces
}

export function openAiEvents({ model, stream_options }: Readonly<Record<string, unknown>>): string {
  const asked = (stream_options as { include_usage?: boolean } | undefined)?.include_usage
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model }
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
  return [
    ': a comment\n\n',
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Grü' }),
    'event: unheard-of\ndata: {"a":1}\n\n',
    chunk({ content: 'ße' }),
    chunk({}, 'stop'),
    asked === true ? `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n` : '',
    'data: [DONE]\n\n',
  ].join('')
}

export function anthropicEvents({ model }: Readonly<Record<string, unknown>>): string {
  const event = (type: string, rest: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
  const usage = { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: 2 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], usage }
  return [
    event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null } }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('ping', {}),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Grü' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'ße' } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 3 },
    }),
    event('message_stop', {}),
  ].join('')
}
