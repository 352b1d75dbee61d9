import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { turnWrites } from '../turn-writes.ts'
import { NO_LINES, NO_NAMES } from './field-lines.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { HEAD_LIMITS } from './message.ts'
import { ResponseHead, readResponseHead } from './response-head.ts'
import { ResponseWriter } from './response-writer.ts'

/**
 * A socket that completes writes only on request, like TLS: nothing is ever written synchronously.
 */
class SlowSocket extends Writable {
  readonly written: string[] = []
  #done: (() => void)[] = []

  override _write(bytes: Buffer, _: string, done: () => void): void {
    this.#done.push(() => {
      // Read only now, so that changes in the meantime are detected.
      this.written.push(bytes.toString('latin1'))
      done()
    })
  }

  async take(): Promise<void> {
    while (this.#done.length > 0) {
      this.#done.shift()?.()
      await nextTurn()
    }
  }
}

const nextTurn = () => new Promise(setImmediate)

function begin(framing: string) {
  const socket = new SlowSocket({ highWaterMark: 1 << 20 })
  return { socket, writer: responding(socket as unknown as Socket, framing) }
}

/** The writer of a response with a head and no body yet. */
function responding(socket: Socket, framing: string): ResponseWriter {
  const request = new RequestHead()
  const text = Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  assert.ok(readRequestHead(text, 0, text.length, HEAD_LIMITS, request) > 0)
  const head = new ResponseHead()
  const response = Buffer.from(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`)
  assert.ok(readResponseHead(response, 0, response.length, HEAD_LIMITS, 'GET', head) > 0)
  const writer = new ResponseWriter(socket, false)
  turnWrites.gathers = true
  writer.reset()
  assert.ok(writer.respond(head, request, '', NO_NAMES, NO_LINES))
  return writer
}

describe('response writes', () => {
  it('a short body is copied after its head, and its buffer is free at once', async () => {
    const { socket, writer } = begin('content-length: 5')
    const bytes = Buffer.from('hello')
    writer.write(bytes, false, 5)
    assert.equal(writer.isWritten, true)
    bytes.fill('x')
    await nextTurn()
    assert.ok(socket.writableLength > 0)
    await socket.take()
    assert.match(socket.written.join(''), /\r\n\r\nhello$/)
  })

  it('a short response is sent at the end of the turn, before anything after it', async () => {
    const { socket, writer } = begin('content-length: 10')
    writer.write(Buffer.from('hello'), false, 5)
    assert.equal(socket.writableLength, 0)
    writer.write(Buffer.from('world'), false, 5)
    assert.ok(socket.writableLength > 0)
    await nextTurn()
    await socket.take()
    assert.match(socket.written.join('|'), /^HTTP\/1\.1 200 [^|]*\r\n\r\nhello\|world$/)
  })

  it('ending the socket sends what is still pending', async () => {
    const { socket, writer } = begin('content-length: 5')
    writer.write(Buffer.from('hello'), false, 5)
    writer.settled.end()
    await nextTurn()
    await socket.take()
    assert.match(socket.written.join(''), /\r\n\r\nhello$/)
  })

  it('writes at once if the client has not read the previous response', async () => {
    const { socket, writer } = begin('content-length: 5')
    socket.write('before')
    writer.write(Buffer.from('hello'), false, 5)
    assert.ok(socket.writableLength > 'before'.length)
    await socket.take()
    assert.match(socket.written.join('|'), /^before\|HTTP[^|]*hello$/)
  })

  for (const [what, framing, asWire, sizes] of [
    ['a long body', 'content-length: 20000', false, [20_000]],
    ['what comes behind a short beginning', 'content-length: 10', false, [5, 5]],
    ['a long chunk', 'transfer-encoding: chunked', false, [20_000]],
    ['a long chunked body as it came', 'transfer-encoding: chunked', true, [20_000]],
  ] as const) {
    it(`${what} is needed until it has left`, async () => {
      const { socket, writer } = begin(framing)
      for (const size of sizes) writer.write(Buffer.alloc(size, 'a'), asWire, size)
      assert.equal(writer.isWritten, false)
      await socket.take()
      assert.equal(writer.isWritten, true)
    })
  }

  it('a short chunk is copied and sent in one write', async () => {
    const { socket, writer } = begin('transfer-encoding: chunked')
    const bytes = Buffer.from('hello')
    writer.write(bytes, false, 5)
    assert.equal(writer.isWritten, true)
    bytes.fill('x')
    writer.write(Buffer.from('you'), false, 3)
    await socket.take()
    assert.equal(socket.written.length, 2)
    assert.match(socket.written.join(''), /\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n$/)
  })

  it('tunnel bytes are needed until they are sent', async () => {
    const { socket, writer } = begin('content-length: 0')
    writer.flush()
    writer.writeTunnel(Buffer.from('a'))
    assert.equal(writer.isWritten, false)
    await socket.take()
    assert.equal(writer.isWritten, true)
  })

  it('bytes of the previous response count until they are sent', async () => {
    const { socket, writer } = begin('content-length: 20000')
    writer.write(Buffer.alloc(20_000), false, 20_000)
    writer.end(undefined, false)
    writer.reset()
    assert.equal(writer.isWritten, false)
    await socket.take()
    assert.equal(writer.isWritten, true)
  })
})

describe('a response over TCP', () => {
  for (const size of [1, 256, 1_024, 1_025, 16_384, 16_385]) {
    it(`of ${size} bytes of any value is what was written, whoever uses them again`, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
      const received: Buffer[] = []
      client.on('data', (bytes: Buffer) => received.push(bytes))
      const [socket] = (await once(server, 'connection')) as [Socket]
      const bytes = Buffer.from(Uint8Array.from({ length: size }, (_, at) => at * 7))
      const expected = Buffer.from(bytes)
      const writer = responding(socket, `content-length: ${size}`)
      writer.write(bytes, false, size)
      writer.end(undefined, false)
      if (writer.isWritten) bytes.fill('x')
      writer.settled.end()
      await once(client, 'end')
      const all = Buffer.concat(received)
      assert.deepEqual(all.subarray(all.indexOf('\r\n\r\n') + 4), expected)
      client.destroy()
      server.close()
    })
  }
})

describe('the Date of a response', () => {
  const datesOf = async (fields: string) => {
    const { socket, writer } = begin(`${fields}content-length: 0`)
    writer.end(undefined, false)
    await nextTurn()
    await socket.take()
    return socket.written.join('').match(/^date: .*$/gim)
  }

  it('is kept if it is present', async () => {
    const own = 'Date: Sun, 06 Nov 1994 08:49:37 GMT'
    assert.deepEqual(await datesOf(`${own}\r\n`), [own])
  })

  it('is the current time otherwise', async () => {
    const [date = ''] = (await datesOf('')) ?? []
    const late = Date.now() - Date.parse(date.slice('date: '.length))
    assert.ok(late >= 0 && late < 60_000, date)
  })
})
