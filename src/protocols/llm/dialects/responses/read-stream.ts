import type { StreamReader } from '../../dialect.ts'
import { type Fields, obj, str } from '../../reading.ts'
import { type EventHandler, type EventSink, sseStreamReader } from '../../sse-stream.ts'
import { errorFrom } from '../openai-errors.ts'
import { readFailure, readFinish, readUsage } from './response.ts'
import { joinSeal } from './write-request.ts'

export function readStream(maker: string): StreamReader {
  return sseStreamReader(new ResponseHandler(maker))
}

interface OpenItem {
  readonly block: number
  /** True once a delta has been received. */
  hasText: boolean
}

class ResponseHandler implements EventHandler {
  readonly #maker: string
  /** Items by position, and message parts by position within the item. */
  readonly #open = new Map<string, OpenItem>()
  #hasCalls = false

  constructor(maker: string) {
    this.#maker = maker
  }

  event(data: Fields, sink: EventSink): void {
    const item = String(data['output_index'])
    const part = `${item}:${String(data['content_index'])}`
    switch (data['type']) {
      case 'response.created': {
        const response = obj(data['response'])
        sink.emit({ kind: 'start', id: str(response['id']), model: str(response['model']) })
        return
      }
      case 'response.output_item.added':
        this.#addItem(item, obj(data['item']), sink)
        return
      case 'response.output_item.done':
        this.#endItem(item, obj(data['item']), sink)
        return
      case 'response.content_part.added': {
        const isRefusal = obj(data['part'])['type'] === 'refusal'
        this.#add(part, sink.open({ kind: isRefusal ? 'refusal' : 'text' }))
        return
      }
      case 'response.content_part.done':
        sink.close(this.#open.get(part)?.block)
        return
      case 'response.output_text.delta':
      case 'response.refusal.delta': {
        // Some compatible providers do not announce the parts of a message.
        const kind = data['type'] === 'response.refusal.delta' ? 'refusal' : 'text'
        if (!this.#open.has(part)) this.#add(part, sink.open({ kind }))
        this.#write(part, str(data['delta']), sink)
        return
      }
      case 'response.function_call_arguments.delta':
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        this.#write(item, str(data['delta']), sink)
        return
      case 'response.reasoning_summary_part.added':
        if (this.#open.get(item)?.hasText) this.#write(item, '\n\n', sink)
        return
      case 'response.output_text.annotation.added':
        sink.dropped.add('annotations')
        return
      case 'response.completed':
      case 'response.incomplete':
        this.#finish(obj(data['response']), sink)
        return
      case 'response.failed':
        sink.fail(readFailure(obj(data['response'])) ?? errorFrom({}, 0))
        return
      case 'error':
        // Both forms occur: the fields at the top level, and in a member.
        sink.fail(errorFrom('error' in data ? obj(data['error']) : data, 0))
        return
      default:
        sink.emit({ kind: 'ping' })
        return
    }
  }

  finish(): void {}

  #add(key: string, block: number): void {
    this.#open.set(key, { block, hasText: false })
  }

  #write(key: string, text: string, sink: EventSink): void {
    const open = this.#open.get(key)
    if (open === undefined || text === '') return
    open.hasText = true
    sink.delta(open.block, text)
  }

  #addItem(key: string, item: Fields, sink: EventSink): void {
    if (item['type'] === 'function_call') {
      this.#hasCalls = true
      const { call_id, name } = item
      this.#add(key, sink.open({ kind: 'toolCall', id: str(call_id), name: str(name) }))
    } else if (item['type'] === 'reasoning') {
      this.#add(key, sink.open({ kind: 'reasoning', isRedacted: false }))
    } else if (item['type'] !== 'message') sink.dropped.add(`output: ${str(item['type'])}`)
  }

  #endItem(key: string, item: Fields, sink: EventSink): void {
    const open = this.#open.get(key)
    if (open === undefined) return
    if (item['type'] === 'function_call' && !open.hasText) {
      this.#write(key, str(item['arguments']), sink)
    }
    const sealed = str(item['encrypted_content'])
    if (item['type'] === 'reasoning' && sealed !== '') {
      sink.sign(open.block, { maker: this.#maker, value: joinSeal(str(item['id']), sealed) })
    }
    sink.close(open.block)
  }

  #finish(response: Fields, sink: EventSink): void {
    sink.closeAll()
    const usage = readUsage(response['usage'])
    if (usage !== undefined) sink.emit({ kind: 'usage', usage })
    sink.emit({ kind: 'finish', reason: readFinish(response, this.#hasCalls) })
    sink.emit({ kind: 'end' })
  }
}
