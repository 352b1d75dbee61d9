import type { WireRequest, WriteOptions } from '../../dialect.ts'
import { encodeJson } from '../../json.ts'
import type {
  MediaPart,
  NeutralRequest,
  OutputFormat,
  Part,
  TextPart,
  Tool,
  ToolChoice,
} from '../../neutral.ts'
import { argumentsText, Dropped, dataUrl, fitCallId, textOf } from '../../parts.ts'
import { defined, reject } from '../../reading.ts'
import { CUSTOM_SCHEMA, effortOf } from '../completions/write-request.ts'

/** The provider rejects a lower limit. */
const MIN_OUTPUT_TOKENS = 16

export function writeRequest(request: NeutralRequest, options: WriteOptions): WireRequest {
  const dropped = new Dropped()
  dropped.add(...request.dropped)
  if (request.stop.length > 0) dropped.add('stop')
  dropped.addIfSet('top_k', request.topK)
  dropped.addIfSet('seed', request.seed)
  dropped.addIfSet('presence_penalty', request.presencePenalty || undefined)
  dropped.addIfSet('frequency_penalty', request.frequencyPenalty || undefined)
  const { system, maxTokens, reasoning } = request
  if (system.some(({ cache }) => cache !== undefined)) dropped.add('cache_control')
  if (maxTokens !== undefined && maxTokens < MIN_OUTPUT_TOKENS) dropped.add('max_tokens below 16')
  const effort = effortOf(reasoning)
  const reasons = reasoning !== undefined && reasoning.mode !== 'disabled' && effort !== undefined
  const body = defined({
    model: options.model,
    instructions: system.length > 0 ? textOf(system, '\n\n') : undefined,
    input: writeInput(request, options.maker, dropped),
    stream: options.stream ? true : undefined,
    // The provider must store nothing under an ID that the gateway does not keep.
    store: false,
    include: reasons ? ['reasoning.encrypted_content'] : undefined,
    max_output_tokens: maxTokens === undefined ? undefined : Math.max(MIN_OUTPUT_TOKENS, maxTokens),
    temperature: request.temperature,
    top_p: request.topP,
    tools: request.tools.length > 0 ? request.tools.map((it) => writeTool(it, dropped)) : undefined,
    tool_choice: request.tools.length > 0 ? writeToolChoice(request.toolChoice) : undefined,
    parallel_tool_calls: request.tools.length > 0 ? request.parallelTools : undefined,
    text: writeText(request.format, request.verbosity),
    reasoning:
      effort === undefined
        ? undefined
        : defined({ effort, summary: reasons && reasoning.isVisible ? 'auto' : undefined }),
    safety_identifier: request.user,
    service_tier: request.serviceTier,
    prompt_cache_key: request.promptCacheKey,
    metadata: request.metadata,
  })
  return {
    path: '/responses',
    headers: [['content-type', 'application/json']],
    body: encodeJson(body),
    dropped: dropped.names,
  }
}

function writeText(format: OutputFormat | undefined, verbosity: string | undefined): unknown {
  if (format === undefined && verbosity === undefined) return undefined
  if (format === undefined) return { verbosity }
  const written =
    format.kind === 'json'
      ? { type: 'json_object' }
      : defined({
          type: 'json_schema',
          name: format.name,
          description: format.description,
          schema: format.schema,
          strict: format.strict,
        })
  return defined({ format: written, verbosity })
}

function writeTool(tool: Tool, dropped: Dropped): unknown {
  if (tool.cache !== undefined) dropped.add('cache_control')
  return defined({
    type: 'function',
    name: tool.name,
    description: tool.description,
    parameters: tool.isCustom ? CUSTOM_SCHEMA : (tool.schema ?? EMPTY_SCHEMA),
    // Only this API is strict by default, and strict mode rejects most schemas.
    strict: tool.strict ?? false,
  })
}

const EMPTY_SCHEMA = { type: 'object', properties: {} }

function writeToolChoice(choice: ToolChoice | undefined): unknown {
  if (choice === undefined) return undefined
  if (choice.kind === 'tool') return { type: 'function', name: choice.name }
  return choice.kind === 'any' ? 'required' : choice.kind
}

function writeInput(request: NeutralRequest, maker: string, dropped: Dropped): readonly unknown[] {
  const items: unknown[] = []
  for (const { role, parts } of request.messages) {
    // Text and media stay together; calls, results and reasoning are separate items.
    let said: (TextPart | MediaPart)[] = []
    const flush = (): void => {
      if (said.length > 0) items.push({ role, content: writeContent(role, said, dropped) })
      said = []
    }
    for (const part of parts) {
      if ('cache' in part && part.cache !== undefined) dropped.add('cache_control')
      if (part.kind === 'refusal') said.push({ kind: 'text', text: part.text })
      else if (
        part.kind === 'toolCall' ||
        part.kind === 'toolResult' ||
        part.kind === 'reasoning'
      ) {
        flush()
        const item = writeItem(part, maker, dropped)
        if (item !== undefined) items.push(item)
      } else said.push(part)
    }
    flush()
  }
  return items
}

function writeContent(
  role: string,
  parts: readonly (TextPart | MediaPart)[],
  dropped: Dropped,
): unknown {
  if (parts.every(({ kind }) => kind === 'text')) {
    if (role !== 'user' || parts.length === 1) return textOf(parts)
  }
  if (role === 'assistant') {
    dropped.add('media of the assistant')
    return textOf(parts)
  }
  return parts.map(writePart)
}

function writeItem(
  part: Extract<Part, { readonly kind: 'toolCall' | 'toolResult' | 'reasoning' }>,
  maker: string,
  dropped: Dropped,
): unknown {
  if (part.kind === 'toolCall') {
    const { name } = part
    const call_id = fitCallId(part.id)
    return { type: 'function_call', call_id, name, arguments: argumentsText(part.arguments) }
  }
  if (part.kind === 'toolResult') {
    if (part.isError) dropped.add('tool_result.is_error')
    const isText = part.parts.every(({ kind }) => kind === 'text')
    const output = isText ? textOf(part.parts, '\n') : part.parts.map(writePart)
    return { type: 'function_call_output', call_id: fitCallId(part.id), output }
  }
  const { signature, text } = part
  if (signature === undefined || signature.maker !== maker || signature.value === '') {
    dropped.add('reasoning of earlier turns')
    return undefined
  }
  const { id, sealed } = splitSeal(signature.value)
  const summary = text === '' ? [] : [{ type: 'summary_text', text }]
  return defined({ type: 'reasoning', id, summary, encrypted_content: sealed })
}

/** A reasoning item is sent back with its ID, which is stored before the encrypted content. */
export function joinSeal(id: string, sealed: string): string {
  return `${id}|${sealed}`
}

function splitSeal(value: string): { readonly id: string | undefined; readonly sealed: string } {
  const at = value.indexOf('|')
  return at < 1
    ? { id: undefined, sealed: value.slice(at + 1) }
    : { id: value.slice(0, at), sealed: value.slice(at + 1) }
}

function writePart(part: TextPart | MediaPart): unknown {
  if (part.kind === 'text') return { type: 'input_text', text: part.text }
  const { source } = part
  if (source.kind === 'text') return { type: 'input_text', text: source.text }
  if (part.kind === 'image') {
    const image_url = source.kind === 'url' ? source.url : dataUrl(source.mediaType, source.data)
    return { type: 'input_image', image_url, detail: part.detail ?? 'auto' }
  }
  if (part.kind === 'audio') reject('Audio cannot be translated for this model.')
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url }
  const file_data = dataUrl(source.mediaType, source.data)
  return { type: 'input_file', filename: part.name ?? 'document', file_data }
}
