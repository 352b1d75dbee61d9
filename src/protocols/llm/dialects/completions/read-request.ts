import type { ReadContext } from '../../dialect.ts'
import type {
  MediaPart,
  Message,
  NeutralRequest,
  OutputFormat,
  Part,
  TextPart,
  Tool,
  ToolChoice,
  ToolResultPart,
} from '../../neutral.ts'
import { Dropped, mediaSourceOf, members } from '../../parts.ts'
import {
  type Fields,
  object,
  optionalBoolean,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalString,
  readBody,
  reject,
  requiredString,
} from '../../reading.ts'

/** Fields that are read below; any other field is dropped by name. */
const READ: ReadonlySet<string> = new Set(
  `model messages stream stream_options max_completion_tokens max_tokens temperature top_p n stop
  presence_penalty frequency_penalty seed response_format tools tool_choice parallel_tool_calls
  reasoning_effort user safety_identifier service_tier verbosity prompt_cache_key
  metadata`.split(/\s+/),
)

/** The same for members of messages and tools. */
const MESSAGE = members(
  'role',
  'content',
  'tool_calls',
  'tool_call_id',
  'refusal',
  'audio',
  'reasoning_content',
  'function_call',
)
const PART = members('type', 'text', 'refusal', 'image_url', 'input_audio', 'file')
const FUNCTION = members('name', 'description', 'parameters', 'strict')
const CUSTOM = members('name', 'description')

/** Fields that have no effect with this value, which SDKs often send. */
const NEUTRAL_VALUES: Readonly<Record<string, unknown>> = { logprobs: false, store: false }

export function readRequest(bytes: Uint8Array, context: ReadContext): NeutralRequest {
  const body = context.parsed ?? readBody(bytes)
  const dropped = new Dropped()
  for (const [name, value] of Object.entries(body)) {
    if (name === 'functions' || name === 'function_call') {
      reject(`\`${name}\` cannot be translated for this model; use \`tools\`.`, name)
    }
    if (READ.has(name) || value === null || NEUTRAL_VALUES[name] === value) continue
    if (name === 'modalities' && String(value) === 'text') continue
    dropped.add(name)
  }
  const { system, messages } = readMessages(body, dropped)
  const format = readFormat(body)
  const effort = optionalString(body, 'reasoning_effort')
  const streamOptions = optionalObject(body, 'stream_options')
  // Every dialect supports one choice.
  if ((optionalNumber(body, 'n') ?? 1) !== 1) dropped.add('n')
  return {
    model: requiredString(body, 'model'),
    stream: optionalBoolean(body, 'stream') ?? false,
    streamUsage: streamOptions?.['include_usage'] === true,
    system,
    messages,
    tools: (optionalList(body, 'tools') ?? []).map((tool, at) =>
      readTool(tool, `tools[${at}]`, dropped),
    ),
    toolChoice: readToolChoice(body, dropped),
    parallelTools: optionalBoolean(body, 'parallel_tool_calls'),
    maxTokens: optionalNumber(body, 'max_completion_tokens') ?? optionalNumber(body, 'max_tokens'),
    temperature: optionalNumber(body, 'temperature'),
    topP: optionalNumber(body, 'top_p'),
    stop: readStop(body),
    format,
    reasoning:
      effort === undefined
        ? undefined
        : { mode: effort === 'none' ? 'disabled' : 'enabled', effort, isVisible: true },
    presencePenalty: optionalNumber(body, 'presence_penalty'),
    frequencyPenalty: optionalNumber(body, 'frequency_penalty'),
    seed: optionalNumber(body, 'seed'),
    user: optionalString(body, 'safety_identifier') ?? optionalString(body, 'user'),
    serviceTier: optionalString(body, 'service_tier'),
    verbosity: optionalString(body, 'verbosity'),
    promptCacheKey: optionalString(body, 'prompt_cache_key'),
    metadata: optionalObject(body, 'metadata') as NeutralRequest['metadata'],
    receivedAt: context.now,
    dropped: dropped.names,
  }
}

function readStop(body: Fields): readonly string[] {
  const { stop } = body
  if (stop === undefined || stop === null) return []
  if (typeof stop === 'string') return [stop]
  const isList = Array.isArray(stop) && stop.every((item) => typeof item === 'string')
  return isList ? stop : reject('`stop` must be a string or an array of strings.', 'stop')
}

function readFormat(body: Fields): OutputFormat | undefined {
  const format = optionalObject(body, 'response_format')
  if (format === undefined || format['type'] === 'text') return undefined
  if (format['type'] === 'json_object') return { kind: 'json' }
  if (format['type'] !== 'json_schema') {
    reject('Unknown value of `response_format.type`.', 'response_format.type')
  }
  const path = 'response_format.json_schema'
  const schema = object(format['json_schema'], path)
  return {
    kind: 'schema',
    name: requiredString(schema, 'name', `${path}.name`),
    description: optionalString(schema, 'description', `${path}.description`),
    schema: optionalObject(schema, 'schema', `${path}.schema`) ?? {},
    strict: optionalBoolean(schema, 'strict', `${path}.strict`),
  }
}

function readTool(value: unknown, path: string, dropped: Dropped): Tool {
  const tool = object(value, path)
  if (tool['type'] === 'custom') {
    const custom = object(tool['custom'], `${path}.custom`)
    const { format, ...others } = custom
    dropped.addOthers('tools.custom', isFreeText(format) ? others : custom, CUSTOM)
    return {
      name: requiredString(custom, 'name', `${path}.custom.name`),
      description: optionalString(custom, 'description', `${path}.custom.description`),
      isCustom: true,
    }
  }
  if (tool['type'] !== 'function') reject(`Unknown value of \`${path}.type\`.`, `${path}.type`)
  const described = object(tool['function'], `${path}.function`)
  dropped.addOthers('tools.function', described, FUNCTION)
  return {
    name: requiredString(described, 'name', `${path}.function.name`),
    description: optionalString(described, 'description', `${path}.function.description`),
    schema: optionalObject(described, 'parameters', `${path}.function.parameters`),
    strict: optionalBoolean(described, 'strict', `${path}.function.strict`),
  }
}

/** True if a custom tool accepts any text; translation turns every custom tool into such a tool. */
export function isFreeText(format: unknown): boolean {
  return typeof format === 'object' && (format as Fields | null)?.['type'] === 'text'
}

function readToolChoice(body: Fields, dropped: Dropped): ToolChoice | undefined {
  const choice = body['tool_choice']
  if (choice === undefined || choice === null) return undefined
  if (choice === 'auto' || choice === 'none') return { kind: choice }
  if (choice === 'required') return { kind: 'any' }
  const fields = object(choice, 'tool_choice')
  const named = fields['function'] ?? fields['custom']
  if (named !== undefined) {
    const name = requiredString(object(named, 'tool_choice'), 'name', 'tool_choice.name')
    return { kind: 'tool', name }
  }
  // A choice among some of the tools: no other dialect has it, and all tools are sent.
  if (fields['type'] === 'allowed_tools') {
    dropped.add('tool_choice.allowed_tools')
    const mode = object(fields['allowed_tools'], 'tool_choice.allowed_tools')['mode']
    return { kind: mode === 'required' ? 'any' : 'auto' }
  }
  return reject('Unknown value of `tool_choice`.', 'tool_choice')
}

function readMessages(
  body: Fields,
  dropped: Dropped,
): { readonly system: readonly TextPart[]; readonly messages: readonly Message[] } {
  const system: TextPart[] = []
  const messages: Message[] = []
  let results: ToolResultPart[] | undefined
  const items = optionalList(body, 'messages') ?? reject('`messages` is required.', 'messages')
  items.forEach((item, at) => {
    const path = `messages[${at}]`
    const message = object(item, path)
    const { role } = message
    dropped.addOthers('messages', message, MESSAGE)
    if (role === 'tool') {
      const result = readToolResult(message, path, dropped)
      // All results of a turn are one message.
      if (results !== undefined) results.push(result)
      else messages.push({ role: 'user', parts: (results = [result]) })
      return
    }
    results = undefined
    if (role === 'system' || role === 'developer') {
      const parts = readTexts(message['content'], `${path}.content`, dropped)
      if (messages.length === 0) system.push(...parts)
      else messages.push({ role: 'system', parts })
    } else if (role === 'user') {
      messages.push({ role, parts: readContent(message['content'], `${path}.content`, dropped) })
    } else if (role === 'assistant') {
      messages.push({ role, parts: readAssistant(message, path, dropped) })
    } else reject(`Unknown value of \`${path}.role\`.`, `${path}.role`)
  })
  return { system, messages }
}

function readToolResult(message: Fields, path: string, dropped: Dropped): ToolResultPart {
  return {
    kind: 'toolResult',
    id: requiredString(message, 'tool_call_id', `${path}.tool_call_id`),
    parts: readTexts(message['content'], `${path}.content`, dropped),
    isError: false,
  }
}

function readTexts(content: unknown, path: string, dropped: Dropped): readonly TextPart[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) reject(`\`${path}\` must be a string or an array.`, path)
  return content.map((item, at) => {
    const part = object(item, `${path}[${at}]`)
    dropped.addOthers('content', part, PART)
    return { kind: 'text', text: requiredString(part, 'text', `${path}[${at}].text`) }
  })
}

function readContent(content: unknown, path: string, dropped: Dropped): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) reject(`\`${path}\` must be a string or an array.`, path)
  return content.map((item, at) =>
    readPart(object(item, `${path}[${at}]`), `${path}[${at}]`, dropped),
  )
}

function readPart(part: Fields, path: string, dropped: Dropped): Part {
  dropped.addOthers('content', part, PART)
  switch (part['type']) {
    case 'text':
      return { kind: 'text', text: requiredString(part, 'text', `${path}.text`) }
    case 'refusal':
      return { kind: 'refusal', text: requiredString(part, 'refusal', `${path}.refusal`) }
    case 'image_url': {
      const image = object(part['image_url'], `${path}.image_url`)
      return {
        kind: 'image',
        source: mediaSourceOf(requiredString(image, 'url', `${path}.image_url.url`)),
        detail: optionalString(image, 'detail', `${path}.image_url.detail`),
      }
    }
    case 'input_audio': {
      const audio = object(part['input_audio'], `${path}.input_audio`)
      const format = requiredString(audio, 'format', `${path}.input_audio.format`)
      const data = requiredString(audio, 'data', `${path}.input_audio.data`)
      return { kind: 'audio', source: { kind: 'base64', mediaType: `audio/${format}`, data } }
    }
    case 'file':
      return readFile(object(part['file'], `${path}.file`), `${path}.file`)
    default:
      dropped.add(path)
      return reject(`\`${path}.type\` cannot be translated for this model.`, `${path}.type`)
  }
}

function readFile(file: Fields, path: string): MediaPart {
  if (file['file_id'] !== undefined) {
    reject(
      'Stored files belong to one provider and cannot be translated for another.',
      `${path}.file_id`,
    )
  }
  const source = mediaSourceOf(requiredString(file, 'file_data', `${path}.file_data`))
  if (source.kind === 'url') reject('`file_data` must be a data URL.', `${path}.file_data`)
  return { kind: 'document', source, name: optionalString(file, 'filename', `${path}.filename`) }
}

function readAssistant(message: Fields, path: string, dropped: Dropped): readonly Part[] {
  const parts: Part[] = []
  const { content } = message
  if (content !== undefined && content !== null) {
    parts.push(...readContent(content, `${path}.content`, dropped))
  }
  const refusal = optionalString(message, 'refusal', `${path}.refusal`)
  if (refusal !== undefined) parts.push({ kind: 'refusal', text: refusal })
  // It has no signature, so no provider would accept it back.
  if (typeof message['reasoning_content'] === 'string') dropped.add('messages.reasoning_content')
  if (message['audio'] !== undefined && message['audio'] !== null) dropped.add('messages.audio')
  if (message['function_call'] !== undefined && message['function_call'] !== null) {
    reject('`function_call` cannot be translated; use `tool_calls`.', `${path}.function_call`)
  }
  const calls = optionalList(message, 'tool_calls', `${path}.tool_calls`) ?? []
  calls.forEach((item, at) => {
    const here = `${path}.tool_calls[${at}]`
    const call = object(item, here)
    const id = requiredString(call, 'id', `${here}.id`)
    if (call['type'] === 'custom') {
      const custom = object(call['custom'], `${here}.custom`)
      const name = requiredString(custom, 'name', `${here}.custom.name`)
      const input = requiredString(custom, 'input', `${here}.custom.input`)
      parts.push({ kind: 'toolCall', id, name, arguments: JSON.stringify({ input }) })
      return
    }
    const called = object(call['function'], `${here}.function`)
    parts.push({
      kind: 'toolCall',
      id,
      name: requiredString(called, 'name', `${here}.function.name`),
      arguments: requiredString(called, 'arguments', `${here}.function.arguments`),
    })
  })
  return parts
}
