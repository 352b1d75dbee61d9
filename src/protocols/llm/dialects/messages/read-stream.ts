import type { StreamReader } from '../../dialect.ts'
import { type Fields, obj, str } from '../../reading.ts'
import { type EventHandler, type EventSink, sseStreamReader } from '../../sse-stream.ts'
import type { Usage } from '../../usage.ts'
import { anthropicErrorFrom } from './errors.ts'
import { mergeUsage, PAUSED, readStop, readUsage } from './response.ts'

export function readStream(maker: string): StreamReader {
  return sseStreamReader(new MessageHandler(maker))
}

class MessageHandler implements EventHandler {
  readonly #maker: string
  readonly #blocks = new Map<unknown, number>()
  /** Arguments sent with the start of a call; they count if no deltas follow. */
  readonly #inputs = new Map<number, string>()
  #usage: Usage | undefined

  constructor(maker: string) {
    this.#maker = maker
  }

  event(data: Fields, sink: EventSink): void {
    switch (data['type']) {
      case 'message_start': {
        const message = obj(data['message'])
        const usage = readUsage(message['usage'])
        this.#usage = usage
        const head = { id: str(message['id']), model: str(message['model']) }
        sink.emit({ kind: 'start', ...head, ...(usage !== undefined && { usage }) })
        return
      }
      case 'content_block_start':
        this.#start(data['index'], obj(data['content_block']), sink)
        return
      case 'content_block_delta':
        this.#delta(this.#blocks.get(data['index']), obj(data['delta']), sink)
        return
      case 'content_block_stop': {
        const block = this.#blocks.get(data['index'])
        if (block !== undefined) sink.delta(block, this.#inputs.get(block) ?? '')
        sink.close(block)
        return
      }
      case 'message_delta':
        this.#finish(data, sink)
        return
      case 'message_stop':
        sink.emit({ kind: 'end' })
        return
      case 'error':
        sink.fail(anthropicErrorFrom(obj(data['error']), 0))
        return
      default:
        // Pings, and events added by later versions.
        sink.emit({ kind: 'ping' })
        return
    }
  }

  finish(): void {}

  #start(index: unknown, block: Fields, sink: EventSink): void {
    switch (block['type']) {
      case 'text': {
        const opened = sink.open({ kind: 'text' })
        this.#blocks.set(index, opened)
        sink.delta(opened, str(block['text']))
        return
      }
      case 'thinking':
        this.#blocks.set(index, sink.open({ kind: 'reasoning', isRedacted: false }))
        return
      case 'redacted_thinking': {
        const opened = sink.open({ kind: 'reasoning', isRedacted: true })
        this.#blocks.set(index, opened)
        sink.sign(opened, { maker: this.#maker, value: str(block['data']) })
        return
      }
      case 'tool_use': {
        const { id, name, input } = block
        const opened = sink.open({ kind: 'toolCall', id: str(id), name: str(name) })
        this.#blocks.set(index, opened)
        if (Object.keys(obj(input)).length > 0) this.#inputs.set(opened, JSON.stringify(input))
        return
      }
      default:
        sink.dropped.add(`content: ${str(block['type'])}`)
    }
  }

  #delta(block: number | undefined, delta: Fields, sink: EventSink): void {
    if (block === undefined) return
    switch (delta['type']) {
      case 'text_delta':
        sink.delta(block, str(delta['text']))
        return
      case 'input_json_delta':
        if (delta['partial_json'] !== '') this.#inputs.delete(block)
        sink.delta(block, str(delta['partial_json']))
        return
      case 'thinking_delta':
        sink.delta(block, str(delta['thinking']))
        return
      case 'signature_delta': {
        sink.sign(block, { maker: this.#maker, value: str(delta['signature']) })
        return
      }
      case 'citations_delta':
        sink.dropped.add('citations')
    }
  }

  #finish(data: Fields, sink: EventSink): void {
    const usage = readUsage(data['usage'])
    if (usage !== undefined) {
      this.#usage = mergeUsage(this.#usage, usage)
      sink.emit({ kind: 'usage', usage: this.#usage })
    }
    const delta = obj(data['delta'])
    const word = str(delta['stop_reason'])
    if (word === '') return
    const reason = readStop(word)
    if (reason === undefined) {
      sink.fail(PAUSED)
      return
    }
    sink.closeAll()
    const stopSequence = str(delta['stop_sequence'])
    sink.emit({ kind: 'finish', reason, ...(stopSequence !== '' && { stopSequence }) })
  }
}
