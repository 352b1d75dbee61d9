import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  RST_STREAM,
} from '../proxy/http2-gateway.ts'
import type { Fault } from './http2-client-faults.ts'
import { setting, word } from './http2-scripts.ts'

const [PROTOCOL, FLOW_CONTROL, CLOSED, FRAME_SIZE, COMPRESSION] = [1, 3, 5, 6, 9]
const [PRIORITY, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] = [
  2, 4, 5, 6, 7, 8, 9,
]
const PADDED = 8
const NO_BYTES = Buffer.alloc(0)
const ALL = END_HEADERS | END_STREAM

type Fields = readonly (readonly [string, string])[]
const HEAD: Fields = [[':status', '200']]

const headers = (id: number, flags: number, fields: Fields = HEAD) =>
  frame(HEADERS, flags, id, fieldBlock(fields))
const data = (id: number, flags: number, text: string) => frame(DATA, flags, id, Buffer.from(text))
/** The ID of a stream that no request uses. */
const idle = (id: number) => id + 4

const connection = (
  name: string,
  section: string,
  code: number,
  frames: Fault['frames'],
): Fault => ({ name, section, frames, reactions: [`connection ${code}`] })

const malformed = (name: string, section: string, fields: Fields): Fault => ({
  name,
  section,
  frames: ({ id }) => [headers(id, ALL, fields)],
  reactions: ['stream 1'],
})

const stream = (name: string, section: string, code: number, frames: Fault['frames']): Fault => ({
  name,
  section,
  frames,
  reactions: [`stream ${code}`],
})

const settings = (id: number, value: number) => () => [frame(SETTINGS, 0, 0, setting(id, value))]

const FRAMES: readonly Fault[] = [
  connection('SETTINGS of five bytes', '6.5', FRAME_SIZE, () => [
    frame(SETTINGS, 0, 0, Buffer.alloc(5)),
  ]),
  connection('SETTINGS on a stream', '6.5', PROTOCOL, ({ id }) => [
    frame(SETTINGS, 0, id, NO_BYTES),
  ]),
  connection('an acknowledgement with settings', '6.5', FRAME_SIZE, () => [
    frame(SETTINGS, 1, 0, setting(3, 1)),
  ]),
  connection('ENABLE_PUSH of 1', '6.5.2', PROTOCOL, settings(2, 1)),
  connection('a window of 2^31', '6.5.2', FLOW_CONTROL, settings(4, 0x80000000)),
  connection('frames of at most 16383 bytes', '6.5.2', PROTOCOL, settings(5, 16_383)),
  connection('PING of seven bytes', '6.7', FRAME_SIZE, () => [frame(PING, 0, 0, Buffer.alloc(7))]),
  connection('PING on a stream', '6.7', PROTOCOL, ({ id }) => [
    frame(PING, 0, id, Buffer.alloc(8)),
  ]),
  connection('RST_STREAM of a stream that is idle', '6.4', PROTOCOL, ({ id }) => [
    frame(RST_STREAM, 0, idle(id), word(8)),
  ]),
  connection('RST_STREAM of three bytes', '6.4', FRAME_SIZE, ({ id }) => [
    frame(RST_STREAM, 0, id, Buffer.alloc(3)),
  ]),
  connection('WINDOW_UPDATE of 0', '6.9', PROTOCOL, () => [frame(WINDOW_UPDATE, 0, 0, word(0))]),
  connection('WINDOW_UPDATE beyond 2^31-1', '6.9.1', FLOW_CONTROL, () => [
    frame(WINDOW_UPDATE, 0, 0, word(0x7fffffff)),
  ]),
  connection('WINDOW_UPDATE of a stream that is idle', '5.1', PROTOCOL, ({ id }) => [
    frame(WINDOW_UPDATE, 0, idle(id), word(1)),
  ]),
  connection('DATA of the connection', '6.1', PROTOCOL, () => [data(0, 0, 'x')]),
  connection('DATA of a stream that is idle', '5.1', PROTOCOL, ({ id }) => [
    data(idle(id), 0, 'x'),
  ]),
  connection('HEADERS of the connection', '6.2', PROTOCOL, () => [headers(0, ALL)]),
  connection('HEADERS of a stream that is idle', '5.1', PROTOCOL, ({ id }) => [
    headers(idle(id), ALL),
  ]),
  connection('HEADERS of a stream that was not promised', '5.1.1', PROTOCOL, () => [
    headers(2, ALL),
  ]),
  connection('PUSH_PROMISE', '8.4', PROTOCOL, ({ id }) => [
    frame(
      PUSH_PROMISE,
      END_HEADERS,
      id,
      Buffer.concat([word(2), fieldBlock([[':method', 'GET']])]),
    ),
  ]),
  connection('CONTINUATION of nothing', '6.10', PROTOCOL, ({ id }) => [
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
  connection('PRIORITY of the connection', '6.3', PROTOCOL, () => [
    frame(PRIORITY, 0, 0, Buffer.alloc(5)),
  ]),
  connection('GOAWAY on a stream', '6.8', PROTOCOL, ({ id }) => [
    frame(GOAWAY, 0, id, Buffer.alloc(8)),
  ]),
  connection('PING that is longer than a frame may be', '4.2', FRAME_SIZE, () => [
    frame(PING, 0, 0, Buffer.alloc(16_385)),
  ]),
  connection('DATA with more padding than payload', '6.1', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS),
    frame(DATA, PADDED, id, Buffer.from([5, 0, 0])),
  ]),
  connection('HEADERS with more padding than payload', '6.2', PROTOCOL, ({ id }) => [
    frame(HEADERS, ALL | PADDED, id, Buffer.from([200, 0x88])),
  ]),
  connection('a field of an index that is not there', '4.3', COMPRESSION, ({ id }) => [
    frame(HEADERS, ALL, id, Buffer.from([0xff, 0x80, 0x01])),
  ]),
  connection('a text that is cut off', '4.3', COMPRESSION, ({ id }) => [
    frame(HEADERS, ALL, id, Buffer.from([0x00, 0x05, 0x61])),
  ]),
]

const STREAMS: readonly Fault[] = [
  {
    name: 'DATA after the end of a response',
    section: '5.1',
    frames: ({ id }) => [headers(id, ALL), data(id, 0, 'x')],
    reactions: [`connection ${CLOSED}`, `stream ${CLOSED}`],
  },
  {
    name: 'HEADERS after the end of a response',
    section: '5.1',
    frames: ({ id }) => [headers(id, ALL), headers(id, ALL)],
    reactions: [`connection ${CLOSED}`, `stream ${CLOSED}`],
  },
  {
    name: 'DATA after a reset',
    section: '5.1',
    frames: ({ id }) => [frame(RST_STREAM, 0, id, word(8)), data(id, 0, 'x')],
    reactions: [`connection ${CLOSED}`, `stream ${CLOSED}`],
  },
  {
    name: 'HEADERS after a reset',
    section: '5.1',
    frames: ({ id }) => [frame(RST_STREAM, 0, id, word(8)), headers(id, ALL)],
    reactions: [`connection ${CLOSED}`, `stream ${CLOSED}`],
  },
  stream('WINDOW_UPDATE of 0 on a stream', '6.9', PROTOCOL, ({ id }) => [
    frame(WINDOW_UPDATE, 0, id, word(0)),
  ]),
  stream('WINDOW_UPDATE of a stream beyond 2^31-1', '6.9.1', FLOW_CONTROL, ({ id }) => [
    // Sent twice, since the window may be zero bytes.
    frame(WINDOW_UPDATE, 0, id, word(0x7fffffff)),
    frame(WINDOW_UPDATE, 0, id, word(0x7fffffff)),
  ]),
  stream('PRIORITY of four bytes', '6.3', FRAME_SIZE, ({ id }) => [
    frame(PRIORITY, 0, id, Buffer.alloc(4)),
  ]),
  stream('DATA before a head', '8.1', PROTOCOL, ({ id }) => [data(id, 0, 'x')]),
  stream('the end before a head', '8.1', PROTOCOL, ({ id }) => [data(id, END_STREAM, '')]),
  stream('an interim response that is the end', '8.1', PROTOCOL, ({ id }) => [
    headers(id, ALL, [[':status', '103']]),
  ]),
  stream('DATA behind an interim response', '8.1', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS, [[':status', '103']]),
    data(id, 0, 'x'),
  ]),
  stream('trailers that do not end the response', '8.1', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS),
    headers(id, END_HEADERS, [['x-t', '1']]),
  ]),
  stream('trailers with a pseudo-header', '8.1', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS),
    headers(id, ALL, [[':status', '200']]),
  ]),
  stream('a body that is shorter than it says', '8.1.1', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS, [...HEAD, ['content-length', '3']]),
    data(id, END_STREAM, 'x'),
  ]),
  stream('a body that is longer than it says', '8.1.1', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS, [...HEAD, ['content-length', '3']]),
    data(id, END_STREAM, 'xxxx'),
  ]),
  stream('a body of 204', '8.1.1', PROTOCOL, ({ id }) => [
    headers(id, END_HEADERS, [[':status', '204']]),
    data(id, END_STREAM, 'x'),
  ]),
]

const HEADS: readonly Fault[] = [
  malformed('a name in upper case', '8.2.1', [...HEAD, ['X-A', '1']]),
  malformed('a name with a space', '8.2.1', [...HEAD, ['x a', '1']]),
  malformed('a value with NUL', '8.2.1', [...HEAD, ['x-a', 'a\0b']]),
  malformed('a value with CR', '8.2.1', [...HEAD, ['x-a', 'a\rb']]),
  malformed('a value with LF', '8.2.1', [...HEAD, ['x-a', 'a\nb']]),
  malformed('a value that begins with a space', '8.2.1', [...HEAD, ['x-a', ' a']]),
  malformed('connection', '8.2.2', [...HEAD, ['connection', 'close']]),
  malformed('transfer-encoding', '8.2.2', [...HEAD, ['transfer-encoding', 'chunked']]),
  malformed('no :status', '8.3.2', [['x-a', '1']]),
  malformed('two of :status', '8.3.2', [...HEAD, [':status', '404']]),
  malformed('a :status of two digits', '8.3.2', [[':status', '20']]),
  malformed('a :status that is no number', '8.3.2', [[':status', 'abc']]),
  malformed('101', '8.6', [[':status', '101']]),
  malformed(':path in a response', '8.3', [...HEAD, [':path', '/']]),
  malformed('a pseudo-header behind a field', '8.3', [['x-a', '1'], ...HEAD]),
  malformed('two lengths', '8.1.1', [...HEAD, ['content-length', '0'], ['content-length', '1']]),
]

export const SERVER_FAULTS: readonly Fault[] = [...FRAMES, ...STREAMS, ...HEADS]
