import type { WireRequest, WriteOptions } from '../../dialect.ts'
import { encodeJson, isObject, parseJsonText } from '../../json.ts'
import type {
  MediaPart,
  NeutralRequest,
  Part,
  Reasoning,
  Tool,
  ToolChoice,
  ToolResultPart,
} from '../../neutral.ts'
import { argumentsObject, Dropped, textOf } from '../../parts.ts'
import { defined, type Fields, reject } from '../../reading.ts'
import { arrangeTurns } from '../../turns.ts'
import { CUSTOM_SCHEMA } from '../completions/write-request.ts'

const MAX_STOP = 5

export function writeRequest(request: NeutralRequest, options: WriteOptions): WireRequest {
  const dropped = new Dropped()
  dropped.add(...request.dropped)
  if (request.parallelTools === false) dropped.add('parallel_tool_calls')
  dropped.addIfSet('user', request.user)
  dropped.addIfSet('service_tier', request.serviceTier)
  dropped.addIfSet('verbosity', request.verbosity)
  dropped.addIfSet('prompt_cache_key', request.promptCacheKey)
  dropped.addIfSet('metadata', request.metadata)
  const { system, contents } = writeTurns(request, options, dropped)
  const body = defined({
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents,
    tools:
      request.tools.length > 0
        ? [{ functionDeclarations: request.tools.map((tool) => writeTool(tool, dropped)) }]
        : undefined,
    toolConfig: request.tools.length > 0 ? writeToolChoice(request.toolChoice) : undefined,
    generationConfig: writeConfig(request, options.model, dropped),
  })
  const call = options.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return {
    path: `/models/${pathSegment(options.model)}:${call}`,
    headers: [['content-type', 'application/json']],
    body: encodeJson(body),
    dropped: dropped.names,
  }
}

/** The model is part of the path: a client's name for it must not lead to another path. */
function pathSegment(model: string): string {
  const name = model.replace(/^models\//, '')
  if (!/^[\w.@-]+$/.test(name) || /^\.+$/.test(name)) {
    reject('`model` contains characters that are not allowed in a path.', 'model')
  }
  return name
}

function writeConfig(request: NeutralRequest, model: string, dropped: Dropped): unknown {
  const { stop } = request
  // Before version 3, structured output cannot be combined with tools.
  const isRejected = request.tools.length > 0 && versionOf(model) < 3
  const format = isRejected ? undefined : request.format
  if (isRejected && request.format !== undefined) dropped.add('response_format')
  if (stop.length > MAX_STOP) dropped.add(`stop[${MAX_STOP}]`)
  const config = defined({
    maxOutputTokens: request.maxTokens,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    stopSequences: stop.length > 0 ? stop.slice(0, MAX_STOP) : undefined,
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    seed: request.seed,
    responseMimeType: format === undefined ? undefined : 'application/json',
    responseJsonSchema: format?.kind === 'schema' ? format.schema : undefined,
    thinkingConfig: writeThinking(request.reasoning, model, dropped),
  })
  return Object.keys(config).length > 0 ? config : undefined
}

const BUDGETS: Readonly<Record<string, number | undefined>> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}

/** Gemini 3 and later accept a level, 2.5 accepts a token budget, and older models do not think. */
function writeThinking(
  reasoning: Reasoning | undefined,
  model: string,
  dropped: Dropped,
): Fields | undefined {
  if (reasoning === undefined) return undefined
  const version = versionOf(model)
  const { mode, effort } = reasoning
  if (version < 2.5) {
    if (mode !== 'disabled') dropped.add('reasoning')
    return undefined
  }
  const includeThoughts = reasoning.isVisible === true && mode !== 'disabled' ? true : undefined
  if (version >= 3) {
    const isLow = mode === 'disabled' || effort === 'minimal' || effort === 'low'
    const known = effort ?? (reasoning.budget !== undefined ? levelOf(reasoning.budget) : undefined)
    const thinkingLevel = isLow ? 'low' : known === undefined ? undefined : 'high'
    return defined({ thinkingLevel, includeThoughts })
  }
  if (mode === 'disabled') {
    // Pro models cannot disable thinking.
    return /pro/.test(model) ? undefined : { thinkingBudget: 0 }
  }
  const thinkingBudget = reasoning.budget ?? (effort === undefined ? undefined : BUDGETS[effort])
  return defined({ thinkingBudget, includeThoughts })
}

function levelOf(budget: number): string {
  return budget < 4096 ? 'low' : 'high'
}

function versionOf(model: string): number {
  const version = /gemini-(\d+(?:\.\d+)?)/.exec(model)
  return version === null ? Number.POSITIVE_INFINITY : Number(version[1])
}

/** `parameters` supports only a subset of OpenAPI; this member accepts JSON Schema as is. */
function writeTool(tool: Tool, dropped: Dropped): unknown {
  if (tool.cache !== undefined) dropped.add('cache_control')
  if (tool.strict === true) dropped.add('tools.strict')
  return defined({
    name: tool.name,
    description: tool.description ?? tool.name,
    parametersJsonSchema: tool.isCustom ? CUSTOM_SCHEMA : tool.schema,
  })
}

function writeToolChoice(choice: ToolChoice | undefined): unknown {
  if (choice === undefined) return undefined
  if (choice.kind === 'tool') {
    return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice.name] } }
  }
  return { functionCallingConfig: { mode: choice.kind.toUpperCase() } }
}

function writeTurns(
  request: NeutralRequest,
  options: WriteOptions,
  dropped: Dropped,
): { readonly system: readonly unknown[]; readonly contents: readonly unknown[] } {
  const { maker } = options
  const { system, messages } = arrangeTurns(request, { maker, hasSystemRole: false }, dropped)
  if (system.some(({ cache }) => cache !== undefined)) dropped.add('cache_control')
  const names = new Map<string, string>()
  const contents: unknown[] = []
  for (const { role, parts } of messages) {
    for (const part of parts) if (part.kind === 'toolCall') names.set(part.id, part.name)
    const written = writeParts(parts, names, options, dropped)
    if (written.length > 0)
      contents.push({ role: role === 'user' ? 'user' : 'model', parts: written })
  }
  return { system: system.map(({ text }) => ({ text })), contents }
}

/** Replaces a lost signature; newer models reject calls without one. */
const LOST_SIGNATURE = 'skip_thought_signature_validator'

/** A signature belongs to the part that follows the reasoning. */
function writeParts(
  parts: readonly Part[],
  names: ReadonlyMap<string, string>,
  { model }: WriteOptions,
  dropped: Dropped,
): readonly unknown[] {
  const written: Record<string, unknown>[] = []
  let signature: string | undefined
  let isFirstCall = true
  const sign = (part: Record<string, unknown>): void => {
    if (signature !== undefined) part['thoughtSignature'] = signature
    signature = undefined
    written.push(part)
  }
  for (const part of parts) {
    if ('cache' in part && part.cache !== undefined) dropped.add('cache_control')
    switch (part.kind) {
      case 'reasoning':
        if (signature !== undefined) sign({ text: '' })
        signature = part.signature?.value
        break
      case 'text':
      case 'refusal':
        sign({ text: part.text })
        break
      case 'toolCall':
        // Only the first of several parallel calls carries one.
        if (isFirstCall && versionOf(model) >= 3) signature ??= LOST_SIGNATURE
        isFirstCall = false
        sign({ functionCall: { name: part.name, args: argumentsObject(part.arguments) } })
        break
      case 'toolResult':
        written.push(...writeResult(part, names))
        break
      default:
        sign(writeMedia(part))
    }
  }
  if (signature !== undefined) sign({ text: '' })
  return written
}

function writeResult(
  result: ToolResultPart,
  names: ReadonlyMap<string, string>,
): readonly Record<string, unknown>[] {
  const name = names.get(result.id)
  if (name === undefined) reject(`No tool call has the ID \`${result.id}\`.`)
  const text = textOf(result.parts, '\n')
  const { value } = parseJsonText(text)
  const response = result.isError ? { error: text } : isObject(value) ? value : { result: text }
  const media = result.parts.filter((part) => part.kind !== 'text')
  return [{ functionResponse: { name, response } }, ...media.map(writeMedia)]
}

function writeMedia({ kind, source }: MediaPart): Record<string, unknown> {
  if (source.kind === 'text') return { text: source.text }
  if (source.kind === 'base64') {
    return { inlineData: { mimeType: source.mediaType, data: source.data } }
  }
  if (source.url.startsWith('gs://')) return { fileData: { fileUri: source.url } }
  return reject(`The model does not accept a URL for ${kind}; send the data.`)
}
