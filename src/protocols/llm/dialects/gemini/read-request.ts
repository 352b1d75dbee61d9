import type { ReadContext } from '../../dialect.ts'
import { isObject } from '../../json.ts'
import type {
  JsonObject,
  MediaPart,
  Message,
  NeutralRequest,
  OutputFormat,
  Part,
  Reasoning,
  TextPart,
  Tool,
  ToolChoice,
} from '../../neutral.ts'
import { Dropped } from '../../parts.ts'
import {
  type Fields,
  object,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalString,
  readBody,
  reject,
  requiredString,
} from '../../reading.ts'
import { readSealed } from './sealed.ts'

/** Fields that are read below; any other field is dropped by name. */
const READ: ReadonlySet<string> = new Set(
  'model stream contents systemInstruction tools toolConfig generationConfig'.split(' '),
)
const CONFIG: ReadonlySet<string> = new Set(
  `maxOutputTokens temperature topP topK stopSequences presencePenalty frequencyPenalty seed
  responseMimeType responseSchema responseJsonSchema thinkingConfig`.split(/\s+/),
)

export function readRequest(bytes: Uint8Array, context: ReadContext): NeutralRequest {
  const body = camelCased(context.parsed ?? readBody(bytes))
  const dropped = new Dropped()
  for (const [name, value] of Object.entries(body)) {
    if (READ.has(name) || value === null) continue
    if (name === 'cachedContent') {
      reject('`cachedContent` is stored by one provider and cannot be translated.', name)
    }
    dropped.add(name)
  }
  const config = camelCased(optionalObject(body, 'generationConfig') ?? {})
  for (const [name, value] of Object.entries(config)) {
    const isNeutral = name === 'candidateCount' && value === 1
    if (!CONFIG.has(name) && !isNeutral) dropped.addIfSet(`generationConfig.${name}`, value)
  }
  return {
    model: requiredString(body, 'model'),
    stream: body['stream'] === true,
    streamUsage: true,
    system: readSystem(optionalObject(body, 'systemInstruction')),
    messages: readContents(body, context.maker, dropped),
    tools: readTools(body, dropped),
    toolChoice: readToolChoice(body, dropped),
    maxTokens: optionalNumber(config, 'maxOutputTokens'),
    temperature: optionalNumber(config, 'temperature'),
    topP: optionalNumber(config, 'topP'),
    topK: optionalNumber(config, 'topK'),
    stop: (optionalList(config, 'stopSequences') ?? []).map(String),
    format: readFormat(config),
    reasoning: readThinking(optionalObject(config, 'thinkingConfig')),
    presencePenalty: optionalNumber(config, 'presencePenalty'),
    frequencyPenalty: optionalNumber(config, 'frequencyPenalty'),
    seed: optionalNumber(config, 'seed'),
    receivedAt: context.now,
    dropped: dropped.names,
  }
}

/** Google's APIs accept each name in two spellings: `inlineData` and `inline_data`. */
function camelCased(fields: Fields): Fields {
  if (!Object.keys(fields).some((name) => name.includes('_'))) return fields
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )
}

function readSystem(instruction: Fields | undefined): readonly TextPart[] {
  const parts = optionalList(instruction ?? {}, 'parts', 'systemInstruction.parts') ?? []
  return parts.flatMap((part, at) => {
    const text = optionalString(object(part, `systemInstruction.parts[${at}]`), 'text')
    return text === undefined ? [] : [{ kind: 'text', text } as const]
  })
}

function readContents(body: Fields, maker: string, dropped: Dropped): readonly Message[] {
  const { contents } = body
  const all = isObject(contents) ? [contents] : optionalList(body, 'contents')
  if (all === undefined) reject('`contents` is required.', 'contents')
  const calls = new CallIds()
  return all.map((item, at) => {
    const content = object(item, `contents[${at}]`)
    const parts: Part[] = []
    const given = optionalList(content, 'parts', `contents[${at}].parts`) ?? []
    given.forEach((part, index) => {
      const path = `contents[${at}].parts[${index}]`
      readPart(camelCased(object(part, path)), parts, { path, maker, dropped, calls })
    })
    return { role: content['role'] === 'model' ? 'assistant' : 'user', parts }
  })
}

interface PartReading {
  readonly path: string
  readonly maker: string
  readonly dropped: Dropped
  readonly calls: CallIds
}

function readPart(part: Fields, parts: Part[], reading: PartReading): void {
  const { path, maker, dropped, calls } = reading
  const text = optionalString(part, 'text', `${path}.text`)
  if (part['thought'] === true) {
    parts.push({ kind: 'reasoning', text: text ?? '', isRedacted: false })
    return
  }
  const sealed = optionalString(part, 'thoughtSignature', `${path}.thoughtSignature`)
  if (sealed !== undefined) addSignature(parts, sealed, maker)
  const call = optionalObject(part, 'functionCall', `${path}.functionCall`)
  const response = optionalObject(part, 'functionResponse', `${path}.functionResponse`)
  const media = part['inlineData'] ?? part['fileData']
  if (text !== undefined) {
    if (text !== '' || sealed === undefined) parts.push({ kind: 'text', text })
  } else if (call !== undefined) {
    const name = requiredString(call, 'name', `${path}.functionCall.name`)
    const id = calls.open(name, optionalString(call, 'id', `${path}.functionCall.id`))
    parts.push({ kind: 'toolCall', id, name, arguments: JSON.stringify(call['args'] ?? {}) })
  } else if (response !== undefined) parts.push(readResult(response, reading))
  else if (media !== undefined) parts.push(readMedia(camelCased(object(media, path)), path))
  else for (const name of Object.keys(part)) dropped.add(`parts: ${name}`)
}

/** The signature of a thought is on the part that follows it. */
function addSignature(parts: Part[], sealed: string, maker: string): void {
  const signature = readSealed(sealed, maker)
  const last = parts.at(-1)
  if (last?.kind === 'reasoning' && last.signature === undefined) {
    parts[parts.length - 1] = { ...last, signature }
  } else parts.push({ kind: 'reasoning', text: '', signature, isRedacted: false })
}

function readResult(response: Fields, { path, calls, dropped }: PartReading): Part {
  const name = requiredString(response, 'name', `${path}.functionResponse.name`)
  const id = calls.close(name, optionalString(response, 'id', `${path}.functionResponse.id`))
  const content = optionalObject(response, 'response', `${path}.functionResponse.response`) ?? {}
  const { error, result, output } = content
  const isOnly = Object.keys(content).length === 1
  const only = isOnly ? (result ?? output ?? error) : undefined
  dropped.addIfSet('functionResponse.parts', response['parts'])
  const text = typeof only === 'string' ? only : JSON.stringify(only ?? content)
  return {
    kind: 'toolResult',
    id,
    parts: [{ kind: 'text', text }],
    isError: isOnly && error !== undefined,
  }
}

/** Calls and results name each other by their function, and only sometimes by an ID. */
class CallIds {
  readonly #open: { readonly name: string; readonly id: string }[] = []
  #count = 0

  open(name: string, given: string | undefined): string {
    const id = given || `call_${this.#count}`
    this.#count++
    this.#open.push({ name, id })
    return id
  }

  close(name: string, given: string | undefined): string {
    const at = this.#open.findIndex((one) => (given ? one.id === given : one.name === name))
    if (at < 0) reject(`No function call of \`${name}\` precedes its response.`, 'contents')
    return this.#open.splice(at, 1)[0]?.id ?? ''
  }
}

function readMedia(media: Fields, path: string): MediaPart {
  const mediaType = optionalString(media, 'mimeType', `${path}.mimeType`) ?? ''
  const [word] = mediaType.split('/')
  const kind = word === 'image' || word === 'audio' ? word : 'document'
  const url = optionalString(media, 'fileUri', `${path}.fileUri`)
  if (url !== undefined) return { kind, source: { kind: 'url', url } }
  const data = requiredString(media, 'data', `${path}.data`)
  if (word === 'text') {
    const text = Buffer.from(data, 'base64').toString('utf8')
    return { kind, source: { kind: 'text', text } }
  }
  return { kind, source: { kind: 'base64', mediaType, data } }
}

function readTools(body: Fields, dropped: Dropped): readonly Tool[] {
  const tools: Tool[] = []
  ;(optionalList(body, 'tools') ?? []).forEach((item, at) => {
    const path = `tools[${at}]`
    const { functionDeclarations, ...others } = camelCased(object(item, path))
    // Built-in tools run at the provider.
    for (const name of Object.keys(others)) dropped.add(`tools: ${name}`)
    const declared = optionalList({ functionDeclarations }, 'functionDeclarations') ?? []
    declared.forEach((one, index) => {
      const tool = camelCased(object(one, `${path}.functionDeclarations[${index}]`))
      const { parametersJsonSchema, parameters } = tool
      const schema = isObject(parametersJsonSchema) ? parametersJsonSchema : jsonSchema(parameters)
      dropped.addIfSet('tools.behavior', tool['behavior'])
      tools.push({
        name: requiredString(tool, 'name', `${path}.functionDeclarations[${index}].name`),
        description: optionalString(tool, 'description'),
        schema: isObject(schema) ? schema : undefined,
      })
    })
  })
  return tools
}

/** Google's schemas write types in capital letters, and `nullable` for null. */
function jsonSchema(schema: unknown): JsonObject | undefined {
  if (!isObject(schema)) return undefined
  const out: Record<string, unknown> = {}
  const { nullable, ...own } = camelCased(schema)
  for (const [name, value] of Object.entries(own)) {
    if (name === 'propertyOrdering' || name === 'example') continue
    if (name === 'type' && typeof value === 'string') {
      const type = value.toLowerCase()
      out[name] = nullable === true ? [type, 'null'] : type
    } else if (name === 'properties' && isObject(value)) {
      out[name] = Object.fromEntries(
        Object.entries(value).map(([own_, one]) => [own_, jsonSchema(one) ?? one]),
      )
    } else if (name === 'anyOf' && Array.isArray(value)) {
      out[name] = value.map((one) => jsonSchema(one) ?? one)
    } else if (BOUNDS.has(name)) out[name] = Number(value)
    else out[name] = name === 'items' ? (jsonSchema(value) ?? value) : value
  }
  return out
}

/** Numbers that Google's JSON may write as strings. */
const BOUNDS = new Set(
  'minItems maxItems minLength maxLength minProperties maxProperties'.split(' '),
)

function readToolChoice(body: Fields, dropped: Dropped): ToolChoice | undefined {
  const config = camelCased(optionalObject(body, 'toolConfig') ?? {})
  const calling = camelCased(optionalObject(config, 'functionCallingConfig') ?? {})
  for (const name of Object.keys(config)) {
    if (name !== 'functionCallingConfig') dropped.add(`toolConfig.${name}`)
  }
  const names = optionalList(calling, 'allowedFunctionNames') ?? []
  switch (calling['mode']) {
    case 'ANY':
      if (names.length === 1) return { kind: 'tool', name: String(names[0]) }
      if (names.length > 1) dropped.add('toolConfig.allowedFunctionNames')
      return { kind: 'any' }
    case 'NONE':
      return { kind: 'none' }
    case 'AUTO':
    case 'VALIDATED':
      return { kind: 'auto' }
    default:
      return undefined
  }
}

function readFormat(config: Fields): OutputFormat | undefined {
  const given = config['responseJsonSchema'] ?? config['responseSchema']
  if (config['responseMimeType'] !== 'application/json') return undefined
  if (!isObject(given)) return { kind: 'json' }
  const schema = config['responseJsonSchema'] === undefined ? jsonSchema(given) : given
  return { kind: 'schema', name: 'response', schema: schema ?? {} }
}

const [NO_BUDGET, ANY_BUDGET] = [0, -1] as const

function readThinking(thinking: Fields | undefined): Reasoning | undefined {
  if (thinking === undefined) return undefined
  const own = camelCased(thinking)
  const budget = optionalNumber(own, 'thinkingBudget')
  const effort = optionalString(own, 'thinkingLevel')?.toLowerCase()
  const isVisible = own['includeThoughts'] === true
  if (budget === NO_BUDGET) return { mode: 'disabled', isVisible }
  if (effort !== undefined) return { mode: 'enabled', effort, isVisible }
  if (budget === undefined || budget === ANY_BUDGET) return { mode: 'adaptive', isVisible }
  return { mode: 'enabled', budget, isVisible }
}
