import type { StreamEvent } from './neutral.ts'

/** The max characters searched and written at once: some tenths of a millisecond. */
const MAX_PIECE = 1 << 12
/** The max events handled at once: as many as usually arrive with one read. */
const MAX_EVENTS = 64

/** True if processing these takes so long that other requests should get their turn. */
export function isLong(events: readonly StreamEvent[]): boolean {
  if (events.length > MAX_EVENTS) return true
  let letters = 0
  for (const event of events) if (event.kind === 'delta') letters += event.text.length
  return letters > MAX_PIECE
}

/** Cuts a long text into several pieces, none of which ends within a character. */
export function* cutEvent(event: StreamEvent): Generator<StreamEvent> {
  if (event.kind !== 'delta' || event.text.length <= MAX_PIECE) {
    yield event
    return
  }
  const { text } = event
  for (let at = 0; at < text.length; ) {
    const last = text.charCodeAt(at + MAX_PIECE - 1)
    const isHigh = last >= 0xd800 && last < 0xdc00
    const end = at + MAX_PIECE - (isHigh ? 1 : 0)
    yield { ...event, text: text.slice(at, end) }
    at = end
  }
}
