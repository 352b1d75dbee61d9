import type { MediaPart, Message, Part, TextPart } from '../../neutral.ts'
import { type Dropped, mediaSourceOf, members } from '../../parts.ts'
import {
  type Fields,
  object,
  optionalList,
  optionalString,
  reject,
  requiredString,
} from '../../reading.ts'
import { readSignature } from '../../signatures.ts'

export interface ItemReading {
  readonly dropped: Dropped
  readonly maker: string
}

/** Members that are read below or mean nothing to another provider; others are dropped by name. */
const ITEM = members(
  'type',
  'id',
  'status',
  'role',
  'content',
  'call_id',
  'name',
  'arguments',
  'input',
  'output',
  'summary',
  'encrypted_content',
  'created_by',
)
const PART = members(
  'type',
  'text',
  'refusal',
  'annotations',
  'logprobs',
  'image_url',
  'detail',
  'file_data',
  'file_url',
  'filename',
  'input_audio',
)

/** Reads one item of `input`; returns undefined if it was dropped. */
export function readItem(item: Fields, path: string, reading: ItemReading): Message | undefined {
  const type = optionalString(item, 'type', `${path}.type`) ?? 'message'
  const read = readKnown(item, type, path, reading)
  if (read === undefined) reading.dropped.add(`input: ${type}`)
  else reading.dropped.addOthers('input', item, ITEM)
  return read
}

function readKnown(
  item: Fields,
  type: string,
  path: string,
  reading: ItemReading,
): Message | undefined {
  switch (type) {
    case 'message':
      return readMessage(item, path, reading)
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [readCall(item, path, type === 'custom_tool_call')] }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const id = requiredString(item, 'call_id', `${path}.call_id`)
      const parts = readContent(item['output'], `${path}.output`, reading).filter(isShown)
      return { role: 'user', parts: [{ kind: 'toolResult', id, parts, isError: false }] }
    }
    case 'reasoning':
      return { role: 'assistant', parts: [readReasoning(item, path, reading.maker)] }
    case 'item_reference':
      return reject('Referenced items are stored at one provider; send the items themselves.', path)
    default:
      return undefined
  }
}

function isShown(part: Part): part is TextPart | MediaPart {
  return part.kind !== 'toolCall' && part.kind !== 'toolResult' && part.kind !== 'reasoning'
}

function readMessage(item: Fields, path: string, reading: ItemReading): Message {
  const { role } = item
  const parts = readContent(item['content'], `${path}.content`, reading)
  if (role === 'system' || role === 'developer') return { role: 'system', parts }
  if (role === 'user' || role === 'assistant') return { role, parts }
  return reject(`Unknown value of \`${path}.role\`.`, `${path}.role`)
}

function readContent(content: unknown, path: string, reading: ItemReading): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) reject(`\`${path}\` must be a string or an array.`, path)
  return content.map((item, at) => {
    const part = object(item, `${path}[${at}]`)
    reading.dropped.addOthers('input', part, PART)
    return readPart(part, `${path}[${at}]`)
  })
}

function readPart(part: Fields, path: string): Part {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
      return { kind: 'text', text: requiredString(part, 'text', `${path}.text`) }
    case 'refusal':
      return { kind: 'refusal', text: requiredString(part, 'refusal', `${path}.refusal`) }
    case 'input_image': {
      const url = optionalString(part, 'image_url', `${path}.image_url`)
      if (url === undefined) rejectFile(path)
      const detail = optionalString(part, 'detail', `${path}.detail`)
      return { kind: 'image', source: mediaSourceOf(url), detail }
    }
    case 'input_file': {
      const data = optionalString(part, 'file_data', `${path}.file_data`)
      const url = data ?? optionalString(part, 'file_url', `${path}.file_url`)
      if (url === undefined) rejectFile(path)
      const name = optionalString(part, 'filename', `${path}.filename`)
      return { kind: 'document', source: mediaSourceOf(url), name }
    }
    case 'input_audio': {
      const audio = object(part['input_audio'], `${path}.input_audio`)
      const format = requiredString(audio, 'format', `${path}.input_audio.format`)
      const data = requiredString(audio, 'data', `${path}.input_audio.data`)
      return { kind: 'audio', source: { kind: 'base64', mediaType: `audio/${format}`, data } }
    }
    default:
      return reject(`\`${path}.type\` cannot be translated for this model.`, `${path}.type`)
  }
}

function rejectFile(path: string): never {
  return reject('Stored files belong to one provider and cannot be translated for another.', path)
}

function readCall(item: Fields, path: string, isCustom: boolean): Part {
  const id = requiredString(item, 'call_id', `${path}.call_id`)
  const name = requiredString(item, 'name', `${path}.name`)
  const text = isCustom
    ? JSON.stringify({ input: requiredString(item, 'input', `${path}.input`) })
    : requiredString(item, 'arguments', `${path}.arguments`)
  return { kind: 'toolCall', id, name, arguments: text }
}

function readReasoning(item: Fields, path: string, maker: string): Part {
  const texts = [
    ...(optionalList(item, 'summary', `${path}.summary`) ?? []),
    ...(optionalList(item, 'content', `${path}.content`) ?? []),
  ].map((part) => requiredString(object(part, path), 'text', `${path}.text`))
  const sealed = optionalString(item, 'encrypted_content', `${path}.encrypted_content`)
  return {
    kind: 'reasoning',
    text: texts.join('\n\n'),
    signature: sealed === undefined ? undefined : readSignature(sealed, maker),
    isRedacted: texts.length === 0,
  }
}
