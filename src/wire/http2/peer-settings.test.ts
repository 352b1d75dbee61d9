import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PeerSettings } from './peer-settings.ts'
import { FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, NO_ERROR, PROTOCOL_ERROR } from './protocol.ts'

const [TABLE, PUSH, STREAMS, WINDOW, FRAME, LIST, CONNECT, PRIORITIES] = [1, 2, 3, 4, 5, 6, 8, 9]
const DEFAULTS = {
  tableSize: 4_096,
  window: 65_535,
  frame: 16_384,
  streams: Number.POSITIVE_INFINITY,
  allowsConnect: false,
}

function read(role: 'client' | 'server', ...settings: readonly (readonly [number, number])[]) {
  const payload = Buffer.concat(
    settings.map(([id, value]) => {
      const bytes = Buffer.alloc(6)
      bytes.writeUInt16BE(id)
      bytes.writeUInt32BE(value, 2)
      return bytes
    }),
  )
  const peer = new PeerSettings(role)
  const bytes = Buffer.concat([Buffer.alloc(5, 0xff), payload, Buffer.alloc(5, 0xff)])
  const code = peer.read(bytes, 5, 5 + payload.length)
  const { tableSize, window, frame, streams, allowsConnect } = peer
  return { code, settings: { tableSize, window, frame, streams, allowsConnect } }
}

describe('settings of a peer', () => {
  for (const [id, value, code, changed] of [
    [TABLE, 0, NO_ERROR, { tableSize: 0 }],
    [TABLE, 0xffff_ffff, NO_ERROR, { tableSize: 0xffff_ffff }],
    [STREAMS, 0, NO_ERROR, { streams: 0 }],
    [STREAMS, 7, NO_ERROR, { streams: 7 }],
    [WINDOW, 0, NO_ERROR, { window: 0 }],
    [WINDOW, 0x7fff_ffff, NO_ERROR, { window: 0x7fff_ffff }],
    [WINDOW, 0x8000_0000, FLOW_CONTROL_ERROR, {}],
    [FRAME, 16_383, PROTOCOL_ERROR, {}],
    [FRAME, 16_384, NO_ERROR, { frame: 16_384 }],
    [FRAME, 16_777_215, NO_ERROR, { frame: 16_777_215 }],
    [FRAME, 16_777_216, PROTOCOL_ERROR, {}],
    [LIST, 1, NO_ERROR, {}],
    [CONNECT, 0, NO_ERROR, {}],
    [CONNECT, 1, NO_ERROR, { allowsConnect: true }],
    [CONNECT, 2, PROTOCOL_ERROR, {}],
    [PRIORITIES, 0, NO_ERROR, {}],
    [PRIORITIES, 1, NO_ERROR, {}],
    [PRIORITIES, 2, PROTOCOL_ERROR, {}],
    [7, 0xffff_ffff, NO_ERROR, {}],
    [0xffff, 1, NO_ERROR, {}],
  ] as const) {
    it(`${id} = ${value}: ${code === NO_ERROR ? 'accepted' : `error ${code}`}`, () => {
      for (const role of ['client', 'server'] as const) {
        const expected = { code, settings: { ...DEFAULTS, ...changed } }
        assert.deepEqual(read(role, [id as number, value]), expected)
      }
    })
  }

  it('enable push only for a client, and only with 0 or 1', () => {
    for (const [role, value, code] of [
      ['client', 0, NO_ERROR],
      ['client', 1, NO_ERROR],
      ['client', 2, PROTOCOL_ERROR],
      ['server', 0, NO_ERROR],
      ['server', 1, PROTOCOL_ERROR],
    ] as const) {
      assert.equal(read(role, [PUSH as number, value]).code, code, `${role} ${value}`)
    }
  })

  it('are applied in order, up to the first error', () => {
    const [table, window, frame] = [TABLE, WINDOW, FRAME] as [number, number, number]
    const { code, settings } = read('client', [window, 1], [window, 2], [frame, 1], [table, 9])
    assert.deepEqual([code, settings], [PROTOCOL_ERROR, { ...DEFAULTS, window: 2 }])
  })

  it('cannot take back that extended CONNECT is supported', () => {
    const connect = CONNECT as number
    assert.equal(read('client', [connect, 1], [connect, 0]).settings.allowsConnect, true)
  })

  it('come in units of six bytes', () => {
    for (let length = 0; length < 20; length++) {
      const code = new PeerSettings('client').read(Buffer.alloc(20), 0, length)
      assert.equal(code, length % 6 === 0 ? NO_ERROR : FRAME_SIZE_ERROR, `${length}`)
    }
  })
})
