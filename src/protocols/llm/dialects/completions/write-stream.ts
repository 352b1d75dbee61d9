import { renderSse } from '../../../sse.ts'
import type { StreamWriter } from '../../dialect.ts'
import type { Header, LlmError } from '../../error.ts'
import type { BlockStart, NeutralRequest, StreamEvent } from '../../neutral.ts'
import { argumentsText, Dropped, prefixedId } from '../../parts.ts'
import type { Fields } from '../../reading.ts'
import type { Usage } from '../../usage.ts'
import { openaiError } from '../openai-errors.ts'
import { customInput, FINISH_WORDS, isCustom, writeUsage } from './response.ts'

export const SSE_HEADERS: readonly Header[] = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-cache'],
]

const ENCODER = new TextEncoder()
const NO_BYTES = new Uint8Array(0)
const DELTA_FIELDS = {
  text: 'content',
  refusal: 'refusal',
  reasoning: 'reasoning_content',
} as const

export function writeStreamError(error: LlmError): Uint8Array {
  return ENCODER.encode(renderSse(JSON.stringify({ error: openaiError(error) })))
}

export function writeStream(request: NeutralRequest): StreamWriter {
  return new ChunkWriter(request)
}

interface OpenCall {
  readonly index: number
  readonly isCustom: boolean
  readonly id: string
  readonly name: string
  arguments: string
}

class ChunkWriter implements StreamWriter {
  readonly headers = SSE_HEADERS
  readonly #request: NeutralRequest
  readonly #dropped = new Dropped()
  readonly #blocks = new Map<number, BlockStart>()
  readonly #calls = new Map<number, OpenCall>()
  #id = ''
  #model = ''
  #usage: Usage | undefined

  constructor(request: NeutralRequest) {
    this.#request = request
  }

  get dropped(): readonly string[] {
    return this.#dropped.names
  }

  push(event: StreamEvent): Uint8Array {
    const text = this.#render(event)
    return text === '' ? NO_BYTES : ENCODER.encode(text)
  }

  #render(event: StreamEvent): string {
    switch (event.kind) {
      case 'start':
        this.#id = prefixedId('chatcmpl-', event.id)
        this.#model = event.model || this.#request.model
        return this.#chunk({ role: 'assistant', content: '' })
      case 'blockStart':
        return this.#start(event.block, event.part)
      case 'delta':
        return this.#delta(event.block, event.text)
      case 'signature':
        this.#dropped.add('signatures of reasoning')
        return ''
      case 'blockEnd':
        return this.#end(event.block)
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'finish':
        return this.#chunk({}, FINISH_WORDS[event.reason])
      case 'ping':
        return ': ping\n\n'
      case 'error':
        return renderSse(JSON.stringify({ error: openaiError(event.error) }))
      case 'end':
        return `${this.#usageChunk()}data: [DONE]\n\n`
    }
  }

  #start(block: number, part: BlockStart): string {
    this.#blocks.set(block, part)
    if (part.kind !== 'toolCall') return ''
    const { id, name } = part
    const call = {
      index: this.#calls.size,
      isCustom: isCustom(this.#request, name),
      id,
      name,
      arguments: '',
    }
    this.#calls.set(block, call)
    if (call.isCustom) return ''
    const first = { index: call.index, id, type: 'function', function: { name, arguments: '' } }
    return this.#chunk({ tool_calls: [first] })
  }

  #delta(block: number, text: string): string {
    const call = this.#calls.get(block)
    if (call !== undefined) {
      call.arguments += text
      if (call.isCustom) return ''
      return this.#chunk({ tool_calls: [{ index: call.index, function: { arguments: text } }] })
    }
    const part = this.#blocks.get(block)
    if (part === undefined || part.kind === 'toolCall') return ''
    return this.#chunk({ [DELTA_FIELDS[part.kind]]: text })
  }

  #end(block: number): string {
    const call = this.#calls.get(block)
    if (call === undefined) return ''
    const { index, id, name } = call
    if (call.isCustom) {
      const custom = { name, input: customInput(call.arguments) }
      return this.#chunk({ tool_calls: [{ index, id, type: 'custom', custom }] })
    }
    // Clients parse the joined arguments, and an empty string is not JSON.
    if (call.arguments !== '') return ''
    return this.#chunk({ tool_calls: [{ index, function: { arguments: argumentsText('') } }] })
  }

  #chunk(delta: Fields, finish: string | null = null): string {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finish }
    return this.#event({ choices: [choice], ...(this.#request.streamUsage && { usage: null }) })
  }

  /** Only for clients that requested it: others do not expect an event without a choice. */
  #usageChunk(): string {
    if (!this.#request.streamUsage || this.#usage === undefined) return ''
    return this.#event({ choices: [], usage: writeUsage(this.#usage) })
  }

  #event(fields: Fields): string {
    const head = {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#request.receivedAt,
    }
    return renderSse(JSON.stringify({ ...head, model: this.#model, ...fields }))
  }
}
