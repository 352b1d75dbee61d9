import { renderSse } from '../../../sse.ts'
import type { StreamWriter } from '../../dialect.ts'
import type { LlmError } from '../../error.ts'
import type {
  BlockStart,
  FinishReason,
  NeutralRequest,
  Part,
  Signature,
  StreamEvent,
} from '../../neutral.ts'
import { prefixedId } from '../../parts.ts'
import type { Fields } from '../../reading.ts'
import type { Usage } from '../../usage.ts'
import { isCustom } from '../completions/response.ts'
import { SSE_HEADERS } from '../completions/write-stream.ts'
import { codeOf } from '../openai-errors.ts'
import { contentPart, responseObject, writeItem } from './response.ts'

const ENCODER = new TextEncoder()
const NO_BYTES = new Uint8Array(0)

export function writeStreamError(error: LlmError): Uint8Array {
  return ENCODER.encode(renderError(error, 0))
}

function renderError(error: LlmError, sequence_number: number): string {
  const { message, param = null } = error
  const code = codeOf(error) ?? error.type
  return renderSse(
    JSON.stringify({ type: 'error', code, message, param, sequence_number }),
    'error',
  )
}

export function writeStream(request: NeutralRequest): StreamWriter {
  return new ResponseWriter(request)
}

interface Item {
  readonly index: number
  readonly base: string
  readonly start: BlockStart
  readonly isCustom: boolean
  text: string
  signature: Signature | undefined
  hasSummary: boolean
  done: Fields | undefined
}

/** Each block is a separate item, and items may be interleaved: every event has a position. */
class ResponseWriter implements StreamWriter {
  readonly headers = SSE_HEADERS
  readonly dropped: readonly string[] = []
  readonly #request: NeutralRequest
  readonly #items = new Map<number, Item>()
  #sequence = 0
  #id = ''
  #model = ''
  #usage: Usage | undefined
  #finish: FinishReason = 'stop'

  constructor(request: NeutralRequest) {
    this.#request = request
  }

  push(event: StreamEvent): Uint8Array {
    const text = this.#render(event)
    return text === '' ? NO_BYTES : ENCODER.encode(text)
  }

  #render(event: StreamEvent): string {
    switch (event.kind) {
      case 'start':
        this.#id = prefixedId('resp_', event.id)
        this.#model = event.model || this.#request.model
        return (
          this.#event('response.created', { response: this.#response() }) +
          this.#event('response.in_progress', { response: this.#response() })
        )
      case 'blockStart':
        return this.#start(event.block, event.part)
      case 'delta':
        return this.#withItem(event.block, (item) => this.#delta(item, event.text))
      case 'signature':
        return this.#withItem(event.block, (item) => {
          item.signature = event.signature
          return ''
        })
      case 'blockEnd':
        return this.#withItem(event.block, (item) => this.#end(item))
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'finish':
        this.#finish = event.reason
        return ''
      case 'ping':
        return ': ping\n\n'
      case 'error':
        return renderError(event.error, this.#sequence++)
      case 'end': {
        const response = this.#response(this.#finish)
        return this.#event(`response.${String(response['status'])}`, { response })
      }
    }
  }

  #event(type: string, fields: Fields): string {
    const sequence_number = this.#sequence++
    return renderSse(JSON.stringify({ type, sequence_number, ...fields }), type)
  }

  #response(finish?: FinishReason): Fields {
    const output = [...this.#items.values()].flatMap(({ done }) => done ?? [])
    const usage = finish === undefined ? undefined : this.#usage
    return responseObject(this.#request, {
      id: this.#id,
      model: this.#model,
      output,
      finish,
      usage,
    })
  }

  #withItem(block: number, use: (item: Item) => string): string {
    const item = this.#items.get(block)
    return item === undefined ? '' : use(item)
  }

  #start(block: number, start: BlockStart): string {
    const index = this.#items.size
    const item: Item = {
      index,
      base: `${this.#id}_${index}`,
      start,
      isCustom: start.kind === 'toolCall' && isCustom(this.#request, start.name),
      text: '',
      signature: undefined,
      hasSummary: false,
      done: undefined,
    }
    this.#items.set(block, item)
    const empty = item.isCustom ? { input: '' } : EMPTY[start.kind]
    const begun = { ...this.#item(item, 'in_progress'), ...empty }
    const added = this.#event('response.output_item.added', { output_index: index, item: begun })
    if (start.kind !== 'text' && start.kind !== 'refusal') return added
    const part = contentPart(start.kind, '')
    return added + this.#event('response.content_part.added', { ...place(item), part })
  }

  #delta(item: Item, delta: string): string {
    item.text += delta
    switch (item.start.kind) {
      case 'text':
        return this.#event('response.output_text.delta', { ...place(item), delta, logprobs: [] })
      case 'refusal':
        return this.#event('response.refusal.delta', { ...place(item), delta })
      case 'reasoning': {
        const opened = item.hasSummary ? '' : this.#openSummary(item)
        const type = 'response.reasoning_summary_text.delta'
        return opened + this.#event(type, { ...summaryPlace(item), delta })
      }
      case 'toolCall':
        // The input is inside the arguments that the model writes, and known only when these end.
        if (item.isCustom) return ''
        return this.#event('response.function_call_arguments.delta', { ...itemPlace(item), delta })
    }
  }

  #openSummary(item: Item): string {
    item.hasSummary = true
    const part = { type: 'summary_text', text: '' }
    return this.#event('response.reasoning_summary_part.added', { ...summaryPlace(item), part })
  }

  #end(item: Item): string {
    const done = this.#item(item, 'completed')
    item.done = done
    const ended = this.#endText(item, done)
    return (
      ended + this.#event('response.output_item.done', { output_index: item.index, item: done })
    )
  }

  #endText(item: Item, done: Fields): string {
    const { text, start } = item
    switch (start.kind) {
      case 'text':
      case 'refusal': {
        const isText = start.kind === 'text'
        const fields = isText ? { text, logprobs: [] } : { refusal: text }
        const type = isText ? 'response.output_text.done' : 'response.refusal.done'
        const part = contentPart(start.kind, text)
        return (
          this.#event(type, { ...place(item), ...fields }) +
          this.#event('response.content_part.done', { ...place(item), part })
        )
      }
      case 'reasoning': {
        if (!item.hasSummary) return ''
        const at = summaryPlace(item)
        const part = { type: 'summary_text', text }
        return (
          this.#event('response.reasoning_summary_text.done', { ...at, text }) +
          this.#event('response.reasoning_summary_part.done', { ...at, part })
        )
      }
      case 'toolCall': {
        const at = itemPlace(item)
        if (!item.isCustom) {
          const { name } = start
          const fields = { ...at, name, arguments: done['arguments'] }
          return this.#event('response.function_call_arguments.done', fields)
        }
        const { input } = done
        return (
          this.#event('response.custom_tool_call_input.delta', { ...at, delta: input }) +
          this.#event('response.custom_tool_call_input.done', { ...at, input })
        )
      }
    }
  }

  #item(item: Item, status: string): Fields {
    return writeItem(partOf(item), this.#request, item.base, status) as Fields
  }
}

/** The members of an item before its first delta. */
const EMPTY: Readonly<Record<BlockStart['kind'], Fields>> = {
  text: { content: [] },
  refusal: { content: [] },
  reasoning: { summary: [] },
  toolCall: { arguments: '' },
}

function partOf({ start, text, signature }: Item): Part {
  switch (start.kind) {
    case 'text':
    case 'refusal':
      return { kind: start.kind, text }
    case 'reasoning':
      return { kind: 'reasoning', text, signature, isRedacted: start.isRedacted }
    case 'toolCall':
      return { kind: 'toolCall', id: start.id, name: start.name, arguments: text }
  }
}

const PREFIXES: Readonly<Record<BlockStart['kind'], string>> = {
  text: 'msg_',
  refusal: 'msg_',
  reasoning: 'rs_',
  toolCall: 'fc_',
}

function itemPlace({ index, base, start, isCustom }: Item): Fields {
  return { item_id: `${isCustom ? 'ctc_' : PREFIXES[start.kind]}${base}`, output_index: index }
}

function place(item: Item): Fields {
  return { ...itemPlace(item), content_index: 0 }
}

function summaryPlace(item: Item): Fields {
  return { ...itemPlace(item), summary_index: 0 }
}
