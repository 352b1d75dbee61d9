import type { ReadContext } from '../../dialect.ts'
import type {
  Message,
  NeutralRequest,
  OutputFormat,
  Part,
  Reasoning,
  TextPart,
  Tool,
  ToolChoice,
} from '../../neutral.ts'
import { Dropped, members } from '../../parts.ts'
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
import { isFreeText } from '../completions/read-request.ts'
import { type ItemReading, readItem } from './read-items.ts'

/** Fields that are read below; any other field is dropped by name. */
const READ: ReadonlySet<string> = new Set(
  `model input instructions stream stream_options max_output_tokens temperature top_p tools
  tool_choice parallel_tool_calls text reasoning user safety_identifier service_tier
  prompt_cache_key metadata include`.split(/\s+/),
)

/** Fields that refer to state stored by one provider, under IDs that mean nothing to another. */
const STATE: readonly string[] = ['previous_response_id', 'conversation', 'prompt', 'background']

/** Fields that have no effect with this value, which SDKs often send. */
const NEUTRAL_VALUES: Readonly<Record<string, unknown>> = {
  store: false,
  background: false,
  truncation: 'disabled',
  top_logprobs: 0,
}

export function readRequest(bytes: Uint8Array, context: ReadContext): NeutralRequest {
  const body = context.parsed ?? readBody(bytes)
  const dropped = new Dropped()
  for (const [name, value] of Object.entries(body)) {
    if (READ.has(name) || value === null || NEUTRAL_VALUES[name] === value) continue
    if (STATE.includes(name)) {
      reject(`\`${name}\` requires stored state, which cannot be translated for this model.`, name)
    }
    dropped.add(name)
  }
  const include = optionalList(body, 'include') ?? []
  for (const name of include) {
    if (name !== 'reasoning.encrypted_content') dropped.add(`include: ${String(name)}`)
  }
  const text = optionalObject(body, 'text')
  const tools = readTools(body, dropped)
  const { system, messages } = readInput(body, { dropped, maker: context.maker })
  return {
    model: requiredString(body, 'model'),
    stream: optionalBoolean(body, 'stream') ?? false,
    streamUsage: true,
    system,
    messages,
    tools,
    toolChoice: readToolChoice(body, tools, dropped),
    parallelTools: optionalBoolean(body, 'parallel_tool_calls'),
    maxTokens: optionalNumber(body, 'max_output_tokens'),
    temperature: optionalNumber(body, 'temperature'),
    topP: optionalNumber(body, 'top_p'),
    stop: [],
    format: readFormat(optionalObject(text ?? {}, 'format', 'text.format')),
    reasoning: readReasoning(optionalObject(body, 'reasoning')),
    user: optionalString(body, 'safety_identifier') ?? optionalString(body, 'user'),
    serviceTier: optionalString(body, 'service_tier'),
    verbosity: optionalString(text ?? {}, 'verbosity', 'text.verbosity'),
    promptCacheKey: optionalString(body, 'prompt_cache_key'),
    metadata: optionalObject(body, 'metadata') as NeutralRequest['metadata'],
    receivedAt: context.now,
    dropped: dropped.names,
  }
}

function readFormat(format: Fields | undefined): OutputFormat | undefined {
  if (format === undefined || format['type'] === 'text') return undefined
  if (format['type'] === 'json_object') return { kind: 'json' }
  if (format['type'] !== 'json_schema')
    reject('Unknown value of `text.format.type`.', 'text.format')
  return {
    kind: 'schema',
    name: requiredString(format, 'name', 'text.format.name'),
    description: optionalString(format, 'description', 'text.format.description'),
    schema: object(format['schema'], 'text.format.schema'),
    strict: optionalBoolean(format, 'strict', 'text.format.strict'),
  }
}

function readReasoning(reasoning: Fields | undefined): Reasoning | undefined {
  if (reasoning === undefined) return undefined
  const effort = optionalString(reasoning, 'effort', 'reasoning.effort')
  const summary = optionalString(reasoning, 'summary', 'reasoning.summary')
  if (effort === undefined && summary === undefined) return undefined
  const mode = effort === 'none' ? 'disabled' : effort === undefined ? 'adaptive' : 'enabled'
  return { mode, effort, isVisible: summary !== undefined }
}

const TOOL = members('type', 'name', 'description', 'parameters', 'strict')

function readTools(body: Fields, dropped: Dropped): readonly Tool[] {
  const tools: Tool[] = []
  const items = optionalList(body, 'tools') ?? []
  items.forEach((item, at) => {
    const path = `tools[${at}]`
    const tool = object(item, path)
    const type = requiredString(tool, 'type', `${path}.type`)
    // Built-in tools run at the provider.
    if (type !== 'function' && type !== 'custom') {
      dropped.add(`tools: ${type}`)
      return
    }
    const name = requiredString(tool, 'name', `${path}.name`)
    const description = optionalString(tool, 'description', `${path}.description`)
    const { format, ...others } = tool
    dropped.addOthers('tools', isFreeText(format) ? others : tool, TOOL)
    if (type === 'custom') {
      tools.push({ name, description, isCustom: true })
      return
    }
    const schema = optionalObject(tool, 'parameters', `${path}.parameters`)
    tools.push({ name, description, schema, strict: optionalBoolean(tool, 'strict') })
  })
  return tools
}

function readToolChoice(
  body: Fields,
  tools: readonly Tool[],
  dropped: Dropped,
): ToolChoice | undefined {
  const choice = body['tool_choice']
  if (choice === undefined || choice === null) return undefined
  if (choice === 'auto' || choice === 'none') return { kind: choice }
  if (choice === 'required') return { kind: 'any' }
  const fields = object(choice, 'tool_choice')
  if (fields['type'] === 'allowed_tools') {
    dropped.add('tool_choice.allowed_tools')
    return { kind: fields['mode'] === 'required' ? 'any' : 'auto' }
  }
  const name = optionalString(fields, 'name', 'tool_choice.name')
  if (name !== undefined && tools.some((tool) => tool.name === name)) return { kind: 'tool', name }
  return reject('This tool cannot be translated for this model.', 'tool_choice')
}

function readInput(
  body: Fields,
  reading: ItemReading,
): { readonly system: readonly TextPart[]; readonly messages: readonly Message[] } {
  const system: TextPart[] = []
  const messages: { role: Message['role']; parts: Part[]; isResults: boolean }[] = []
  const instructions = optionalString(body, 'instructions')
  if (instructions !== undefined) system.push({ kind: 'text', text: instructions })
  const { input } = body
  if (typeof input === 'string') {
    messages.push({ role: 'user', parts: [{ kind: 'text', text: input }], isResults: false })
    return { system, messages }
  }
  if (!Array.isArray(input)) reject('`input` must be a string or an array.', 'input')
  input.forEach((item, at) => {
    const path = `input[${at}]`
    const read = readItem(object(item, path), path, reading)
    if (read === undefined) return
    const { role, parts } = read
    if (role === 'system' && messages.length === 0) {
      system.push(...parts.filter((part) => part.kind === 'text'))
      return
    }
    const isResults = parts.some(({ kind }) => kind === 'toolResult')
    const last = messages.at(-1)
    // Here, an assistant turn, and the results of its calls, consist of many items.
    const isSameTurn = role === 'assistant' || (isResults && last?.isResults === true)
    if (last !== undefined && last.role === role && isSameTurn) last.parts.push(...parts)
    else messages.push({ role, parts: [...parts], isResults })
  })
  return { system, messages: messages.map(({ role, parts }) => ({ role, parts })) }
}
