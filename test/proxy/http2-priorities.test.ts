import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  rawHttp2,
  startHttp2Gateway,
} from './http2-gateway.ts'
import { startPeer } from './http2-peers.ts'
import { words } from './scripted-upstream.ts'
import { until } from './whole-gateway.ts'

const [SETTINGS, GOAWAY, WINDOW_UPDATE, PRIORITY_UPDATE] = [4, 7, 8, 16]
const NO_RFC7540_PRIORITIES = 9
const STEP = 10_000

const opened: { close: () => unknown }[] = []
after(() => opened.forEach((own) => void own.close()))

/** Records what a client receives, as `data 1` or `goaway 1`, and settings by their number. */
class Client {
  readonly seen: string[] = []
  readonly settings = new Map<number, number>()
  readonly socket: Socket
  #held = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (bytes: Buffer) => {
      this.#held = Buffer.concat([this.#held, bytes])
      while (this.#held.length >= 9 && this.#held.length >= 9 + this.#held.readUIntBE(0, 3)) {
        const end = 9 + this.#held.readUIntBE(0, 3)
        this.#read(this.#held.subarray(0, end))
        this.#held = this.#held.subarray(end)
      }
    })
  }

  /** Grows the window of the connection by `bytes`; returns the streams that used it. */
  async grow(bytes: number): Promise<readonly string[]> {
    const before = this.seen.length
    this.socket.write(frame(WINDOW_UPDATE, 0, 0, words(bytes)))
    await until('data', () => this.seen.length > before)
    return this.seen.slice(before)
  }

  #read(bytes: Buffer): void {
    const [type, id] = [bytes[3], bytes.readUInt32BE(5)]
    if (type === DATA) this.seen.push(`data ${id}`)
    if (type === GOAWAY) this.seen.push(`goaway ${bytes.readUInt32BE(13)}`)
    if (type !== SETTINGS) return
    for (let at = 9; at < bytes.length; at += 6)
      this.settings.set(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2))
  }
}

/** Large responses that wait for the window of the connection, one for each priority. */
async function waiting(...priorities: readonly string[]): Promise<Client> {
  const peer = await startPeer('h1', (_, response) => response.end(Buffer.alloc(400_000)))
  const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: 'h1' })
  opened.push(gateway, peer)
  const client = new Client(await rawHttp2(gateway.port))
  opened.push({ close: () => client.socket.destroy() })
  const setting = Buffer.from([0, 4, 0, 0x10, 0, 0])
  client.socket.write(frame(SETTINGS, 0, 0, setting))
  for (const [i, priority] of priorities.entries()) {
    const fields = [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':authority', 'x'],
      [':path', '/'],
      ...(priority === '' ? [] : [['priority', priority]]),
    ] as [string, string][]
    const ends = END_HEADERS | END_STREAM
    client.socket.write(frame(HEADERS, ends, 2 * i + 1, fieldBlock(fields)))
  }
  await until('what the first window has room for', () => client.seen.length >= 4)
  // Lets the responses without data arrive as well.
  await new Promise((resolve) => setTimeout(resolve, 300))
  return client
}

async function shares(client: Client, turns: number): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>()
  for (let i = 0; i < turns; i++) {
    const first = (await client.grow(STEP))[0] as string
    found.set(first, (found.get(first) ?? 0) + 1)
  }
  return found
}

describe('priorities of RFC 9218', () => {
  it('the gateway announces that RFC 7540 priorities are not used', async () => {
    const client = await waiting('')
    assert.equal(client.settings.get(NO_RFC7540_PRIORITIES), 1)
  })

  it('more urgent responses come first, regardless of the request order', async () => {
    const found = await shares(await waiting('u=5', 'u=1, i', 'u=5, i'), 12)
    assert.ok((found.get('data 3') ?? 0) >= 10, JSON.stringify([...found]))
  })

  it('responses without a priority take turns', async () => {
    const found = await shares(await waiting('', '', ''), 12)
    for (const id of [1, 3, 5]) assert.ok((found.get(`data ${id}`) ?? 0) >= 2, `${id}`)
  })

  it('of responses that are not incremental, the first comes before the others', async () => {
    const found = await shares(await waiting('u=2', 'u=2', 'u=2'), 12)
    assert.ok((found.get('data 1') ?? 0) >= 10, JSON.stringify([...found]))
  })

  it('PRIORITY_UPDATE changes the priority during the response', async () => {
    const client = await waiting('u=1', 'u=6')
    const value = Buffer.concat([words(3), Buffer.from('u=0')])
    client.socket.write(frame(PRIORITY_UPDATE, 0, 0, value))
    const found = await shares(client, 12)
    assert.ok((found.get('data 3') ?? 0) >= 10, JSON.stringify([...found]))
  })

  for (const [name, bytes, code] of [
    ['on a stream', frame(PRIORITY_UPDATE, 0, 1, words(1)), 1],
    ['of no stream', frame(PRIORITY_UPDATE, 0, 0, words(0)), 1],
    ['too short', frame(PRIORITY_UPDATE, 0, 0, Buffer.from([0, 0, 1])), 6],
  ] as const) {
    it(`PRIORITY_UPDATE ${name} ends the connection`, async () => {
      const client = await waiting('')
      client.socket.write(bytes)
      await until('the end', () => client.seen.includes(`goaway ${code}`))
    })
  }
})
