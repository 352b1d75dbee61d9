import type { StreamReader } from '../../dialect.ts'
import type { FinishReason } from '../../neutral.ts'
import { type Fields, list, obj, str } from '../../reading.ts'
import { type EventHandler, type EventSink, sseStreamReader } from '../../sse-stream.ts'
import { errorFrom } from '../openai-errors.ts'
import { contentText, noteLost, readFinish, readUsage, reasoningText } from './response.ts'

type TextKind = 'text' | 'refusal' | 'reasoning'

export function readStream(): StreamReader {
  return sseStreamReader(new ChunkHandler())
}

class ChunkHandler implements EventHandler {
  #hasStarted = false
  #finish: FinishReason | undefined
  #text: { readonly kind: TextKind; readonly block: number } | undefined
  readonly #calls = new Map<number, { readonly block: number; readonly id: string }>()

  word(data: string, sink: EventSink): boolean {
    if (data !== '[DONE]') return false
    this.finish(sink)
    return true
  }

  event(chunk: Fields, sink: EventSink): void {
    if (chunk['error'] !== undefined && chunk['error'] !== null) {
      sink.fail(errorFrom(obj(chunk['error']), 0))
      return
    }
    if (!this.#hasStarted) {
      this.#hasStarted = true
      sink.emit({ kind: 'start', id: str(chunk['id']), model: str(chunk['model']) })
    }
    const usage = readUsage(chunk['usage'])
    if (usage !== undefined) sink.emit({ kind: 'usage', usage })
    for (const item of list(chunk['choices'])) {
      const choice = obj(item)
      if (choice['index'] !== undefined && choice['index'] !== 0) continue
      const delta = obj(choice['delta'])
      noteLost(choice, delta, sink.dropped)
      this.#write('reasoning', reasoningText(delta), sink)
      this.#write('text', contentText(delta['content']), sink)
      this.#write('refusal', str(delta['refusal']), sink)
      for (const call of list(delta['tool_calls'])) this.#call(obj(call), sink)
      const word = str(choice['finish_reason'])
      if (word !== '') this.#finish = readFinish(word)
    }
  }

  finish(sink: EventSink): void {
    if (this.#finish === undefined) return
    const hasCalls = this.#calls.size > 0
    sink.finish(this.#finish === 'stop' && hasCalls ? 'toolCalls' : this.#finish)
  }

  #write(kind: TextKind, text: string, sink: EventSink): void {
    if (text === '') return
    if (this.#text?.kind !== kind) {
      sink.close(this.#text?.block)
      const part = kind === 'reasoning' ? { kind, isRedacted: false } : { kind }
      this.#text = { kind, block: sink.open(part) }
    }
    sink.delta(this.#text.block, text)
  }

  /** Deltas of several calls may be interleaved, and only the first of each has its ID and name. */
  #call(call: Fields, sink: EventSink): void {
    const called = obj(call['function'])
    const id = str(call['id'])
    const index = typeof call['index'] === 'number' ? call['index'] : this.#indexOf(id)
    let open = this.#calls.get(index)
    if (open === undefined) {
      sink.close(this.#text?.block)
      this.#text = undefined
      const part = { kind: 'toolCall' as const, id: id || inventId(), name: str(called['name']) }
      open = { block: sink.open(part), id: part.id }
      this.#calls.set(index, open)
    }
    sink.delta(open.block, str(called['arguments']))
  }

  /** Gemini's compatibility layer omits the index: a different ID means a different call. */
  #indexOf(id: string): number {
    for (const [index, call] of this.#calls) if (call.id === id) return index
    return id === '' ? Math.max(0, this.#calls.size - 1) : this.#calls.size
  }
}

function inventId(): string {
  return `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
}
