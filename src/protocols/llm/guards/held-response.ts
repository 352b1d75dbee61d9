import type { StreamReader } from '../dialect.ts'
import type { LlmError } from '../error.ts'
import type { Part, StreamEvent } from '../neutral.ts'
import { guardMessages } from './guard-messages.ts'
import type { Guard, GuardedMessage } from './guard-rule.ts'
import { guardedError } from './guarded-error.ts'

/* Holds responses back until services have checked them as a whole. */

/** The max number of characters of a stream to hold. */
const MAX_HELD = 16 * 1024 * 1024

/** For a whole response. */
export async function guardPartsLater(
  parts: readonly Part[],
  guards: readonly Guard[],
): Promise<readonly Part[] | LlmError> {
  const places = parts.flatMap((part, at) => (textOf(part) === '' ? [] : [at]))
  const messages = places.map((at) => messageOf(parts[at]?.kind ?? '', textOf(parts[at])))
  const guarded = await guardMessages(messages, guards)
  if ('status' in guarded) return guarded
  const texts = new Map(places.map((at, index) => [at, guarded[index] ?? '']))
  return parts.map((part, at): Part => {
    const text = texts.get(at)
    if (text === undefined || text === textOf(part)) return part
    if (part.kind === 'toolCall') return { ...part, arguments: text }
    // A signature is for the text that its maker wrote.
    if (part.kind === 'reasoning') return { ...part, text, signature: undefined }
    return { ...part, text } as Part
  })
}

/** Reasoning and output are separate texts, and so are the arguments of each call. */
function messageOf(kind: string, content: string): GuardedMessage {
  const role = 'assistant'
  if (kind === 'toolCall') return { role, content, isArguments: true }
  return { role, content, message: kind === 'reasoning' ? 1 : 0 }
}

function textOf(part: Part | undefined): string {
  if (part === undefined) return ''
  const { kind } = part
  if (kind === 'toolCall') return part.arguments
  return kind === 'text' || kind === 'refusal' || kind === 'reasoning' ? part.text : ''
}

/** For a stream: it is read to its end and sent as one piece. */
export class HeldReader implements StreamReader {
  readonly #reader: StreamReader
  readonly #guards: readonly Guard[]
  #events: StreamEvent[] = []
  #size = 0

  constructor(reader: StreamReader, guards: readonly Guard[]) {
    this.#reader = reader
    this.#guards = guards
  }

  get dropped(): readonly string[] {
    return this.#reader.dropped
  }

  push(bytes: Uint8Array): readonly StreamEvent[] {
    this.#hold(this.#reader.push(bytes))
    return []
  }

  end(): readonly StreamEvent[] {
    this.#hold(this.#reader.end())
    return []
  }

  #hold(events: readonly StreamEvent[]): void {
    if (this.#size > MAX_HELD) return
    for (const event of events) {
      if (event.kind === 'ping') continue
      if (event.kind === 'delta') this.#size += event.text.length
      this.#events.push(
        event.kind === 'error'
          ? { ...event, error: guardedError(event.error, this.#guards) }
          : event,
      )
    }
    if (this.#size > MAX_HELD) this.#events = [...this.#first, { kind: 'error', error: TOO_LONG }]
  }

  get #first(): readonly StreamEvent[] {
    return this.#events.slice(0, 1).filter(({ kind }) => kind === 'start')
  }

  /** Called when the body is complete; returns all events with the changes that guards made. */
  async settle(): Promise<readonly StreamEvent[]> {
    const texts = textsOf(this.#events)
    const blocks = [...texts.keys()]
    const kinds = new Map(
      this.#events.flatMap((one) =>
        one.kind === 'blockStart' ? [[one.block, one.part.kind] as const] : [],
      ),
    )
    const messages = blocks.map((block) =>
      messageOf(kinds.get(block) ?? '', texts.get(block) ?? ''),
    )
    const guarded = await guardMessages(messages, this.#guards)
    if ('status' in guarded) return [...this.#first, { kind: 'error', error: guarded }]
    const changed = new Map(
      blocks.flatMap((block, at) => {
        const text = guarded[at] ?? ''
        return text === texts.get(block) ? [] : [[block, text] as const]
      }),
    )
    return changed.size === 0 ? this.#events : withTexts(this.#events, changed)
  }
}

const TOO_LONG: LlmError = {
  status: 502,
  type: 'server',
  message: 'The response is too long to be checked.',
}

/** Texts by block, in the order in which blocks begin; blocks without text are omitted. */
function textsOf(events: readonly StreamEvent[]): ReadonlyMap<number, string> {
  const pieces = new Map<number, string[]>()
  for (const event of events) {
    if (event.kind !== 'delta' || event.text === '') continue
    const known = pieces.get(event.block)
    if (known === undefined) pieces.set(event.block, [event.text])
    else known.push(event.text)
  }
  return new Map([...pieces].map(([block, own]) => [block, own.join('')]))
}

/** A changed text is sent as one piece, without a signature. */
function withTexts(
  events: readonly StreamEvent[],
  changed: ReadonlyMap<number, string>,
): readonly StreamEvent[] {
  const written = new Set<number>()
  return events.flatMap((event): readonly StreamEvent[] => {
    if (event.kind === 'signature' && changed.has(event.block)) return []
    if (event.kind !== 'delta') return [event]
    const text = changed.get(event.block)
    if (text === undefined) return [event]
    if (written.has(event.block)) return []
    written.add(event.block)
    return text === '' ? [] : [{ ...event, text }]
  })
}
