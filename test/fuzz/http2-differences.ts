import type { Reaction } from './http2-client-faults.ts'

/**
 * Faults that other implementations treat differently from the RFC, and how they do. They are no
 * reason for us to deviate.
 */
export interface Difference {
  readonly why: string
  readonly reactions: readonly Reaction[]
  readonly faults: readonly string[]
}

/** Invalid fields that both clients and servers can send. */
const NO_FIELDS = [
  'a name with a space',
  'an empty name',
  'a value with NUL',
  'a value with CR',
  'a value with LF',
  'a value that begins with a space',
  'a value that ends with a tab',
]

/** nghttp2 treats these as connection errors; RFC 9113 §5.4.2 makes them stream errors. */
const WIDER: readonly Difference[] = [
  {
    why: 'a window that cannot be is an error of the connection',
    reactions: ['connection 1'],
    faults: ['WINDOW_UPDATE of 0 on a stream'],
  },
  {
    why: 'the same',
    reactions: ['connection 3'],
    faults: ['WINDOW_UPDATE of a stream beyond 2^31-1'],
  },
  {
    why: 'every length that is wrong is an error of the connection',
    reactions: ['connection 6'],
    faults: ['PRIORITY of four bytes'],
  },
  {
    why: 'priorities of RFC 7540 are not read at all (RFC 9113 §5.3.2)',
    reactions: ['none'],
    faults: ['PRIORITY of the connection'],
  },
  {
    why: 'node:http2 removes such a field, and the rest of the message goes on',
    reactions: ['none'],
    faults: NO_FIELDS,
  },
]

/** node:http2 resets a stream with a malformed message, and ends the connection a moment later. */
const AND_CONNECTION: readonly Reaction[] = ['stream 1', 'connection 1', 'connection 2']

export const NODE_SERVER: readonly Difference[] = [
  ...WIDER,
  {
    why: 'a number that is lower than the last is taken for that of a closed stream',
    reactions: ['none'],
    faults: ['HEADERS of a stream that was skipped'],
  },
  {
    why: 'what comes on a stream that the client reset is ignored for good, not for a while (§5.1)',
    reactions: ['none'],
    faults: ['DATA after a reset', 'HEADERS after a reset'],
  },
  {
    why: 'host is not compared with :authority, which a gateway must (§8.3.1)',
    reactions: ['none'],
    faults: ['host that is not :authority'],
  },
]

export const NODE_CLIENT: readonly Difference[] = [
  ...WIDER,
  {
    why: 'it takes pushes; we say that we do not',
    reactions: ['none'],
    faults: ['PUSH_PROMISE'],
  },
  {
    why: 'what comes on a stream that is closed is ignored',
    reactions: ['none'],
    faults: [
      'DATA after the end of a response',
      'HEADERS after the end of a response',
      'DATA after a reset',
      'HEADERS after a reset',
    ],
  },
]

export const GO_SERVER: readonly Difference[] = [
  {
    why: 'the padding of a head is looked at when its stream is known already',
    reactions: ['stream 1'],
    faults: ['HEADERS with more padding than payload'],
  },
  {
    why: 'it forgets a stream that is closed, and takes it for one that was skipped (§5.1.1)',
    reactions: ['connection 1'],
    faults: ['HEADERS after a reset'],
  },
  {
    why: 'every length that is wrong is an error of the connection',
    reactions: ['connection 6'],
    faults: ['PRIORITY of four bytes'],
  },
  {
    why: 'its handler is told when it reads the body; the stream goes on',
    reactions: ['none'],
    faults: ['a body that is shorter than it says', 'no body where a length is told'],
  },
  {
    why: 'it does not look for white space around values, which reaches its handler',
    reactions: ['none'],
    faults: ['a value that begins with a space', 'a value that ends with a tab'],
  },
  {
    why: 'it responds with 400, where §8.1.1 has an error of the stream',
    reactions: ['none'],
    faults: [
      'connection',
      'keep-alive',
      'transfer-encoding',
      'upgrade',
      'te with something else than trailers',
    ],
  },
]

/** Responses that Go's client accepts as complete. */
export const GO_CLIENT: readonly Difference[] = [
  {
    why: 'the head may reach whoever waits for it before the reset does',
    reactions: ['none', 'stream 5'],
    faults: ['HEADERS after a reset'],
  },
  {
    why: 'a body that cannot be is left unread',
    reactions: ['none'],
    faults: ['a body of 204'],
  },
  {
    why: 'it looks neither for white space around values nor for fields of the connection',
    reactions: ['none'],
    faults: ['a value that begins with a space', 'connection', 'transfer-encoding'],
  },
  {
    why: 'every number is a status',
    reactions: ['none'],
    faults: ['a :status of two digits'],
  },
  {
    why: 'of two lengths neither counts',
    reactions: ['none'],
    faults: ['two lengths'],
  },
]

/** All allowed reactions of the other implementation to a fault. */
export function reactionsTo(
  { name, reactions }: { readonly name: string; readonly reactions: readonly Reaction[] },
  differences: readonly Difference[],
): readonly Reaction[] {
  const known = differences.find(({ faults }) => faults.includes(name))
  return known === undefined ? reactions : known.reactions
}

/** The same for node:http2, which may end the connection of a stream that it reset. */
export function reactionsOfNode(
  fault: { readonly name: string; readonly reactions: readonly Reaction[] },
  differences: readonly Difference[],
): readonly Reaction[] {
  const own = reactionsTo(fault, differences)
  return own === fault.reactions && own.includes('stream 1') ? [...own, ...AND_CONNECTION] : own
}
