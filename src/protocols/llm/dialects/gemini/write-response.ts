import { renderSse } from '../../../sse.ts'
import type { StreamWriter, WireResponse } from '../../dialect.ts'
import type { LlmError } from '../../error.ts'
import { encodeJson } from '../../json.ts'
import type {
  BlockStart,
  FinishReason,
  NeutralRequest,
  NeutralResponse,
  Signature,
  StreamEvent,
} from '../../neutral.ts'
import { argumentsObject, Dropped } from '../../parts.ts'
import { defined, type Fields } from '../../reading.ts'
import type { Usage } from '../../usage.ts'
import { SSE_HEADERS } from '../completions/write-stream.ts'
import { writeSealed } from './sealed.ts'

const ENCODER = new TextEncoder()
const NO_BYTES = new Uint8Array(0)

const FINISH_WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  stopSequence: 'STOP',
  toolCalls: 'STOP',
  length: 'MAX_TOKENS',
  contentFilter: 'SAFETY',
}

function writeUsage({ input, output, total, cacheRead, reasoning }: Usage): Fields {
  return defined({
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: total,
    cachedContentTokenCount: cacheRead || undefined,
    thoughtsTokenCount: reasoning || undefined,
  })
}

interface Head {
  readonly id: string
  readonly model: string
}

function responseOf(
  { id, model }: Head,
  parts: readonly Fields[],
  finish?: FinishReason,
  usage?: Usage,
): Fields {
  const finishReason = finish === undefined ? undefined : FINISH_WORDS[finish]
  return defined({
    candidates: [defined({ content: { parts, role: 'model' }, finishReason, index: 0 })],
    usageMetadata: usage === undefined ? undefined : writeUsage(usage),
    modelVersion: model,
    responseId: id,
  })
}

/** The parts of a response: the signature of a thought is on the part that follows it. */
class PartWriter {
  #signature: Signature | undefined

  sign(signature: Signature): readonly Fields[] {
    const before = this.end()
    this.#signature = signature
    return before
  }

  part(part: Fields): Fields {
    const signature = this.#signature
    this.#signature = undefined
    return signature === undefined ? part : { ...part, thoughtSignature: writeSealed(signature) }
  }

  /** A signature without a part to follow has one of its own. */
  end(): readonly Fields[] {
    return this.#signature === undefined ? [] : [this.part({ text: '' })]
  }
}

function callPart(id: string, name: string, text: string): Fields {
  return { functionCall: { id, name, args: argumentsObject(text) } }
}

export function writeResponse(response: NeutralResponse, request: NeutralRequest): WireResponse {
  const dropped = new Dropped()
  dropped.add(...response.dropped)
  const writer = new PartWriter()
  const parts: Fields[] = []
  for (const part of response.parts) {
    if (part.kind === 'reasoning') {
      if (part.text !== '') parts.push(...writer.end(), { text: part.text, thought: true })
      if (part.signature !== undefined) parts.push(...writer.sign(part.signature))
    } else if (part.kind === 'toolCall') {
      parts.push(writer.part(callPart(part.id, part.name, part.arguments)))
    } else if (part.kind === 'text' || part.kind === 'refusal') {
      parts.push(writer.part({ text: part.text }))
    }
  }
  parts.push(...writer.end())
  const head = { id: response.id, model: response.model || request.model }
  return {
    headers: [['content-type', 'application/json']],
    body: encodeJson(responseOf(head, parts, response.finish, response.usage)),
    dropped: dropped.names,
  }
}

export function writeStream(
  request: NeutralRequest,
  errorOf: (error: LlmError) => Fields,
): StreamWriter {
  return new CandidateWriter(request, errorOf)
}

interface OpenBlock {
  readonly part: BlockStart
  arguments: string
}

/** Each event is a response with some parts; the last one has the reason why it is the last. */
class CandidateWriter implements StreamWriter {
  readonly headers = SSE_HEADERS
  readonly dropped: readonly string[] = []
  readonly #errorOf: (error: LlmError) => Fields
  readonly #blocks = new Map<number, OpenBlock>()
  readonly #parts = new PartWriter()
  #head: Head
  #usage: Usage | undefined
  #finish: FinishReason = 'stop'

  constructor({ model }: NeutralRequest, errorOf: (error: LlmError) => Fields) {
    this.#head = { id: '', model }
    this.#errorOf = errorOf
  }

  push(event: StreamEvent): Uint8Array {
    const said = this.#responseTo(event)
    return said === undefined ? NO_BYTES : ENCODER.encode(renderSse(JSON.stringify(said)))
  }

  #responseTo(event: StreamEvent): Fields | undefined {
    switch (event.kind) {
      case 'start':
        this.#head = { id: event.id, model: event.model || this.#head.model }
        this.#usage = event.usage
        return undefined
      case 'blockStart':
        this.#blocks.set(event.block, { part: event.part, arguments: '' })
        return undefined
      case 'delta':
        return this.#delta(event.block, event.text)
      case 'signature':
        return this.#some(this.#parts.sign(event.signature))
      case 'blockEnd':
        return this.#end(event.block)
      case 'usage':
        this.#usage = event.usage
        return undefined
      case 'finish':
        this.#finish = event.reason
        return undefined
      // Clients of this API read no comments.
      case 'ping':
        return undefined
      case 'error':
        return this.#errorOf(event.error)
      case 'end':
        return responseOf(this.#head, this.#parts.end(), this.#finish, this.#usage)
    }
  }

  #delta(block: number, text: string): Fields | undefined {
    const open = this.#blocks.get(block)
    if (open === undefined || text === '') return undefined
    if (open.part.kind === 'toolCall') {
      open.arguments += text
      return undefined
    }
    if (open.part.kind === 'reasoning') {
      return this.#some([...this.#parts.end(), { text, thought: true }])
    }
    return this.#some([this.#parts.part({ text })])
  }

  #end(block: number): Fields | undefined {
    const open = this.#blocks.get(block)
    this.#blocks.delete(block)
    if (open?.part.kind !== 'toolCall') return undefined
    const { id, name } = open.part
    return this.#some([this.#parts.part(callPart(id, name, open.arguments))])
  }

  #some(parts: readonly Fields[]): Fields | undefined {
    return parts.length === 0 ? undefined : responseOf(this.#head, parts)
  }
}
