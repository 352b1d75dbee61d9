import type { DialectName } from './dialect.ts'
import { isObject, parseJson, setMembers } from './json.ts'
import { type Fields, list, obj } from './reading.ts'
import { BYTES_PER_TOKEN } from './usage.ts'

/*
 * Marks up to which a provider may cache a prompt, in requests as the provider receives them. Only
 * Anthropic and Bedrock use marks; others cache prompts automatically.
 */

export interface PromptCaching {
  readonly cacheSystem: boolean
  readonly cacheMessages: boolean
  readonly cacheTools: boolean
  /** The min estimated tokens up to a mark; 0 for any prompt. */
  readonly minTokens: number
  /** How many messages before the usual one the mark is set. */
  readonly cacheMessageOffset: number
}

/** Returns the same bytes if there is nothing to mark. `model` is the provider's name for it. */
export function markPrompt(
  dialect: DialectName,
  model: string,
  bytes: Uint8Array,
  caching: PromptCaching,
): Uint8Array {
  const marker = markerOf(dialect, model)
  if (marker === undefined) return bytes
  const { value: body } = parseJson(bytes)
  // Clients that set marks have chosen them deliberately, and at most four are allowed.
  if (!isObject(body) || marker.isMarked(body)) return bytes
  const changes = marks(body, marker, caching)
  return Object.keys(changes).length === 0 ? bytes : setMembers(bytes, changes, body)
}

type Blocks = readonly unknown[]

interface Marker {
  readonly marksTools: boolean
  isMarked(body: Fields): boolean
  tools(body: Fields): Blocks
  system(body: Fields): Blocks
  content(message: unknown): Blocks
  /** Returns the blocks with a mark on the last one that accepts it, or undefined if none does. */
  mark(blocks: Blocks): Blocks | undefined
  /** Returns the member that has the tools. */
  withTools(body: Fields, tools: Blocks): Fields
}

/** Providers count the prompt before a mark in this order: tools, system prompts, messages. */
function marks(body: Fields, marker: Marker, caching: PromptCaching): Fields {
  const changes: Record<string, unknown> = {}
  const isEnough = (blocks: readonly unknown[]) =>
    sizeOf(blocks) >= caching.minTokens * BYTES_PER_TOKEN
  const [tools, system] = [marker.tools(body), marker.system(body)]
  if (caching.cacheTools && marker.marksTools && isEnough(tools)) {
    const marked = marker.mark(tools)
    if (marked !== undefined) Object.assign(changes, marker.withTools(body, marked))
  }
  if (caching.cacheSystem && isEnough([tools, system])) {
    const marked = marker.mark(system)
    if (marked !== undefined) changes['system'] = marked
  }
  const messages = list(body['messages'])
  if (!caching.cacheMessages || messages.length < 2) return changes
  // The last message is new; the history before it is sent again with the next call.
  for (let at = Math.max(0, messages.length - 2 - caching.cacheMessageOffset); at >= 0; at--) {
    const content = marker.mark(marker.content(messages[at]))
    if (content === undefined) continue
    if (!isEnough([tools, system, messages.slice(0, at + 1)])) break
    changes['messages'] = messages.with(at, { ...obj(messages[at]), content })
    break
  }
  return changes
}

function markerOf(dialect: DialectName, model: string): Marker | undefined {
  if (dialect === 'messages') return ANTHROPIC
  if (dialect !== 'converse' || !isCached(model)) return undefined
  // Amazon's own models accept marks on prompts but not on tools.
  return { ...BEDROCK, marksTools: !/\bamazon\.nova\b/i.test(model) }
}

/**
 * Bedrock models that accept marks: others reject the call. The model of an application inference
 * profile is not visible, so the configuration is trusted there.
 */
function isCached(model: string): boolean {
  const name = model.toLowerCase()
  if (/\bamazon\.nova\b/.test(name) || name.includes(':application-inference-profile/')) return true
  const [, claude] = /\banthropic\.claude-(.*)$/.exec(name) ?? []
  if (claude === undefined || /^(?:instant|v\d)/.test(claude)) return false
  return !claude.startsWith('3-') || /^3-(?:5-haiku|7-)/.test(claude)
}

const MARK = { type: 'ephemeral' }
/** Block types that accept a mark; thinking, for example, does not. */
const MARKED_TYPES = new Set<unknown>(['text', 'image', 'document', 'tool_use', 'tool_result'])

const ANTHROPIC: Marker = {
  marksTools: true,
  isMarked: (body) =>
    body['cache_control'] !== undefined ||
    [list(body['tools']), list(body['system']), ...list(body['messages']).map(anthropicContent)]
      .flat()
      .some(hasControl),
  tools: (body) => list(body['tools']),
  system: (body) => textBlocks(body['system']),
  content: anthropicContent,
  mark(blocks) {
    const at = blocks.findLastIndex(bearsControl)
    return at < 0 ? undefined : blocks.with(at, { ...obj(blocks[at]), cache_control: MARK })
  },
  withTools: (_, tools) => ({ tools }),
}

function anthropicContent(message: unknown): Blocks {
  return textBlocks(obj(message)['content'])
}

function textBlocks(content: unknown): Blocks {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)
}

/** Tool results contain blocks. */
function hasControl(block: unknown): boolean {
  const { cache_control, content } = obj(block)
  return cache_control !== undefined || (Array.isArray(content) && content.some(hasControl))
}

function bearsControl(block: unknown): boolean {
  if (!isObject(block)) return false
  const { type, text, input_schema, defer_loading } = block
  if (input_schema !== undefined) return defer_loading !== true
  return MARKED_TYPES.has(type) && (type !== 'text' || isText(text))
}

const BEDROCK: Marker = {
  marksTools: true,
  isMarked: (body) =>
    [toolsOf(body), list(body['system']), ...list(body['messages']).map(bedrockContent)]
      .flat()
      .some((block) => obj(block)['cachePoint'] !== undefined),
  tools: toolsOf,
  system: (body) => list(body['system']),
  content: bedrockContent,
  mark(blocks) {
    const at = blocks.findLastIndex(bearsPoint)
    return at < 0 ? undefined : blocks.toSpliced(at + 1, 0, { cachePoint: { type: 'default' } })
  },
  withTools: (body, tools) => ({ toolConfig: { ...obj(body['toolConfig']), tools } }),
}

function toolsOf(body: Fields): Blocks {
  return list(obj(body['toolConfig'])['tools'])
}

function bedrockContent(message: unknown): Blocks {
  return list(obj(message)['content'])
}

function bearsPoint(block: unknown): boolean {
  const { text, image, document, toolUse, toolResult, toolSpec } = obj(block)
  if (isText(text)) return true
  return [image, document, toolUse, toolResult, toolSpec].some((one) => one !== undefined)
}

function isText(text: unknown): boolean {
  return typeof text === 'string' && text.trim() !== ''
}

/** Counts the bytes of texts and names; encoded data, such as images, does not count. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + sizeOf(one), 0)
  if (!isObject(value)) return 0
  let sum = 0
  for (const [name, one] of Object.entries(value)) {
    if (name !== 'data' && name !== 'bytes') sum += name.length + sizeOf(one)
  }
  return sum
}
