/** A stream's priority among those that wait for the same connection (RFC 9218). */
export interface Prioritized {
  readonly id: number
  /** From 0, the most urgent, to 7. */
  urgency: number
  /** Whether it takes turns with others; otherwise it precedes streams that were opened later. */
  isIncremental: boolean
  /** A number that increases with each part written on the connection. */
  servedAt: number
}

export const DEFAULT_URGENCY = 3

/** Longer values contain no known parameters. */
const MAX_LENGTH = 256

/** Reads the value of `priority`, or of PRIORITY_UPDATE; unknown members are ignored (§4). */
export function setPriority(stream: Prioritized, value: string): void {
  stream.urgency = DEFAULT_URGENCY
  stream.isIncremental = false
  if (value.length > MAX_LENGTH) return
  for (const member of value.split(',')) {
    const text = (member.split(';', 1)[0] as string).trim()
    if (/^u=[0-7]$/.test(text)) stream.urgency = Number(text[2])
    else if (text === 'i' || text === 'i=?1') stream.isIncremental = true
    else if (text === 'i=?0') stream.isIncremental = false
  }
}

/**
 * Sorts by urgency; with equal urgency, non-incremental streams come first, in the order in which
 * they were opened, then incremental ones in turns. `isFair`: the stream that waited longest comes
 * first, so that no stream waits forever.
 */
export function inOrder<Stream extends Prioritized>(
  waiting: ReadonlySet<Stream>,
  isFair: boolean,
): readonly Stream[] {
  const list = [...waiting]
  return list.sort(isFair ? (a, b) => a.servedAt - b.servedAt : compare)
}

function compare(a: Prioritized, b: Prioritized): number {
  if (a.urgency !== b.urgency) return a.urgency - b.urgency
  if (a.isIncremental !== b.isIncremental) return a.isIncremental ? 1 : -1
  return a.isIncremental ? a.servedAt - b.servedAt : a.id - b.id
}
