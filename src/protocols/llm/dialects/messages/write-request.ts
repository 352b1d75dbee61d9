import type { WireRequest, WriteOptions } from '../../dialect.ts'
import type { Header } from '../../error.ts'
import { decodeUtf8, encodeJson } from '../../json.ts'
import type {
  CacheMark,
  MediaPart,
  NeutralRequest,
  Part,
  TextPart,
  Tool,
  ToolChoice,
} from '../../neutral.ts'
import { argumentsObject, Dropped, fitCallId } from '../../parts.ts'
import { defined, reject } from '../../reading.ts'
import { arrangeTurns } from '../../turns.ts'
import { CUSTOM_SCHEMA } from '../completions/write-request.ts'
import { planThinking } from './thinking.ts'

/** The last version that accepts sampling parameters, and the first that rejects them. */
const WITH_SAMPLING = '2023-06-01'
const CURRENT = '2026-10-21'

export function writeRequest(request: NeutralRequest, options: WriteOptions): WireRequest {
  const dropped = new Dropped()
  dropped.add(...request.dropped)
  const plan = planThinking(request, options, dropped)
  const sampling = writeSampling(request, plan.thinking !== undefined, dropped)
  const version = Object.keys(sampling).length > 0 ? WITH_SAMPLING : CURRENT
  dropped.addIfSet('presence_penalty', request.presencePenalty || undefined)
  dropped.addIfSet('frequency_penalty', request.frequencyPenalty || undefined)
  dropped.addIfSet('seed', request.seed)
  dropped.addIfSet('verbosity', request.verbosity)
  dropped.addIfSet('prompt_cache_key', request.promptCacheKey)
  dropped.addIfSet('metadata', request.metadata)
  if (request.format?.kind === 'json') dropped.add('response_format: json_object')
  const { maker } = options
  const turns = arrangeTurns(request, { maker, hasSystemRole: version === CURRENT }, dropped)
  const body = defined({
    model: options.model,
    max_tokens: plan.maxTokens,
    system: turns.system.length > 0 ? turns.system.map(writeText) : undefined,
    messages: turns.messages.map(({ role, parts }) => ({
      role,
      content: parts.flatMap((part) => writePart(part) ?? []),
    })),
    ...sampling,
    stop_sequences: writeStop(request.stop, dropped),
    stream: options.stream ? true : undefined,
    thinking: plan.thinking,
    output_config: writeOutputConfig(request, plan.effort),
    tools: request.tools.length > 0 ? request.tools.map(writeTool) : undefined,
    tool_choice: writeToolChoice(request),
    metadata: request.user === undefined ? undefined : { user_id: request.user },
    service_tier: writeTier(request.serviceTier, dropped),
  })
  const headers: Header[] = [
    ['content-type', 'application/json'],
    ['anthropic-version', version],
  ]
  return { path: '/messages', headers, body: encodeJson(body), dropped: dropped.names }
}

/**
 * Temperatures range from 0 to 1 here and to 2 elsewhere. No sampling parameter may be set together
 * with thinking, and newer models accept temperature or top_p, not both.
 */
function writeSampling(
  request: NeutralRequest,
  isThinking: boolean,
  dropped: Dropped,
): Record<string, number> {
  const { temperature, topP, topK } = request
  const sampling: Record<string, number> = {}
  if (isThinking) {
    if (temperature !== undefined && temperature !== 1) dropped.add('temperature')
    if (topP !== undefined && topP !== 1) dropped.add('top_p')
    dropped.addIfSet('top_k', topK)
    return sampling
  }
  if (temperature !== undefined) {
    if (temperature > 1) dropped.add('temperature above 1')
    sampling['temperature'] = Math.min(temperature, 1)
  }
  if (topP !== undefined) {
    if (temperature === undefined) sampling['top_p'] = topP
    else if (topP !== 1) dropped.add('top_p')
  }
  if (topK !== undefined) sampling['top_k'] = topK
  return sampling
}

function writeStop(stop: readonly string[], dropped: Dropped): readonly string[] | undefined {
  const kept = stop.filter((text) => text.trim() !== '')
  if (kept.length < stop.length) dropped.add('stop of white space')
  return kept.length > 0 ? kept : undefined
}

function writeTier(tier: string | undefined, dropped: Dropped): string | undefined {
  if (tier === undefined || tier === 'auto') return undefined
  if (tier === 'default') return 'standard_only'
  dropped.add('service_tier')
  return undefined
}

function writeOutputConfig({ format }: NeutralRequest, effort: string | undefined): unknown {
  const schema = format?.kind === 'schema' ? format.schema : undefined
  if (schema === undefined && effort === undefined) return undefined
  return defined({
    effort,
    format: schema === undefined ? undefined : { type: 'json_schema', schema },
  })
}

function writeTool(tool: Tool): unknown {
  return defined({
    name: tool.name,
    description: tool.description,
    input_schema: tool.isCustom
      ? CUSTOM_SCHEMA
      : { type: 'object', properties: {}, ...tool.schema },
    strict: tool.strict === true ? true : undefined,
    cache_control: writeCache(tool.cache),
  })
}

function writeToolChoice({ tools, toolChoice, parallelTools }: NeutralRequest): unknown {
  if (tools.length === 0) return undefined
  const isSingle = parallelTools === false
  if (toolChoice === undefined && !isSingle) return undefined
  const choice: ToolChoice = toolChoice ?? { kind: 'auto' }
  if (choice.kind === 'none') return { type: 'none' }
  return defined({
    type: choice.kind,
    name: choice.kind === 'tool' ? choice.name : undefined,
    disable_parallel_tool_use: isSingle ? true : undefined,
  })
}

function writeCache(cache: CacheMark | undefined): unknown {
  return cache === undefined ? undefined : defined({ type: 'ephemeral', ttl: cache.ttl })
}

function writeText({ text, cache }: TextPart): unknown {
  return defined({ type: 'text', text, cache_control: writeCache(cache) })
}

function writePart(part: Part): unknown {
  switch (part.kind) {
    case 'text':
      return part.text.trim() === '' ? undefined : writeText(part)
    case 'refusal':
      return { type: 'text', text: part.text }
    case 'toolCall':
      return defined({
        type: 'tool_use',
        id: fitCallId(part.id),
        name: part.name,
        input: argumentsObject(part.arguments),
        cache_control: writeCache(part.cache),
      })
    case 'toolResult': {
      const content = part.parts.flatMap((inner) => writePart(inner) ?? [])
      return defined({
        type: 'tool_result',
        tool_use_id: fitCallId(part.id),
        content: content.length > 0 ? content : undefined,
        is_error: part.isError ? true : undefined,
        cache_control: writeCache(part.cache),
      })
    }
    case 'reasoning': {
      const value = part.signature?.value
      return part.isRedacted
        ? { type: 'redacted_thinking', data: value }
        : { type: 'thinking', thinking: part.text, signature: value }
    }
    default:
      return writeMedia(part)
  }
}

function writeMedia({ kind, source, name, cache }: MediaPart): unknown {
  if (kind === 'audio') reject('Audio cannot be translated for this model.')
  const cache_control = writeCache(cache)
  const title = kind === 'document' ? name : undefined
  if (source.kind === 'url') {
    return defined({ type: kind, source: { type: 'url', url: source.url }, title, cache_control })
  }
  if (source.kind === 'text' || source.mediaType.startsWith('text/')) {
    const data = source.kind === 'text' ? source.text : decodeBase64(source.data)
    const plain = { type: 'text', media_type: 'text/plain', data }
    return defined({ type: 'document', source: plain, title, cache_control })
  }
  if (kind === 'document' && source.mediaType !== 'application/pdf') {
    reject(`Documents of type ${source.mediaType} cannot be translated for this model.`)
  }
  const bytes = { type: 'base64', media_type: source.mediaType, data: source.data }
  return defined({ type: kind, source: bytes, title, cache_control })
}

function decodeBase64(data: string): string {
  try {
    const text = atob(data)
    return decodeUtf8(Uint8Array.from(text, (letter) => letter.charCodeAt(0))) ?? text
  } catch {
    return reject('The file data is not valid base64.')
  }
}
