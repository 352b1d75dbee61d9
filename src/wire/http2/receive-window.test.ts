import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { MAX_EXTENDED, ReceiveWindow } from './receive-window.ts'

const SIZE = 1_048_575

/** A peer that sends as much as its window allows; `held` bytes are unconsumed. */
class Sender {
  readonly window = new ReceiveWindow(SIZE)
  /** The window as the peer knows it. */
  left = SIZE
  held = 0

  send(length: number, isTaken: boolean): void {
    assert.ok(length <= this.left, `${length} bytes, and ${this.left} are left`)
    assert.ok(this.window.spend(length))
    this.left += this.window.due() - length
    if (isTaken) this.left += this.window.giveBack(length)
    else this.held += length
  }

  take(length: number): void {
    this.held -= length
    this.left += this.window.giveBack(length)
  }
}

describe('a connection window', () => {
  const senders: Sender[] = []
  const sender = () => {
    const made = new Sender()
    senders.push(made)
    return made
  }
  afterEach(() => {
    for (const { window } of senders.splice(0)) window.close()
    assert.equal(ReceiveWindow.extended, 0)
  })

  it('is updated in halves', () => {
    const peer = sender()
    peer.send((SIZE - 1) / 2, true)
    assert.equal(peer.left, (SIZE + 1) / 2)
    peer.send(1, true)
    assert.equal(peer.left, SIZE)
  })

  for (const held of [0.5, 0.6, 0.9, 0.999])
    it(`goes on while ${held * 100} % of it are held`, () => {
      const peer = sender()
      peer.send(Math.floor(SIZE * held), false)
      for (let sent = 0; sent < 4 * SIZE; ) {
        assert.ok(peer.left > 0, `stopped after ${sent} bytes`)
        const length = Math.min(peer.left, 16_384)
        peer.send(length, true)
        sent += length
      }
    })

  it('is updated by what was consumed if the rest is then held', () => {
    const peer = sender()
    peer.send(SIZE / 3, true)
    assert.equal(peer.left, SIZE - SIZE / 3)
    for (let sent = 0; sent < SIZE - 1_000; sent += 1_000) peer.send(1_000, false)
    assert.ok(peer.left > 0)
  })

  it('detects more than the peer may send', () => {
    const { window } = sender()
    assert.ok(!window.spend(SIZE + 1))
    assert.ok(window.spend(SIZE))
    assert.ok(!window.spend(1))
  })

  it('is checked repeatedly while it runs out, but not for each byte', () => {
    const peer = sender()
    let looks = 0
    for (let sent = 0; sent < SIZE - 16; sent += 16) {
      peer.send(16, false)
      if (peer.window.isScarce()) looks++
    }
    assert.ok(looks >= 8 && looks <= 24, `${looks} looks`)
  })

  it('is extended if all of it is held, and shrinks once it is consumed', () => {
    const peer = sender()
    peer.send(SIZE, false)
    const more = peer.window.extend()
    assert.equal(more, Math.ceil(SIZE / 2))
    assert.equal(ReceiveWindow.extended, Math.ceil(SIZE / 2))
    peer.left += more
    // The window is large enough now.
    assert.equal(peer.window.extend(), 0)
    peer.send(Math.ceil(SIZE / 2), true)
    peer.take(SIZE)
    assert.equal(ReceiveWindow.extended, 0)
    assert.ok(peer.left <= SIZE)
  })

  it('is not extended beyond the shared limit', () => {
    const many = Array.from({ length: 100 }, sender)
    for (const peer of many) peer.send(SIZE, false)
    for (const peer of many) peer.left += peer.window.extend()
    assert.equal(ReceiveWindow.extended, MAX_EXTENDED)
    assert.equal(
      many.reduce((sum, { left }) => sum + left, 0),
      MAX_EXTENDED,
    )
    // Peers without any window continue as soon as bytes are consumed.
    const last = many.at(-1) as Sender
    assert.equal(last.left, 0)
    last.take(1)
    assert.equal(last.left, 1)
  })
})
