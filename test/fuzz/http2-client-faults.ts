import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  RST_STREAM,
} from '../proxy/http2-gateway.ts'
import { type FaultPlace, setting, word } from './http2-scripts.ts'

/** The reaction of a server to a fault: a connection error, a stream error, or none. */
export type Reaction = `connection ${number}` | `stream ${number}` | 'none'

/** A protocol error that a client can make. */
export interface Fault {
  readonly name: string
  /** The section of RFC 9113 (or another RFC) that specifies the reaction. */
  readonly section: string
  readonly frames: (place: FaultPlace) => readonly Buffer[]
  /** Our reaction first; the others also conform to the RFC. */
  readonly reactions: readonly [Reaction, ...Reaction[]]
}

const [PROTOCOL, FLOW_CONTROL, CLOSED, FRAME_SIZE, COMPRESSION] = [1, 3, 5, 6, 9]
const [PRIORITY, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] = [
  2, 4, 5, 6, 7, 8, 9,
]
const PADDED = 8
const NO_BYTES = Buffer.alloc(0)
const ALL = END_HEADERS | END_STREAM

type Fields = readonly (readonly [string, string])[]
const HEAD: Fields = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'x.test'],
  [':path', '/fault'],
]

const headers = (id: number, flags: number, fields: Fields = HEAD) =>
  frame(HEADERS, flags, id, fieldBlock(fields))
const without = (name: string) => HEAD.filter(([own]) => own !== name)
const data = (id: number, flags: number, text: string) => frame(DATA, flags, id, Buffer.from(text))

/** The frames are a fault whatever precedes them. */
const connection = (
  name: string,
  section: string,
  code: number,
  frames: Fault['frames'],
): Fault => ({ name, section, frames, reactions: [`connection ${code}`] })

/** A malformed head. */
const malformed = (name: string, section: string, fields: Fields): Fault => ({
  name,
  section,
  frames: ({ id }) => [headers(id, ALL, fields)],
  reactions: ['stream 1'],
})

const settings = (id: number, value: number) => () => [frame(SETTINGS, 0, 0, setting(id, value))]

const FRAMES: readonly Fault[] = [
  connection('SETTINGS of five bytes', '6.5', FRAME_SIZE, () => [
    frame(SETTINGS, 0, 0, Buffer.alloc(5)),
  ]),
  connection('SETTINGS on a stream', '6.5', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS),
    frame(SETTINGS, 0, id, NO_BYTES),
  ]),
  connection('an acknowledgement with settings', '6.5', FRAME_SIZE, () => [
    frame(SETTINGS, 1, 0, setting(3, 1)),
  ]),
  connection('ENABLE_PUSH of 2', '6.5.2', PROTOCOL, settings(2, 2)),
  connection('a window of 2^31', '6.5.2', FLOW_CONTROL, settings(4, 0x80000000)),
  connection('frames of at most 16383 bytes', '6.5.2', PROTOCOL, settings(5, 16_383)),
  connection('frames of at most 2^24 bytes', '6.5.2', PROTOCOL, settings(5, 0x1000000)),
  connection('PING of seven bytes', '6.7', FRAME_SIZE, () => [frame(PING, 0, 0, Buffer.alloc(7))]),
  connection('PING on a stream', '6.7', PROTOCOL, ({ id }) => [
    frame(PING, 0, id, Buffer.alloc(8)),
  ]),
  connection('RST_STREAM of a stream that is idle', '6.4', PROTOCOL, ({ id }) => [
    frame(RST_STREAM, 0, id, word(8)),
  ]),
  connection('RST_STREAM of three bytes', '6.4', FRAME_SIZE, ({ id }) => [
    headers(id, END_HEADERS),
    frame(RST_STREAM, 0, id, Buffer.alloc(3)),
  ]),
  connection('RST_STREAM of the connection', '6.4', PROTOCOL, () => [
    frame(RST_STREAM, 0, 0, word(8)),
  ]),
  connection('WINDOW_UPDATE of three bytes', '6.9', FRAME_SIZE, () => [
    frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(3)),
  ]),
  connection('WINDOW_UPDATE of 0', '6.9', PROTOCOL, () => [frame(WINDOW_UPDATE, 0, 0, word(0))]),
  connection('WINDOW_UPDATE beyond 2^31-1', '6.9.1', FLOW_CONTROL, () => [
    frame(WINDOW_UPDATE, 0, 0, word(0x7fffffff)),
  ]),
  connection('WINDOW_UPDATE of a stream that is idle', '5.1', PROTOCOL, ({ id }) => [
    frame(WINDOW_UPDATE, 0, id, word(1)),
  ]),
  connection('DATA of the connection', '6.1', PROTOCOL, () => [data(0, 0, 'x')]),
  connection('DATA of a stream that is idle', '5.1', PROTOCOL, ({ id }) => [data(id, 0, 'x')]),
  connection('HEADERS of the connection', '6.2', PROTOCOL, () => [headers(0, ALL)]),
  connection('HEADERS of an even stream', '5.1.1', PROTOCOL, ({ id }) => [headers(id + 1, ALL)]),
  connection('HEADERS of a stream that was skipped', '5.1.1', PROTOCOL, ({ id }) => [
    headers(id + 2, ALL),
    headers(id, ALL),
  ]),
  connection('CONTINUATION of nothing', '6.10', PROTOCOL, ({ id }) => [
    headers(id, ALL),
    frame(CONTINUATION, END_HEADERS, id, NO_BYTES),
  ]),
  connection('PING within a head', '6.10', PROTOCOL, ({ id }) => [
    headers(id, END_STREAM),
    frame(PING, 0, 0, Buffer.alloc(8)),
  ]),
  connection('a frame that nobody knows within a head', '5.5', PROTOCOL, ({ id }) => [
    headers(id, END_STREAM),
    frame(0x2a, 0, 0, NO_BYTES),
  ]),
  connection('CONTINUATION of another stream', '6.10', PROTOCOL, ({ id }) => [
    headers(id, END_STREAM),
    frame(CONTINUATION, END_HEADERS, id + 2, NO_BYTES),
  ]),
  connection('PUSH_PROMISE', '8.4', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS),
    frame(PUSH_PROMISE, END_HEADERS, id, Buffer.concat([word(2), fieldBlock(HEAD)])),
  ]),
  connection('PRIORITY of the connection', '6.3', PROTOCOL, () => [
    frame(PRIORITY, 0, 0, Buffer.alloc(5)),
  ]),
  connection('GOAWAY on a stream', '6.8', PROTOCOL, ({ id }) => [
    frame(GOAWAY, 0, id, Buffer.alloc(8)),
  ]),
  connection('GOAWAY of seven bytes', '6.8', FRAME_SIZE, () => [
    frame(GOAWAY, 0, 0, Buffer.alloc(7)),
  ]),
  connection('PING that is longer than a frame may be', '4.2', FRAME_SIZE, () => [
    frame(PING, 0, 0, Buffer.alloc(16_385)),
  ]),
  connection('DATA with more padding than payload', '6.1', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS),
    frame(DATA, PADDED, id, Buffer.from([5, 0, 0])),
  ]),
  connection('HEADERS with more padding than payload', '6.2', PROTOCOL, ({ id }) => [
    frame(HEADERS, ALL | PADDED, id, Buffer.from([200, 0x82])),
  ]),
  connection('a field of an index that is not there', '4.3', COMPRESSION, ({ id }) => [
    frame(HEADERS, ALL, id, Buffer.from([0xff, 0x80, 0x01])),
  ]),
  connection('a field of the index 0', '4.3', COMPRESSION, ({ id }) => [
    frame(HEADERS, ALL, id, Buffer.from([0x80])),
  ]),
  connection('a text that is cut off', '4.3', COMPRESSION, ({ id }) => [
    frame(HEADERS, ALL, id, Buffer.from([0x00, 0x05, 0x61])),
  ]),
  connection('a table that is larger than ours', '4.3', COMPRESSION, ({ id }) => [
    frame(HEADERS, ALL, id, Buffer.from([0x3f, 0xe2, 0x1f, 0x82])),
  ]),
  connection('bad Huffman code', '4.3', COMPRESSION, ({ id }) => [
    frame(HEADERS, ALL, id, Buffer.from([0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x01, 0x61])),
  ]),
]

/**
 * RFC 9113 §5.1: a stream error while the response is in progress, otherwise a connection error.
 */
const AFTER_END: Pick<Fault, 'section' | 'reactions'> = {
  section: '5.1',
  reactions: [`connection ${CLOSED}`, `stream ${CLOSED}`],
}

const STREAMS: readonly Fault[] = [
  {
    name: 'DATA after the end of a request',
    frames: ({ id }) => [headers(id, ALL), data(id, 0, 'x')],
    ...AFTER_END,
    reactions: [`stream ${CLOSED}`, `connection ${CLOSED}`],
  },
  {
    name: 'HEADERS after the end of a request',
    frames: ({ id }) => [headers(id, ALL), headers(id, ALL)],
    ...AFTER_END,
  },
  {
    name: 'DATA after a reset',
    frames: ({ id }) => [
      headers(id, END_HEADERS),
      frame(RST_STREAM, 0, id, word(8)),
      data(id, 0, 'x'),
    ],
    ...AFTER_END,
    reactions: [`stream ${CLOSED}`, `connection ${CLOSED}`],
  },
  {
    name: 'HEADERS after a reset',
    frames: ({ id }) => [
      headers(id, END_HEADERS),
      frame(RST_STREAM, 0, id, word(8)),
      headers(id, ALL),
    ],
    ...AFTER_END,
  },
  {
    name: 'WINDOW_UPDATE of 0 on a stream',
    section: '6.9',
    frames: ({ id }) => [headers(id, END_HEADERS), frame(WINDOW_UPDATE, 0, id, word(0))],
    reactions: ['stream 1'],
  },
  {
    name: 'WINDOW_UPDATE of a stream beyond 2^31-1',
    section: '6.9.1',
    // Sent twice, since the window may be zero bytes.
    frames: ({ id }) => [
      headers(id, END_HEADERS),
      frame(WINDOW_UPDATE, 0, id, word(0x7fffffff)),
      frame(WINDOW_UPDATE, 0, id, word(0x7fffffff)),
    ],
    reactions: ['stream 3'],
  },
  {
    name: 'PRIORITY of four bytes',
    section: '6.3',
    frames: ({ id }) => [headers(id, END_HEADERS), frame(PRIORITY, 0, id, Buffer.alloc(4))],
    reactions: ['stream 6'],
  },
  {
    name: 'a stream that depends on itself',
    section: 'RFC 7540 5.3.1; RFC 9113 has none',
    frames: ({ id }) => [
      headers(id, END_HEADERS),
      frame(PRIORITY, 0, id, Buffer.concat([word(id), Buffer.from([1])])),
    ],
    reactions: ['stream 1', 'none'],
  },
  {
    name: 'trailers that do not end the request',
    section: '8.1',
    frames: ({ id }) => [headers(id, END_HEADERS), headers(id, END_HEADERS, [['x-t', '1']])],
    reactions: ['stream 1'],
  },
  {
    name: 'trailers with a pseudo-header',
    section: '8.1',
    frames: ({ id }) => [headers(id, END_HEADERS), headers(id, ALL, [[':path', '/x']])],
    reactions: ['stream 1'],
  },
  {
    name: 'a body that is shorter than it says',
    section: '8.1.1',
    frames: ({ id }) => [
      headers(id, END_HEADERS, [...HEAD, ['content-length', '3']]),
      data(id, END_STREAM, 'x'),
    ],
    reactions: ['stream 1'],
  },
  {
    name: 'a body that is longer than it says',
    section: '8.1.1',
    frames: ({ id }) => [
      headers(id, END_HEADERS, [...HEAD, ['content-length', '3']]),
      data(id, END_STREAM, 'xxxx'),
    ],
    reactions: ['stream 1'],
  },
  {
    name: 'no body where a length is told',
    section: '8.1.1',
    frames: ({ id }) => [headers(id, ALL, [...HEAD, ['content-length', '3']])],
    reactions: ['stream 1'],
  },
]

const HEADS: readonly Fault[] = [
  malformed('a name in upper case', '8.2.1', [...HEAD, ['X-A', '1']]),
  malformed('a name with a space', '8.2.1', [...HEAD, ['x a', '1']]),
  malformed('an empty name', '8.2.1', [...HEAD, ['', '1']]),
  malformed('a value with NUL', '8.2.1', [...HEAD, ['x-a', 'a\0b']]),
  malformed('a value with CR', '8.2.1', [...HEAD, ['x-a', 'a\rb']]),
  malformed('a value with LF', '8.2.1', [...HEAD, ['x-a', 'a\nb']]),
  malformed('a value that begins with a space', '8.2.1', [...HEAD, ['x-a', ' a']]),
  malformed('a value that ends with a tab', '8.2.1', [...HEAD, ['x-a', 'a\t']]),
  malformed('connection', '8.2.2', [...HEAD, ['connection', 'close']]),
  malformed('keep-alive', '8.2.2', [...HEAD, ['keep-alive', '1']]),
  malformed('transfer-encoding', '8.2.2', [...HEAD, ['transfer-encoding', 'chunked']]),
  malformed('upgrade', '8.2.2', [...HEAD, ['upgrade', 'h2c']]),
  malformed('te with something else than trailers', '8.2.2', [...HEAD, ['te', 'gzip']]),
  malformed('no :method', '8.3.1', without(':method')),
  malformed('no :scheme', '8.3.1', without(':scheme')),
  malformed('no :path', '8.3.1', without(':path')),
  malformed('an empty :path', '8.3.1', [...without(':path'), [':path', '']]),
  malformed('two of :path', '8.3.1', [...HEAD, [':path', '/y']]),
  malformed('two of :method', '8.3.1', [...HEAD, [':method', 'GET']]),
  malformed('two of :authority', '8.3.1', [...HEAD, [':authority', 'y.test']]),
  malformed('a pseudo-header that nobody knows', '8.3', [...HEAD, [':what', '1']]),
  malformed(':status in a request', '8.3', [...HEAD, [':status', '200']]),
  malformed('a pseudo-header behind a field', '8.3', [
    ...without(':path'),
    ['x-a', '1'],
    [':path', '/fault'],
  ]),
  malformed('host that is not :authority', '8.3.1', [...HEAD, ['host', 'y.test']]),
  malformed('a :path that is no path', '8.3.1', [...without(':path'), [':path', 'fault']]),
  malformed('CONNECT with :path', '8.5', [[':method', 'CONNECT'], ...HEAD.slice(1)]),
]

export const CLIENT_FAULTS: readonly Fault[] = [...FRAMES, ...STREAMS, ...HEADS]
