import type { WireRequest, WriteOptions } from '../../dialect.ts'
import { encodeJson } from '../../json.ts'
import type {
  MediaPart,
  Message,
  NeutralRequest,
  Part,
  Reasoning,
  TextPart,
  Tool,
  ToolChoice,
  ToolResultPart,
} from '../../neutral.ts'
import { argumentsText, Dropped, dataUrl, fitCallId, textOf } from '../../parts.ts'
import { defined, reject } from '../../reading.ts'

/** OpenAI's max length. */
const MAX_CALL_ID = 40

export function writeRequest(request: NeutralRequest, options: WriteOptions): WireRequest {
  const dropped = new Dropped()
  dropped.add(...request.dropped)
  dropped.addIfSet('top_k', request.topK)
  const { format } = request
  const body = defined({
    model: options.model,
    messages: writeMessages(request, dropped),
    stream: options.stream ? true : undefined,
    // Without it, a stream does not report its usage.
    stream_options: options.stream ? { include_usage: true } : undefined,
    max_completion_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop.length > 0 ? writeStop(request.stop, dropped) : undefined,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    seed: request.seed,
    response_format:
      format === undefined
        ? undefined
        : format.kind === 'json'
          ? { type: 'json_object' }
          : {
              type: 'json_schema',
              json_schema: defined({
                name: format.name,
                description: format.description,
                schema: format.schema,
                strict: format.strict,
              }),
            },
    tools: request.tools.length > 0 ? request.tools.map((it) => writeTool(it, dropped)) : undefined,
    tool_choice: writeToolChoice(request.toolChoice),
    parallel_tool_calls: request.tools.length > 0 ? request.parallelTools : undefined,
    reasoning_effort: effortOf(request.reasoning),
    safety_identifier: request.user,
    service_tier: request.serviceTier,
    verbosity: request.verbosity,
    prompt_cache_key: request.promptCacheKey,
    metadata: request.metadata,
  })
  return {
    path: '/chat/completions',
    headers: [['content-type', 'application/json']],
    body: encodeJson(body),
    dropped: dropped.names,
  }
}

function writeStop(stop: readonly string[], dropped: Dropped): readonly string[] {
  if (stop.length > 4) dropped.add('stop_sequences[4]')
  return stop.slice(0, 4)
}

/** Maps a token budget to an effort level, with the bounds that vendors suggest. */
export function effortOf(reasoning: Reasoning | undefined): string | undefined {
  if (reasoning === undefined) return undefined
  if (reasoning.effort !== undefined) return reasoning.effort
  if (reasoning.mode !== 'enabled' || reasoning.budget === undefined) return undefined
  if (reasoning.budget < 4096) return 'low'
  return reasoning.budget < 16_384 ? 'medium' : 'high'
}

/** The argument schema of a function that accepts free text. */
export const CUSTOM_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

function writeTool(tool: Tool, dropped: Dropped): unknown {
  if (tool.cache !== undefined) dropped.add('cache_control')
  const described = tool.isCustom
    ? { name: tool.name, description: tool.description, parameters: CUSTOM_SCHEMA }
    : {
        name: tool.name,
        description: tool.description,
        parameters: tool.schema,
        strict: tool.strict,
      }
  return { type: 'function', function: defined(described) }
}

function writeToolChoice(choice: ToolChoice | undefined): unknown {
  if (choice === undefined) return undefined
  if (choice.kind === 'tool') return { type: 'function', function: { name: choice.name } }
  return choice.kind === 'any' ? 'required' : choice.kind
}

function writeMessages({ system, messages }: NeutralRequest, dropped: Dropped): readonly unknown[] {
  const written: unknown[] = []
  for (const { text, cache } of system) {
    if (cache !== undefined) dropped.add('cache_control')
    written.push({ role: 'system', content: text })
  }
  for (const message of messages) {
    if (message.role === 'assistant') written.push(writeAssistant(message.parts, dropped))
    else writeOther(message, written, dropped)
  }
  return written
}

/** Writes one message per tool result, which must directly follow the call, then other parts. */
function writeOther({ role, parts }: Message, written: unknown[], dropped: Dropped): void {
  const others: (TextPart | MediaPart)[] = []
  for (const part of parts) {
    if (part.kind === 'toolResult') {
      const { message, media } = writeToolResult(part, dropped)
      written.push(message)
      others.push(...media)
    } else if (part.kind !== 'toolCall' && part.kind !== 'reasoning' && part.kind !== 'refusal') {
      others.push(part)
    }
  }
  if (others.length === 0) return
  const [only] = others
  if (role === 'system') written.push({ role, content: textOf(others, '\n\n') })
  else if (others.length === 1 && only?.kind === 'text' && only.cache === undefined) {
    written.push({ role, content: only.text })
  } else written.push({ role, content: others.map((part) => writePart(part, dropped)) })
}

function writeToolResult(
  result: ToolResultPart,
  dropped: Dropped,
): { readonly message: unknown; readonly media: readonly (TextPart | MediaPart)[] } {
  if (result.isError) dropped.add('tool_result.is_error')
  if (result.cache !== undefined) dropped.add('cache_control')
  const id = fitCallId(result.id, MAX_CALL_ID)
  const media = result.parts.filter((part) => part.kind !== 'text')
  const message = { role: 'tool', tool_call_id: id, content: textOf(result.parts, '\n') }
  if (media.length === 0) return { message, media }
  // Results are text here: media that a tool returns follows them, as if sent by the user.
  const caption: TextPart = { kind: 'text', text: `Returned by tool call ${id}:` }
  return { message, media: [caption, ...media] }
}

function writePart(part: TextPart | MediaPart, dropped: Dropped): unknown {
  if (part.cache !== undefined) dropped.add('cache_control')
  if (part.kind === 'text') return { type: 'text', text: part.text }
  const { source } = part
  if (source.kind === 'text') return { type: 'text', text: source.text }
  if (part.kind === 'image') {
    const url = source.kind === 'url' ? source.url : dataUrl(source.mediaType, source.data)
    return { type: 'image_url', image_url: defined({ url, detail: part.detail }) }
  }
  if (source.kind === 'url') {
    reject('A document URL cannot be translated for this model; send the data of the document.')
  }
  if (part.kind === 'audio') {
    const format = source.mediaType.replace(/^audio\/(x-)?/, '')
    return { type: 'input_audio', input_audio: { data: source.data, format } }
  }
  const file = {
    filename: part.name ?? 'document',
    file_data: dataUrl(source.mediaType, source.data),
  }
  return { type: 'file', file }
}

function writeAssistant(parts: readonly Part[], dropped: Dropped): unknown {
  const calls: unknown[] = []
  const texts: string[] = []
  let refusal: string | undefined
  for (const part of parts) {
    if (part.kind === 'text') texts.push(part.text)
    else if (part.kind === 'refusal') refusal = part.text
    else if (part.kind === 'reasoning') dropped.add('reasoning of earlier turns')
    else if (part.kind === 'toolCall') {
      const id = fitCallId(part.id, MAX_CALL_ID)
      const called = { name: part.name, arguments: argumentsText(part.arguments) }
      calls.push({ id, type: 'function', function: called })
    } else dropped.add(`${part.kind} of the assistant`)
    if ('cache' in part && part.cache !== undefined) dropped.add('cache_control')
  }
  const content =
    texts.length > 0 ? texts.join('') : calls.length > 0 || refusal !== undefined ? null : ''
  return defined({
    role: 'assistant',
    content,
    refusal,
    tool_calls: calls.length > 0 ? calls : undefined,
  })
}
