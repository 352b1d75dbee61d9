import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ControlEvents, readControlFrame } from './control-frames.ts'
import { PeerSettings } from './peer-settings.ts'
import {
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  GOAWAY,
  NO_ERROR,
  PING,
  PRIORITY,
  PRIORITY_UPDATE,
  PROTOCOL_ERROR,
  PUSH_PROMISE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from './protocol.ts'

/** Streams up to this one were opened. */
const LAST = 5
/** Windows cannot grow by more than this. */
const ROOM = 1_000

/** The result of one frame: its code, and what it did. */
function read(type: number, id: number, payload: Buffer, flags = 0): readonly unknown[] {
  // Surrounded by other bytes, as in a read buffer.
  const bytes = Buffer.concat([Buffer.alloc(7, 0xee), payload, Buffer.alloc(7, 0xee)])
  const log: unknown[] = []
  const note =
    (what: string) =>
    (...details: readonly unknown[]) =>
      void log.push([what, ...details].join(' '))
  const events: ControlEvents = {
    peer: new PeerSettings('client'),
    isIdle: (own) => own > LAST,
    failStream: note('fail'),
    wasReset: note('reset'),
    changed: (growth) => {
      log.push(`changed ${growth}`)
      return NO_ERROR
    },
    wished: note('wished'),
    acknowledged: note('acknowledged'),
    pinged: (own, from) => void log.push(`ping ${own.toString('hex', from, from + 8)}`),
    ponged: (own, from) => void log.push(`pong ${own.toString('hex', from, from + 8)}`),
    wentAway: note('away'),
    prioritized: (own, value) => {
      log.push(`priority ${own} ${value}`)
      return NO_ERROR
    },
    grew: (own, byteCount) => {
      log.push(`grew ${own} ${byteCount}`)
      return byteCount <= ROOM
    },
  }
  return [readControlFrame(events, type, flags, id, bytes, 7, 7 + payload.length), ...log]
}

const numbers = (...all: readonly number[]) => {
  const bytes = Buffer.alloc(4 * all.length)
  for (const [at, one] of all.entries()) bytes.writeUInt32BE(one, 4 * at)
  return bytes
}

describe('control frames', () => {
  for (const [what, type, ids, lengths, wrongLength] of [
    ['PRIORITY', PRIORITY, 'stream', undefined, NO_ERROR],
    ['RST_STREAM', RST_STREAM, 'opened', [4], FRAME_SIZE_ERROR],
    ['SETTINGS', SETTINGS, 'connection', [0, 6, 12], FRAME_SIZE_ERROR],
    ['PUSH_PROMISE', PUSH_PROMISE, 'none', undefined, PROTOCOL_ERROR],
    ['PING', PING, 'connection', [8], FRAME_SIZE_ERROR],
    ['GOAWAY', GOAWAY, 'connection', [8, 9, 10, 11, 12, 13], FRAME_SIZE_ERROR],
    [
      'PRIORITY_UPDATE',
      PRIORITY_UPDATE,
      'connection',
      [4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
      FRAME_SIZE_ERROR,
    ],
  ] as const) {
    it(`${what} of any length, on any stream: only what RFC 9113 §6 allows`, () => {
      for (const id of [0, 1, LAST, LAST + 2]) {
        for (let length = 0; length < 14; length++) {
          const isFit =
            ids === 'connection'
              ? id === 0
              : ids === 'stream'
                ? id > 0
                : ids === 'opened' && id > 0 && id <= LAST
          const isLength = lengths === undefined || (lengths as readonly number[]).includes(length)
          const expected = isFit ? (isLength ? NO_ERROR : wrongLength) : PROTOCOL_ERROR
          // Zero is no error in any payload.
          const [code, ...log] = read(type, id, Buffer.alloc(length))
          assert.equal(code, expected, `stream ${id}, ${length} bytes`)
          assert.equal(log.length > 0, expected === NO_ERROR, `stream ${id}, ${length} bytes`)
        }
      }
    })
  }

  it('PRIORITY: a wrong length or a stream that depends on itself fails the stream', () => {
    const payload = (dependency: number) => Buffer.concat([numbers(dependency), Buffer.from([7])])
    assert.deepEqual(read(PRIORITY, 3, payload(1)), [NO_ERROR, 'wished'])
    for (const own of [3, 0x8000_0003])
      assert.deepEqual(read(PRIORITY, 3, payload(own)), [NO_ERROR, 'wished', 'fail 3 1'])
    for (const length of [0, 4, 6]) {
      const [code, ...log] = read(PRIORITY, 3, Buffer.alloc(length))
      assert.deepEqual([code, log], [NO_ERROR, ['wished', `fail 3 ${FRAME_SIZE_ERROR}`]])
    }
  })

  it('RST_STREAM has the code of the peer', () => {
    assert.deepEqual(read(RST_STREAM, 3, numbers(0xdead_beef)), [
      NO_ERROR,
      `reset 3 ${0xdead_beef}`,
    ])
  })

  it('SETTINGS change windows, or acknowledge ours without a payload', () => {
    const window = Buffer.from([0, 4, 0, 1, 0, 0])
    assert.deepEqual(read(SETTINGS, 0, window), [NO_ERROR, 'changed 1'])
    assert.deepEqual(read(SETTINGS, 0, Buffer.alloc(0)), [NO_ERROR, 'changed 0'])
    assert.deepEqual(read(SETTINGS, 0, Buffer.alloc(0), 1), [NO_ERROR, 'acknowledged'])
    assert.deepEqual(read(SETTINGS, 0, window, 1), [FRAME_SIZE_ERROR])
    const large = Buffer.from([0, 4, 0x80, 0, 0, 0])
    assert.deepEqual(read(SETTINGS, 0, large), [FLOW_CONTROL_ERROR])
  })

  it('PING is one, or the acknowledgement of one, by its flag alone', () => {
    const payload = Buffer.from('0102030405060708', 'hex')
    for (const flags of [0, 1, 2, 3, 0xfe, 0xff]) {
      const word = flags % 2 === 0 ? 'ping' : 'pong'
      assert.deepEqual(read(PING, 0, payload, flags), [NO_ERROR, `${word} 0102030405060708`])
    }
  })

  it('GOAWAY has a stream without its reserved bit, a code, and perhaps more', () => {
    for (const more of ['', 'debug']) {
      const payload = Buffer.concat([numbers(0x8000_0005, 11), Buffer.from(more)])
      assert.deepEqual(read(GOAWAY, 0, payload), [NO_ERROR, 'away 5 11'])
    }
  })

  it('WINDOW_UPDATE extends a window within its limit', () => {
    for (const [id, growth, expected] of [
      [0, 5, [NO_ERROR, 'grew 0 5']],
      [0, 0x8000_0005, [NO_ERROR, 'grew 0 5']],
      [0, 0, [PROTOCOL_ERROR]],
      [0, 0x8000_0000, [PROTOCOL_ERROR]],
      [0, ROOM + 1, [FLOW_CONTROL_ERROR, `grew 0 ${ROOM + 1}`]],
      [3, 5, [NO_ERROR, 'grew 3 5']],
      [3, 0, [NO_ERROR, `fail 3 ${PROTOCOL_ERROR}`]],
      [3, ROOM + 1, [NO_ERROR, `grew 3 ${ROOM + 1}`, `fail 3 ${FLOW_CONTROL_ERROR}`]],
      [LAST + 2, 5, [PROTOCOL_ERROR]],
    ] as const) {
      const [code, ...log] = read(WINDOW_UPDATE, id, numbers(growth))
      const [expectedCode, ...expectedLog] = expected
      assert.deepEqual([code, log], [expectedCode, expectedLog], `${id} ${growth}`)
    }
    for (const length of [0, 3, 5, 8])
      assert.deepEqual(read(WINDOW_UPDATE, 3, Buffer.alloc(length, 1)), [FRAME_SIZE_ERROR])
  })

  it('PRIORITY_UPDATE has a stream without its reserved bit, and a value', () => {
    const payload = Buffer.concat([numbers(0x8000_0009), Buffer.from('u=2, i')])
    assert.deepEqual(read(PRIORITY_UPDATE, 0, payload), [NO_ERROR, 'wished', 'priority 9 u=2, i'])
  })

  it('of other types are ignored', () => {
    for (const type of [10, 11, 15, 17, 255])
      for (const id of [0, 1, LAST + 2])
        assert.deepEqual(read(type, id, Buffer.alloc(id)), [NO_ERROR])
  })
})
