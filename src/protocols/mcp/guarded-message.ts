import { encodedTextOf } from '../encoded-text.ts'
import { replaceStrings } from '../json-strings.ts'
import type { JsonPath } from '../json-text.ts'

/** Guards a text: returns it, or a rejection with its reason. Runs in steps if the text is long. */
export type GuardMcpText = (text: string) => Generator<void, GuardedMessage>

export interface GuardedMessage {
  readonly text?: string | undefined
  readonly rejection?: string | undefined
}

/** Lists contain names of existing objects: a changed name would refer to nothing. */
const LISTS: ReadonlySet<unknown> = new Set([
  'tools',
  'prompts',
  'resources',
  'resourceTemplates',
  'tasks',
  '_meta',
])
/** Members of the protocol. */
const STRUCTURE: ReadonlySet<unknown> = new Set(
  `type role name uri id taskId mimeType cursor nextCursor progressToken requestState
  protocolVersion level logger method mode requestedSchema ref action stopReason model resultType
  status cacheScope includeContext audience`.split(/\s+/),
)
/** Members with arbitrary content of a client or a tool: every string in them is guarded. */
const CONTENT: ReadonlySet<unknown> = new Set(['arguments', 'structuredContent'])
/** Members that contain base64, and how long it is if it is more than a word. */
const DATA: ReadonlySet<unknown> = new Set(['data', 'blob'])
const MIN_ENCODED = 256
const PARTS: ReadonlySet<unknown> = new Set(['params', 'result', 'error'])

/** Guards all strings in a message. */
export function* guardMessage(text: string, guard: GuardMcpText): Generator<void, GuardedMessage> {
  if (!isJson(text)) return yield* guard(text)
  let rejection: string | undefined
  /** The depth of the current content: searching for it above each value takes too long. */
  let contentAt = Number.POSITIVE_INFINITY
  const choose = (path: JsonPath) => {
    if (path.length === 0) return 'enter'
    if (path.length === 1) return PARTS.has(path[0]) ? 'enter' : 'keep'
    if (path.length <= contentAt) {
      contentAt = CONTENT.has(path.at(-1)) ? path.length : Number.POSITIVE_INFINITY
    }
    return isStructure(path, contentAt <= path.length) ? 'keep' : 'enter'
  }
  const edited = yield* replaceStrings(text, choose, function* (value, path) {
    if (path.length < 2) return undefined
    // One rejection is enough.
    if (rejection !== undefined) return undefined
    const encoded = DATA.has(path.at(-1)) ? encodedTextOf(value) : undefined
    if (encoded === 'binary' && value.length >= MIN_ENCODED) return undefined
    if (encoded !== undefined && encoded !== 'binary') {
      const decoded = yield* guard(encoded.text)
      rejection = decoded.rejection
      if (decoded.text !== encoded.text) return encoded.encode(decoded.text ?? '')
    }
    if (rejection !== undefined) return undefined
    const guarded = yield* guard(value)
    rejection = guarded.rejection
    return guarded.text === value ? undefined : guarded.text
  })
  return rejection === undefined ? { text: edited } : { rejection }
}

/** Removes all content from a message. */
export function* emptied(text: string): Generator<void, string> {
  // biome-ignore lint/correctness/useYield: a guard may yield, this one does not
  const { text: own = '' } = yield* guardMessage(text, function* () {
    return { text: '' }
  })
  return own
}

function isStructure(path: JsonPath, isContent: boolean): boolean {
  if (path.length === 2 && LISTS.has(path[1])) return true
  if (isContent) return false
  return STRUCTURE.has(path.at(-1)) || path.at(-1) === '_meta'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
