import { renderSse } from '../../../sse.ts'
import type { StreamWriter } from '../../dialect.ts'
import type { LlmError } from '../../error.ts'
import type { BlockStart, FinishReason, NeutralRequest, StreamEvent } from '../../neutral.ts'
import { fitCallId } from '../../parts.ts'
import type { Fields } from '../../reading.ts'
import { markSignature } from '../../signatures.ts'
import { NO_USAGE, type Usage } from '../../usage.ts'
import { SSE_HEADERS } from '../completions/write-stream.ts'
import { anthropicError } from './errors.ts'
import { messageHead, STOP_WORDS, UNSIGNED, writeUsage } from './response.ts'

const ENCODER = new TextEncoder()
const NO_BYTES = new Uint8Array(0)

export function writeStreamError(error: LlmError): Uint8Array {
  return ENCODER.encode(render(anthropicError(error)))
}

export function writeStream(request: NeutralRequest): StreamWriter {
  return new MessageWriter(request)
}

function render(event: Fields): string {
  return renderSse(JSON.stringify(event), String(event['type']))
}

/** Only one block is open at a time: deltas of other blocks wait until it ends. */
class MessageWriter implements StreamWriter {
  readonly headers = SSE_HEADERS
  readonly dropped: readonly string[] = []
  readonly #request: NeutralRequest
  readonly #waiting = new Map<number, StreamEvent[]>()
  #open: { readonly block: number; readonly part: BlockStart } | undefined
  #index = -1
  #isSigned = false
  #usage: Usage = NO_USAGE
  #finish: FinishReason = 'stop'
  #stopSequence: string | null = null

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
        this.#usage = event.usage ?? NO_USAGE
        return this.#start(event.id, event.model)
      case 'blockStart':
      case 'delta':
      case 'signature':
      case 'blockEnd':
        return this.#inTurn(event)
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'finish':
        this.#finish = event.reason
        this.#stopSequence = event.stopSequence ?? null
        return ''
      case 'ping':
        return render({ type: 'ping' })
      case 'error':
        return render(anthropicError(event.error))
      case 'end':
        return this.#end()
    }
  }

  #start(id: string, model: string): string {
    const head = messageHead(id, model || this.#request.model)
    return render({ type: 'message_start', message: { ...head, usage: writeUsage(this.#usage) } })
  }

  #inTurn(event: Extract<StreamEvent, { readonly block: number }>): string {
    const { block } = event
    if (this.#open !== undefined && this.#open.block !== block) {
      const events = this.#waiting.get(block)
      if (events === undefined) this.#waiting.set(block, [event])
      else events.push(event)
      return ''
    }
    let text = this.#write(event)
    while (this.#open === undefined && this.#waiting.size > 0) {
      const [next, events] = this.#waiting.entries().next().value as [number, StreamEvent[]]
      this.#waiting.delete(next)
      for (const held of events) text += this.#write(held as typeof event)
    }
    return text
  }

  #write(event: Extract<StreamEvent, { readonly block: number }>): string {
    switch (event.kind) {
      case 'blockStart':
        this.#open = event
        this.#index++
        this.#isSigned = false
        return this.#startBlock(event.part)
      case 'delta':
        return this.#delta(event.text)
      case 'signature': {
        this.#isSigned = true
        const signature = markSignature(event.signature)
        return this.#isRedacted()
          ? this.#startWith({ type: 'redacted_thinking', data: signature })
          : this.#deltaWith({ type: 'signature_delta', signature })
      }
      case 'blockEnd': {
        const isBare = this.#open?.part.kind === 'reasoning' && !this.#isSigned
        // Every reasoning block needs a signature, regardless of its maker.
        const signed = isBare ? this.#unsigned() : ''
        this.#open = undefined
        return signed + render({ type: 'content_block_stop', index: this.#index })
      }
    }
  }

  #unsigned(): string {
    return this.#isRedacted()
      ? this.#startWith({ type: 'redacted_thinking', data: UNSIGNED })
      : this.#deltaWith({ type: 'signature_delta', signature: UNSIGNED })
  }

  #isRedacted(): boolean {
    const part = this.#open?.part
    return part?.kind === 'reasoning' && part.isRedacted
  }

  #startBlock(part: BlockStart): string {
    if (part.kind === 'toolCall') {
      const { name } = part
      return this.#startWith({ type: 'tool_use', id: fitCallId(part.id), name, input: {} })
    }
    if (part.kind !== 'reasoning') return this.#startWith({ type: 'text', text: '' })
    // Encrypted content is sent in the start event only, which therefore waits for the signature.
    if (part.isRedacted) return ''
    return this.#startWith({ type: 'thinking', thinking: '', signature: '' })
  }

  #delta(text: string): string {
    const kind = this.#open?.part.kind
    if (kind === 'toolCall')
      return this.#deltaWith({ type: 'input_json_delta', partial_json: text })
    if (kind === 'reasoning') return this.#deltaWith({ type: 'thinking_delta', thinking: text })
    return this.#deltaWith({ type: 'text_delta', text })
  }

  #startWith(block: Fields): string {
    return render({ type: 'content_block_start', index: this.#index, content_block: block })
  }

  #deltaWith(delta: Fields): string {
    return render({ type: 'content_block_delta', index: this.#index, delta })
  }

  #end(): string {
    const delta = {
      stop_reason: STOP_WORDS[this.#finish],
      stop_sequence: this.#stopSequence,
      stop_details: null,
      container: null,
    }
    const last = { type: 'message_delta', delta, usage: writeUsage(this.#usage) }
    return render(last) + render({ type: 'message_stop' })
  }
}
