import type { ReadContext } from '../../dialect.ts'
import type {
  CacheMark,
  MediaPart,
  MediaSource,
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
import { readSignature } from '../../signatures.ts'

/** Fields that are read below; any other field is dropped by name. */
const READ: ReadonlySet<string> = new Set(
  `model messages max_tokens system stop_sequences stream temperature top_p top_k tools tool_choice
  thinking output_config metadata service_tier`.split(/\s+/),
)

/** The same for members of tools, messages and blocks. */
const TOOL = members('type', 'name', 'description', 'input_schema', 'strict', 'cache_control')
const MESSAGE = members('role', 'content')
const BLOCK = members(
  'type',
  'text',
  'citations',
  'source',
  'title',
  'context',
  'id',
  'name',
  'input',
  'tool_use_id',
  'content',
  'is_error',
  'thinking',
  'signature',
  'data',
  'cache_control',
)

/** Fields that belong to one provider's account and are not available from another. */
const STATE: readonly string[] = ['container', 'mcp_servers', 'user_profile_id', 'workspace_id']

interface Reading {
  readonly dropped: Dropped
  readonly maker: string
}

export function readRequest(bytes: Uint8Array, context: ReadContext): NeutralRequest {
  const body = context.parsed ?? readBody(bytes)
  const dropped = new Dropped()
  for (const [name, value] of Object.entries(body)) {
    if (READ.has(name) || value === null) continue
    if (STATE.includes(name)) reject(`\`${name}\` cannot be translated for this model.`, name)
    dropped.add(name)
  }
  const reading: Reading = { dropped, maker: context.maker }
  const maxTokens = optionalNumber(body, 'max_tokens')
  if (maxTokens === undefined) reject('`max_tokens` is required.', 'max_tokens')
  const output = optionalObject(body, 'output_config')
  const choice = optionalObject(body, 'tool_choice')
  const tools = readTools(body, dropped)
  const metadata = optionalObject(body, 'metadata') ?? {}
  dropped.addOthers('metadata', metadata, members('user_id'))
  return {
    model: requiredString(body, 'model'),
    stream: optionalBoolean(body, 'stream') ?? false,
    streamUsage: true,
    system: readSystem(body['system'], 'system', reading),
    messages: readMessages(body, reading),
    tools,
    toolChoice: readToolChoice(choice, tools),
    parallelTools: choice?.['disable_parallel_tool_use'] === true ? false : undefined,
    maxTokens,
    temperature: optionalNumber(body, 'temperature'),
    topP: optionalNumber(body, 'top_p'),
    topK: optionalNumber(body, 'top_k'),
    stop: (optionalList(body, 'stop_sequences') ?? []).map(String),
    format: readFormat(output),
    reasoning: readThinking(optionalObject(body, 'thinking'), output, dropped),
    user: optionalString(metadata, 'user_id', 'metadata.user_id'),
    serviceTier: body['service_tier'] === 'standard_only' ? 'default' : undefined,
    receivedAt: context.now,
    dropped: dropped.names,
  }
}

function readFormat(output: Fields | undefined): OutputFormat | undefined {
  const format = optionalObject(output ?? {}, 'format', 'output_config.format')
  if (format === undefined) return undefined
  if (format['type'] !== 'json_schema') {
    reject('Unknown value of `output_config.format.type`.', 'output_config.format.type')
  }
  const schema = object(format['schema'], 'output_config.format.schema')
  return { kind: 'schema', name: 'output', schema, strict: true }
}

function readThinking(
  thinking: Fields | undefined,
  output: Fields | undefined,
  dropped: Dropped,
): Reasoning | undefined {
  const effort = optionalString(output ?? {}, 'effort', 'output_config.effort')
  const type = thinking?.['type']
  if (type === undefined) return effort === undefined ? undefined : { mode: 'adaptive', effort }
  if (type === 'disabled') return { mode: 'disabled' }
  if (type !== 'enabled' && type !== 'adaptive') dropped.add(`thinking.type: ${String(type)}`)
  return {
    mode: type === 'enabled' ? 'enabled' : 'adaptive',
    effort,
    budget: optionalNumber(thinking ?? {}, 'budget_tokens', 'thinking.budget_tokens'),
    isVisible: thinking?.['display'] !== 'omitted',
  }
}

/** Tools that run at the provider have a type; they are dropped and so cannot be chosen. */
function readTools(body: Fields, dropped: Dropped): readonly Tool[] {
  const tools: Tool[] = []
  const items = optionalList(body, 'tools') ?? []
  items.forEach((item, at) => {
    const path = `tools[${at}]`
    const tool = object(item, path)
    const type = optionalString(tool, 'type', `${path}.type`) ?? 'custom'
    if (type !== 'custom') {
      dropped.add(`tools: ${type}`)
      return
    }
    dropped.addOthers('tools', tool, TOOL)
    tools.push({
      name: requiredString(tool, 'name', `${path}.name`),
      description: optionalString(tool, 'description', `${path}.description`),
      schema: object(tool['input_schema'], `${path}.input_schema`),
      strict: optionalBoolean(tool, 'strict', `${path}.strict`),
      cache: readCache(tool),
    })
  })
  return tools
}

function readToolChoice(
  choice: Fields | undefined,
  tools: readonly Tool[],
): ToolChoice | undefined {
  if (choice === undefined) return undefined
  const { type } = choice
  if (type === 'auto' || type === 'any' || type === 'none') return { kind: type }
  if (type !== 'tool') reject('Unknown value of `tool_choice.type`.', 'tool_choice.type')
  const name = requiredString(choice, 'name', 'tool_choice.name')
  if (!tools.some((tool) => tool.name === name)) {
    reject(`The tool \`${name}\` cannot be translated for this model.`, 'tool_choice.name')
  }
  return { kind: 'tool', name }
}

function readCache(block: Fields): CacheMark | undefined {
  const mark = block['cache_control']
  if (mark === undefined || mark === null) return undefined
  const { ttl } = object(mark, 'cache_control')
  return { ttl: ttl === '1h' ? '1h' : ttl === '5m' ? '5m' : undefined }
}

function readSystem(content: unknown, path: string, reading: Reading): readonly TextPart[] {
  if (content === undefined || content === null) return []
  return readContent(content, path, reading).filter((part) => part.kind === 'text')
}

function readMessages(body: Fields, reading: Reading): readonly Message[] {
  const items = optionalList(body, 'messages') ?? reject('`messages` is required.', 'messages')
  return items.map((item, at) => {
    const path = `messages[${at}]`
    const message = object(item, path)
    const { role } = message
    reading.dropped.addOthers('messages', message, MESSAGE)
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      reject(`Unknown value of \`${path}.role\`.`, `${path}.role`)
    }
    return { role, parts: readContent(message['content'], `${path}.content`, reading) }
  })
}

function readContent(content: unknown, path: string, reading: Reading): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) reject(`\`${path}\` must be a string or an array.`, path)
  return content.flatMap((item, at) => {
    const here = `${path}[${at}]`
    return readBlock(object(item, here), here, reading) ?? []
  })
}

function readBlock(block: Fields, path: string, reading: Reading): Part | undefined {
  const { dropped } = reading
  const part = readKnown(block, path, reading)
  // A block of an unknown kind is dropped with all its members.
  if (part === undefined) dropped.add(`content: ${String(block['type'])}`)
  else dropped.addOthers('content', block, BLOCK)
  return part
}

function readKnown(block: Fields, path: string, reading: Reading): Part | undefined {
  const { dropped } = reading
  const cache = readCache(block)
  switch (block['type']) {
    case 'text':
      if (Array.isArray(block['citations']) && block['citations'].length > 0) {
        dropped.add('citations')
      }
      return { kind: 'text', text: requiredString(block, 'text', `${path}.text`), cache }
    case 'image':
      return { kind: 'image', source: readSource(block, path), cache }
    case 'document':
      return readDocument(block, path, dropped, cache)
    case 'tool_use':
      return {
        kind: 'toolCall',
        id: requiredString(block, 'id', `${path}.id`),
        name: requiredString(block, 'name', `${path}.name`),
        arguments: JSON.stringify(block['input'] ?? {}),
        cache,
      }
    case 'tool_result': {
      const { content } = block
      const parts =
        content === undefined || content === null
          ? []
          : readContent(content, `${path}.content`, reading)
      return {
        kind: 'toolResult',
        id: requiredString(block, 'tool_use_id', `${path}.tool_use_id`),
        parts: parts.filter((part) => part.kind === 'text' || isMedia(part)),
        isError: block['is_error'] === true,
        cache,
      }
    }
    case 'thinking':
    case 'redacted_thinking':
      return readReasoning(block, path, reading)
    case 'container_upload':
      return reject(
        'Stored files belong to one provider and cannot be translated for another.',
        path,
      )
    default:
      return undefined
  }
}

function isMedia(part: Part): part is MediaPart {
  return part.kind === 'image' || part.kind === 'document' || part.kind === 'audio'
}

function readReasoning(block: Fields, path: string, { maker }: Reading): Part {
  if (block['type'] === 'redacted_thinking') {
    const signature = readSignature(requiredString(block, 'data', `${path}.data`), maker)
    return { kind: 'reasoning', text: '', signature, isRedacted: true }
  }
  const text = requiredString(block, 'thinking', `${path}.thinking`)
  const written = optionalString(block, 'signature', `${path}.signature`) ?? ''
  const signature = written === '' ? undefined : readSignature(written, maker)
  return { kind: 'reasoning', text, signature, isRedacted: false }
}

function readSource(block: Fields, path: string): MediaSource {
  const source = object(block['source'], `${path}.source`)
  switch (source['type']) {
    case 'base64':
      return {
        kind: 'base64',
        mediaType: requiredString(source, 'media_type', `${path}.source.media_type`),
        data: requiredString(source, 'data', `${path}.source.data`),
      }
    case 'url':
      return { kind: 'url', url: requiredString(source, 'url', `${path}.source.url`) }
    case 'text':
      return { kind: 'text', text: requiredString(source, 'data', `${path}.source.data`) }
    default:
      return reject(
        'Stored files belong to one provider and cannot be translated for another.',
        `${path}.source.type`,
      )
  }
}

function readDocument(
  block: Fields,
  path: string,
  dropped: Dropped,
  cache: CacheMark | undefined,
): Part {
  if (object(block['citations'] ?? {}, `${path}.citations`)['enabled'] === true) {
    dropped.add('citations')
  }
  dropped.addIfSet('document.context', block['context'])
  const source = object(block['source'], `${path}.source`)
  const name = optionalString(block, 'title', `${path}.title`)
  if (source['type'] === 'content') {
    const content = source['content']
    const text = typeof content === 'string' ? content : textsOf(content)
    return { kind: 'document', source: { kind: 'text', text }, name, cache }
  }
  return { kind: 'document', source: readSource(block, path), name, cache }
}

function textsOf(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((item) => String(object(item, 'source.content')['text'] ?? '')).join('\n')
}
