import { createServer, type Socket } from 'node:net'

/*
 * A provider that costs next to nothing, started by `node mock-provider.ts PORT`: chat completions
 * and Anthropic messages, whole and as streams of 50 pieces of text. Each piece is a separate
 * write in a separate turn of the event loop; with `x-hold: 1` the stream stays open after its
 * first piece. It does not validate requests, and expects that they are never pipelined.
 */

const PIECES = 50
const TEXT = ' a word or two'
const MODEL = 'mock-model'

function completionsChunk(delta: object, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }]
  const head = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: MODEL }
  return `data: ${JSON.stringify({ ...head, system_fingerprint: 'fp_1', choices })}\n\n`
}

const USAGE = { prompt_tokens: 24, completion_tokens: PIECES, total_tokens: 24 + PIECES }

/** Includes usage if the client requests it. */
function completionsEvents(isCounted: boolean): readonly string[] {
  const last = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: MODEL }
  return [
    completionsChunk({ role: 'assistant', content: '' }),
    ...Array.from({ length: PIECES }, () => completionsChunk({ content: TEXT })),
    completionsChunk({}, 'stop'),
    ...(isCounted ? [`data: ${JSON.stringify({ ...last, choices: [], usage: USAGE })}\n\n`] : []),
    'data: [DONE]\n\n',
  ]
}

function messagesEvents(): readonly string[] {
  const event = (type: string, rest: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
  const usage = { input_tokens: 24, output_tokens: 1 }
  const head = { id: 'msg_bench', type: 'message', role: 'assistant', model: MODEL, content: [] }
  const message = { ...head, stop_reason: null, stop_sequence: null, usage }
  const delta = { type: 'text_delta', text: TEXT }
  return [
    event('message_start', { message }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...Array.from({ length: PIECES }, () => event('content_block_delta', { index: 0, delta })),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: PIECES },
    }),
    event('message_stop', {}),
  ]
}

const WORDS = TEXT.repeat(PIECES)
const WHOLE = {
  completions: {
    ...{ id: 'chatcmpl-bench', object: 'chat.completion', created: 1, model: MODEL },
    choices: [{ index: 0, message: { role: 'assistant', content: WORDS }, finish_reason: 'stop' }],
    usage: USAGE,
  },
  messages: {
    ...{ id: 'msg_bench', type: 'message', role: 'assistant', model: MODEL },
    content: [{ type: 'text', text: WORDS }],
    ...{ stop_reason: 'end_turn', stop_sequence: null },
    usage: { input_tokens: 24, output_tokens: PIECES },
  },
}

function wholeResponse(body: object): Buffer {
  const text = JSON.stringify(body)
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}`
  return Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${text}`)
}

const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

function chunked(events: readonly string[]): readonly Buffer[] {
  return events.map((text) => Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`))
}

const READY = {
  completions: wholeResponse(WHOLE.completions),
  messages: wholeResponse(WHOLE.messages),
}
const STREAMS = {
  plain: chunked(completionsEvents(false)),
  counted: chunked(completionsEvents(true)),
  messages: chunked(messagesEvents()),
}

createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  let received = ''
  socket.setEncoding('latin1').on('data', (text) => {
    received += String(text)
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1] ?? -1)
    const isWhole =
      length >= 0 ? received.length >= end + 4 + length : received.endsWith('0\r\n\r\n')
    if (!isWhole) return
    const request = received
    received = ''
    respond(socket, request)
  })
}).listen(Number(process.argv[2]), '127.0.0.1')

function respond(socket: Socket, request: string): void {
  const dialect = /^POST \S*\/messages\b/.test(request) ? 'messages' : 'completions'
  if (!/"stream" ?: ?true/.test(request)) {
    socket.write(READY[dialect])
    return
  }
  const isCounted = /"include_usage" ?: ?true/.test(request)
  const events =
    dialect === 'messages' ? STREAMS.messages : STREAMS[isCounted ? 'counted' : 'plain']
  socket.write(STREAM_HEAD)
  if (/\r\nx-hold: 1/i.test(request)) {
    for (const event of events.slice(0, 3)) socket.write(event)
    return
  }
  let at = 0
  const next = () => {
    if (socket.destroyed) return
    const event = events[at++]
    socket.write(event ?? LAST_CHUNK)
    if (event !== undefined) setImmediate(next)
  }
  setImmediate(next)
}
