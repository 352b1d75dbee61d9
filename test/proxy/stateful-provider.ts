import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Provider, startProvider } from './providers.ts'

export interface StatefulProvider extends Provider {
  /** Everything that it stores, by its own IDs. */
  readonly stored: Map<string, Readonly<Record<string, unknown>>>
}

type Fields = Readonly<Record<string, unknown>>

/** OpenAI's responses, conversations and items: it rejects each ID that it did not create. */
export async function startStatefulProvider(name: string): Promise<StatefulProvider> {
  const provider = (await startProvider(name)) as StatefulProvider
  const stored = new Map<string, Fields>()
  Object.assign(provider, { stored })
  let count = 0
  const newId = (prefix: string) => `${prefix}_${name}${String(++count).padStart(4, '0')}`

  const respond = (body: Fields) => {
    for (const id of idsOf(body)) {
      if (!stored.has(id)) return [404, { error: { message: `${id} not found`, code: 'upstream' } }]
    }
    const item = {
      id: newId('msg'),
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Grüße "id":"msg_1"', annotations: [] }],
    }
    const { conversation } = body
    const made = {
      id: newId('resp'),
      object: 'response',
      created_at: 1,
      model: body.model,
      status: body.background === true ? 'queued' : 'completed',
      background: body.background ?? false,
      previous_response_id: body.previous_response_id ?? null,
      ...(conversation === undefined
        ? {}
        : { conversation: typeof conversation === 'string' ? { id: conversation } : conversation }),
      output: [item],
      metadata: { id: 'msg_of_the_client' },
      'x-unknown': 'kept',
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    }
    stored.set(made.id, made)
    stored.set(item.id, item)
    return [200, made] as const
  }

  provider.respondWith = (request: IncomingMessage, response: ServerResponse) => {
    const { body: text } = provider.arrived.at(-1) as Provider['arrived'][number]
    const body = (text === '' ? {} : JSON.parse(Buffer.from(text, 'latin1').toString())) as Fields
    const { pathname } = new URL(request.url ?? '', 'http://x')
    const [, , collection, id = '', rest = '', inner = ''] = pathname.split('/')
    if (request.method === 'POST' && collection === 'responses' && id === '') {
      const [status, made] = respond(body)
      if (status === 200 && body.stream === true) stream(response, made as Fields)
      else send(response, status as number, made as Fields)
      return
    }
    if (request.method === 'POST' && collection === 'conversations' && id === '') {
      const made = { id: newId('conv'), object: 'conversation', metadata: {} }
      stored.set(made.id, made)
      send(response, 200, made)
      return
    }
    const found = stored.get(id)
    if (found === undefined || (inner !== '' && !stored.has(inner))) {
      send(response, 404, { error: { message: `${id} is unknown`, type: 'x', code: 'upstream' } })
    } else if (request.method === 'DELETE') {
      stored.delete(id)
      send(response, 200, { id, object: `${collection}.deleted`, deleted: true })
    } else if (rest === 'input_items' || rest === 'items') {
      const data = [...stored.values()].filter((one) => one.type === 'message')
      const ids = { first_id: data[0]?.id, last_id: data.at(-1)?.id }
      send(response, 200, { object: 'list', data, has_more: false, ...ids })
    } else if (rest === 'cancel') send(response, 200, { ...found, status: 'cancelled' })
    else if (request.url?.includes('stream=true')) stream(response, found)
    else send(response, 200, found)
  }
  return provider
}

function idsOf({ previous_response_id, conversation, input }: Fields): readonly string[] {
  const items = Array.isArray(input) ? (input as readonly Fields[]) : []
  const conversationId = (conversation as Fields | undefined)?.id ?? conversation
  return [previous_response_id, conversationId, ...items.map(({ id }) => id)].filter(
    (id) => typeof id === 'string',
  )
}

function send(response: ServerResponse, status: number, body: Fields): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Sends chunks of a few bytes, which split characters and events. */
function stream(response: ServerResponse, made: Fields): void {
  const [item] = made.output as readonly Fields[]
  const events: readonly Fields[] = [
    { type: 'response.created', response: { ...made, output: [] } },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_text.delta', item_id: item?.id, delta: 'Grüße "item_id":"x"' },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: made },
  ]
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const text = events.map((one) => `event: ${one.type}\r\ndata: ${JSON.stringify(one)}\r\n\r\n`)
  const bytes = Buffer.from(`: a comment\n\n${text.join('')}`)
  const next = (from: number): void => {
    if (from >= bytes.length) response.end()
    else response.write(bytes.subarray(from, from + 61), () => next(from + 61))
  }
  next(0)
}
