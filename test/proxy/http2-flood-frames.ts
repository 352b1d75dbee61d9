import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  RST_STREAM,
} from './http2-gateway.ts'

const [PRIORITY, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION, UNKNOWN] = [2, 4, 6, 8, 9, 0x2a]
const PRIORITY_UPDATE = 16
const ACK = 1
const HEAD = fieldBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'x'],
  [':path', '/held'],
])
const empty = Buffer.alloc(0)
export const times = (count: number, make: (i: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => make(i)))

/** Floods: the bytes that are sent, and their labels in metrics and log. */
export const FLOODS: readonly (readonly [
  name: string,
  kind: string,
  limit: string,
  bytes: Buffer,
])[] = [
  [
    'rapid reset',
    'resets',
    'http2-resets',
    times(2_000, (i) =>
      Buffer.concat([
        frame(HEADERS, END_HEADERS, 2 * i + 1, HEAD),
        frame(RST_STREAM, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8])),
      ]),
    ),
  ],
  [
    'malformed requests',
    'resets',
    'http2-resets',
    times(2_000, (i) => frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, empty)),
  ],
  [
    'windows that overflow',
    'resets',
    'http2-resets',
    times(2_000, (i) =>
      Buffer.concat([
        frame(HEADERS, END_HEADERS, 2 * i + 1, HEAD),
        frame(WINDOW_UPDATE, 0, 2 * i + 1, Buffer.from([0x7f, 0xff, 0xff, 0xff])),
      ]),
    ),
  ],
  ['PING', 'pings', 'http2-control-frames', times(5_000, () => frame(PING, 0, 0, Buffer.alloc(8)))],
  [
    'responses to no PING',
    'pings',
    'http2-control-frames',
    times(5_000, () => frame(PING, ACK, 0, Buffer.alloc(8))),
  ],
  [
    'SETTINGS',
    'settings',
    'http2-control-frames',
    times(5_000, () => frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0x10, 0]))),
  ],
  [
    'DATA without data',
    'empty-frames',
    'http2-control-frames',
    Buffer.concat([
      frame(HEADERS, END_HEADERS, 1, HEAD),
      times(5_000, () => frame(DATA, 0, 1, empty)),
    ]),
  ],
  [
    'PRIORITY',
    'priorities',
    'http2-control-frames',
    times(5_000, () => frame(PRIORITY, 0, 5, Buffer.from([0, 0, 0, 3, 1]))),
  ],
  [
    'PRIORITY_UPDATE',
    'priorities',
    'http2-control-frames',
    times(5_000, () => frame(PRIORITY_UPDATE, 0, 0, Buffer.from('\0\0\0\x05u=1'))),
  ],
  [
    'WINDOW_UPDATE of one byte',
    'window-updates',
    'http2-overhead',
    times(40_000, () => frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1]))),
  ],
  [
    'frames that nobody knows',
    'overhead',
    'http2-overhead',
    times(40, () => frame(UNKNOWN, 0, 0, Buffer.alloc(16_384))),
  ],
  [
    'CONTINUATION without end',
    'header-frames',
    'http2-header-frames',
    Buffer.concat([
      frame(HEADERS, 0, 1, HEAD),
      times(100, () => frame(CONTINUATION, 0, 1, Buffer.from([0x10, 1, 0x61, 0]))),
    ]),
  ],
  [
    'a head without end',
    'header-frames',
    'http2-header-frames',
    Buffer.concat([
      frame(HEADERS, 0, 1, HEAD),
      times(20, () => frame(CONTINUATION, 0, 1, Buffer.alloc(16_384, 0x10))),
    ]),
  ],
]

/** Protocol violations on a connection, and the code of the GOAWAY that ends it. */
export const CONNECTION_ERRORS: readonly (readonly [
  name: string,
  code: string,
  number: number,
  bytes: Buffer,
])[] = [
  ['a frame that is too long', 'frame-size', 6, frame(UNKNOWN, 0, 0, Buffer.alloc(16_385))],
  [
    'a window of the connection that overflows',
    'flow-control',
    3,
    frame(WINDOW_UPDATE, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff])),
  ],
  [
    'a table of HPACK that is larger than what was granted',
    'compression',
    9,
    frame(HEADERS, END_HEADERS, 1, Buffer.concat([Buffer.from([0x3f, 0xe2, 0x1f]), HEAD])),
  ],
  ['a stream of an even number', 'protocol', 1, frame(HEADERS, END_HEADERS, 2, HEAD)],
]
