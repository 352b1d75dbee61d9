import type { IncomingMessage, ServerResponse } from 'node:http'

/*
 * The model of examples/quickstart.yaml, which can be tried without an account: it repeats its
 * input, in the formats of OpenAI and Anthropic.
 */

const MAX_BODY = 1024 * 1024

/** Returns false for requests that are not model calls. */
export function serveExampleModel(request: IncomingMessage, response: ServerResponse): boolean {
  const { method, url } = request
  if (method !== 'POST' || (url !== '/v1/chat/completions' && url !== '/v1/messages')) return false
  const pieces: Buffer[] = []
  let size = 0
  request.on('data', (piece: Buffer) => {
    size += piece.length
    if (size <= MAX_BODY) pieces.push(piece)
  })
  request.on('end', () => {
    const call = callOf(Buffer.concat(pieces).toString('utf8'))
    if (call === undefined || size > MAX_BODY) response.writeHead(400).end()
    else if (url === '/v1/messages') writeMessage(response, call)
    else writeCompletion(response, call)
  })
  return true
}

interface Call {
  readonly model: string
  readonly words: readonly string[]
  readonly isStream: boolean
  readonly usage: { readonly input: number; readonly output: number }
}

function callOf(text: string): Call | undefined {
  try {
    const { model, messages, stream } = JSON.parse(text)
    const { content } = messages.at(-1)
    const said = typeof content === 'string' ? content : JSON.stringify(content)
    const words = `You said: ${said}`.match(/\s*\S+/g) ?? []
    const usage = { input: Math.ceil(text.length / 4), output: words.length }
    return { model: String(model), words, isStream: stream === true, usage }
  } catch {
    return undefined
  }
}

function writeCompletion(response: ServerResponse, { model, words, isStream, usage }: Call): void {
  const head = { id: 'chatcmpl-example', created: 0, model }
  const counts = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  }
  if (!isStream) {
    const message = { role: 'assistant', content: words.join('') }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    writeJson(response, { ...head, object: 'chat.completion', choices, usage: counts })
    return
  }
  const chunk = (delta: object, finish_reason: string | null) =>
    dataOf({
      ...{ ...head, object: 'chat.completion.chunk' },
      choices: [{ index: 0, delta, finish_reason }],
    })
  writeEvents(response, [
    ...words.map((content) => chunk({ role: 'assistant', content }, null)),
    chunk({}, 'stop'),
    dataOf({ ...head, object: 'chat.completion.chunk', choices: [], usage: counts }),
    'data: [DONE]\n\n',
  ])
}

function writeMessage(response: ServerResponse, { model, words, isStream, usage }: Call): void {
  const head = { id: 'msg_example', type: 'message', role: 'assistant', model, stop_sequence: null }
  const counts = { input_tokens: usage.input, output_tokens: usage.output }
  if (!isStream) {
    const content = [{ type: 'text', text: words.join('') }]
    writeJson(response, { ...head, content, stop_reason: 'end_turn', usage: counts })
    return
  }
  const event = (type: string, rest: object) => `event: ${type}\n${dataOf({ type, ...rest })}`
  const message = {
    ...head,
    content: [],
    stop_reason: null,
    usage: { ...counts, output_tokens: 1 },
  }
  const stop = { stop_reason: 'end_turn', stop_sequence: null }
  writeEvents(response, [
    event('message_start', { message }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...words.map((text) =>
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: stop, usage: { output_tokens: usage.output } }),
    event('message_stop', {}),
  ])
}

function dataOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function writeJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}

/** Writes events one by one, as a model would. */
function writeEvents(response: ServerResponse, events: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let at = 0
  const next = () => {
    const event = events[at++]
    if (event === undefined || response.destroyed) response.end()
    else {
      response.write(event)
      setTimeout(next, 20)
    }
  }
  next()
}
