import type { WireRequest, WriteOptions } from '../../dialect.ts'
import { encodeJson } from '../../json.ts'
import type {
  CacheMark,
  MediaPart,
  NeutralRequest,
  OutputFormat,
  Part,
  Tool,
} from '../../neutral.ts'
import { argumentsObject, Dropped, fitCallId } from '../../parts.ts'
import { defined, type Fields, reject } from '../../reading.ts'
import { arrangeTurns } from '../../turns.ts'
import { CUSTOM_SCHEMA } from '../completions/write-request.ts'
import { planThinking } from '../messages/thinking.ts'

export function writeRequest(request: NeutralRequest, options: WriteOptions): WireRequest {
  const dropped = new Dropped()
  dropped.add(...request.dropped)
  dropped.addIfSet('presence_penalty', request.presencePenalty || undefined)
  dropped.addIfSet('frequency_penalty', request.frequencyPenalty || undefined)
  dropped.addIfSet('seed', request.seed)
  dropped.addIfSet('user', request.user)
  dropped.addIfSet('verbosity', request.verbosity)
  dropped.addIfSet('prompt_cache_key', request.promptCacheKey)
  dropped.addIfSet('metadata', request.metadata)
  if (request.parallelTools === false) dropped.add('parallel_tool_calls')
  if (request.format?.kind === 'json') dropped.add('response_format: json_object')
  const extra = writeModelFields(request, options, dropped)
  const { maker } = options
  const { system, messages } = arrangeTurns(request, { maker, hasSystemRole: false }, dropped)
  const names = new DocumentNames()
  const body = defined({
    system:
      system.length > 0
        ? system.flatMap(({ text, cache }) => [{ text }, ...writeCache(cache)])
        : undefined,
    messages: messages.map(({ role, parts }) => ({
      role,
      content: parts.flatMap((part) => writePart(part, names)),
    })),
    inferenceConfig: writeInference(request, extra, dropped),
    toolConfig: writeTools(request, dropped),
    additionalModelRequestFields: extra.fields,
    outputConfig: writeOutput(request.format, extra.effort),
    serviceTier: writeTier(request.serviceTier, dropped),
  })
  // A name of dots alone would lead to another path, encoded or not.
  if (/^\.*$/.test(options.model))
    reject('`model` contains characters that are not allowed in a path.', 'model')
  const call = options.stream ? 'converse-stream' : 'converse'
  return {
    path: `/model/${encodeURIComponent(options.model)}/${call}`,
    headers: [['content-type', 'application/json']],
    body: encodeJson(body),
    dropped: dropped.names,
  }
}

interface ModelFields {
  readonly fields?: Fields | undefined
  readonly effort?: string | undefined
  readonly maxTokens?: number | undefined
  readonly isThinking: boolean
  readonly isAnthropic: boolean
}

/** Fields for one vendor's models in addition to common ones: Anthropic's thinking and top_k. */
function writeModelFields(
  request: NeutralRequest,
  options: WriteOptions,
  dropped: Dropped,
): ModelFields {
  const { maxTokens, topK, reasoning } = request
  const wantsThinking = reasoning !== undefined && reasoning.mode !== 'disabled'
  if (!/anthropic|claude/.test(options.model)) {
    dropped.addIfSet('top_k', topK)
    if (wantsThinking) dropped.add('reasoning')
    return { maxTokens, isThinking: false, isAnthropic: false }
  }
  const plan = planThinking(request, options, dropped)
  const isThinking = plan.thinking !== undefined
  if (isThinking) dropped.addIfSet('top_k', topK)
  const fields = defined({ thinking: plan.thinking, top_k: isThinking ? undefined : topK })
  return {
    fields: Object.keys(fields).length > 0 ? fields : undefined,
    effort: plan.effort,
    maxTokens: isThinking ? plan.maxTokens : maxTokens,
    isThinking,
    isAnthropic: true,
  }
}

function writeInference(
  { temperature, topP, stop }: NeutralRequest,
  { maxTokens, isThinking, isAnthropic }: ModelFields,
  dropped: Dropped,
): unknown {
  if (isThinking) {
    if (temperature !== undefined && temperature !== 1) dropped.add('temperature')
    if (topP !== undefined && topP !== 1) dropped.add('top_p')
  } else if (temperature !== undefined && temperature > 1) dropped.add('temperature above 1')
  // Newer Anthropic models accept only one of the two.
  const isSecond = isAnthropic && temperature !== undefined
  if (isSecond && topP !== undefined && topP !== 1) dropped.add('top_p')
  const config = defined({
    maxTokens,
    temperature: isThinking || temperature === undefined ? undefined : Math.min(1, temperature),
    topP: isThinking || isSecond ? undefined : topP,
    stopSequences: stop.length > 0 ? stop : undefined,
  })
  return Object.keys(config).length > 0 ? config : undefined
}

function writeOutput(format: OutputFormat | undefined, effort: string | undefined): unknown {
  if (format?.kind !== 'schema') return effort === undefined ? undefined : { effort }
  const { name, description } = format
  const jsonSchema = defined({ schema: JSON.stringify(format.schema), name, description })
  return defined({ textFormat: { type: 'json_schema', structure: { jsonSchema } }, effort })
}

function writeTier(tier: string | undefined, dropped: Dropped): unknown {
  if (tier === undefined || tier === 'auto') return undefined
  if (tier === 'default' || tier === 'flex' || tier === 'priority') return { type: tier }
  dropped.add('service_tier')
  return undefined
}

function writeCache(cache: CacheMark | undefined): readonly unknown[] {
  return cache === undefined ? [] : [{ cachePoint: defined({ type: 'default', ttl: cache.ttl }) }]
}

/** A conversation with tool calls is rejected unless the tools are described. */
function writeTools(request: NeutralRequest, dropped: Dropped): unknown {
  const used = namesOfCalls(request)
  const { toolChoice } = request
  if (toolChoice?.kind === 'none') {
    if (used.length === 0) return undefined
    if (request.tools.length > 0) dropped.add('tool_choice: none')
  }
  const tools: readonly Tool[] =
    request.tools.length > 0 ? request.tools : used.map((name) => ({ name }))
  if (tools.length === 0) return undefined
  return defined({
    tools: tools.flatMap((tool) => [{ toolSpec: toolSpec(tool) }, ...writeCache(tool.cache)]),
    toolChoice:
      toolChoice === undefined || toolChoice.kind === 'none' || request.tools.length === 0
        ? undefined
        : toolChoice.kind === 'tool'
          ? { tool: { name: toolChoice.name } }
          : { [toolChoice.kind]: {} },
  })
}

function toolSpec(tool: Tool): Fields {
  const json = tool.isCustom ? CUSTOM_SCHEMA : { type: 'object', properties: {}, ...tool.schema }
  return defined({
    name: tool.name,
    description: tool.description || undefined,
    inputSchema: { json },
    strict: tool.strict === true ? true : undefined,
  })
}

function namesOfCalls({ messages }: NeutralRequest): readonly string[] {
  const names = new Set<string>()
  for (const { parts } of messages) {
    for (const part of parts) if (part.kind === 'toolCall') names.add(part.name)
  }
  return [...names]
}

function writePart(part: Part, names: DocumentNames): readonly unknown[] {
  switch (part.kind) {
    case 'text':
      return [{ text: part.text }, ...writeCache(part.cache)]
    case 'refusal':
      return [{ text: part.text }]
    case 'toolCall': {
      const input = argumentsObject(part.arguments)
      const toolUse = { toolUseId: fitCallId(part.id), name: part.name, input }
      return [{ toolUse }, ...writeCache(part.cache)]
    }
    case 'toolResult': {
      const content = part.parts.flatMap((inner) =>
        inner.kind === 'text' ? [{ text: inner.text }] : [writeMedia(inner, names)],
      )
      const status = part.isError ? 'error' : undefined
      const toolUseId = fitCallId(part.id)
      return [{ toolResult: defined({ toolUseId, content, status }) }, ...writeCache(part.cache)]
    }
    case 'reasoning': {
      const { text, isRedacted } = part
      const value = part.signature?.value
      if (isRedacted) return [{ reasoningContent: { redactedContent: value } }]
      return [{ reasoningContent: { reasoningText: { text, signature: value } } }]
    }
    default:
      return [writeMedia(part, names), ...writeCache(part.cache)]
  }
}

const IMAGE_FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'gif', 'webp'])

const DOCUMENT_FORMATS: Readonly<Record<string, string | undefined>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}

/** Bytes or S3 only: fetching a URL would mean sending a request on the client's behalf. */
function writeMedia({ kind, source, name }: MediaPart, names: DocumentNames): unknown {
  if (kind === 'audio') reject('Audio cannot be translated for this model.')
  if (source.kind === 'text') {
    return { document: { format: 'txt', name: names.fit(name), source: { text: source.text } } }
  }
  if (source.kind === 'url') {
    return reject(`The model does not accept a URL for ${kind}; send the data.`)
  }
  const { mediaType, data } = source
  if (kind === 'image') {
    const format = mediaType.replace(/^image\/(?:jpg$)?/, '') || 'jpeg'
    if (!IMAGE_FORMATS.has(format)) reject(`Images of type ${mediaType} cannot be translated.`)
    return { image: { format, source: { bytes: data } } }
  }
  const format = DOCUMENT_FORMATS[mediaType]
  if (format === undefined) reject(`Documents of type ${mediaType} cannot be translated.`)
  return { document: { format, name: names.fit(name), source: { bytes: data } } }
}

/** Letters, digits, spaces, hyphens, parentheses, brackets; names are unique in a conversation. */
class DocumentNames {
  readonly #taken = new Set<string>()

  fit(name: string | undefined): string {
    const plain = (name ?? '')
      .replace(/[^a-zA-Z0-9 ()[\]-]+/g, ' ')
      .replace(/ +/g, ' ')
      .trim()
    const base = (plain || 'document').slice(0, 180)
    let fitted = base
    for (let at = 2; this.#taken.has(fitted); at++) fitted = `${base} ${at}`
    this.#taken.add(fitted)
    return fitted
  }
}
