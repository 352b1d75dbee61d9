import { connect, type Socket } from 'node:net'
import type { ModelLoad, ModelLoadResult } from './load.ts'

/*
 * A separate process that completes `requests` calls over `connections` connections, one at a time
 * on each. With `hold`, each connection opens one stream that stays open until stdin ends.
 */

const load: ModelLoad = JSON.parse(process.argv[2] ?? '{}')
const body = JSON.stringify(load.body)
const fields = load.headers.map((field) => `${field}\r\n`).join('')
const HEAD = `POST ${load.path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
const REQUEST = `${HEAD}${fields}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

let left = load.requests
let done = 0
let failed = 0
let sample = ''
let opened = 0

/** Streams opened concurrently: more would overflow the listen backlog. */
const OPENING = 128
const atOnce = load.hold === true ? Math.min(OPENING, load.connections) : load.connections
for (let at = 0; at < atOnce; at++) open()

function open(): void {
  const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true })
  let received = ''
  socket.setEncoding('latin1')
  socket.on('connect', () => send(socket))
  socket.on('error', () => socket.destroy())
  socket.on('close', () => finish('the connection was closed'))
  socket.on('data', (text) => {
    received += String(text)
    if (load.hold === true) {
      if (opened < load.connections && received.includes('data: ')) {
        received = ''
        socket.removeAllListeners('data').on('data', () => {})
        if (++opened === load.connections) report()
        else if (opened + atOnce <= load.connections) open()
      } else if (isComplete(received)) {
        throw new Error(`a stream was not opened: ${received.slice(0, 2_000)}`)
      }
      return
    }
    if (!isComplete(received)) return
    check(received)
    received = ''
    send(socket)
  })
}

function send(socket: Socket): void {
  if (load.hold !== true && left-- <= 0) return
  socket.write(REQUEST, 'latin1')
}

function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1]
  if (length !== undefined) return text.length >= end + 4 + Number(length)
  return text.endsWith('\r\n0\r\n\r\n')
}

/** The body without chunk framing, which may split it anywhere. */
function contentOf(response: string): string {
  const start = response.indexOf('\r\n\r\n') + 4
  if (!/\r\ntransfer-encoding: *chunked/i.test(response.slice(0, start))) {
    return response.slice(start)
  }
  let content = ''
  for (let at = start; at < response.length; ) {
    const end = response.indexOf('\r\n', at)
    const size = Number.parseInt(response.slice(at, end), 16)
    content += response.slice(end + 2, end + 2 + size)
    at = end + 4 + size
  }
  return content
}

/** Checks the response, so that cheap but wrong responses do not count as fast. */
function check(response: string): void {
  const text = contentOf(response)
  const isGood =
    response.startsWith('HTTP/1.1 200') && load.wanted.every((word) => text.includes(word))
  const pieces = text.split('a word or two').length - 1
  if (isGood && pieces === 50) done++
  else {
    failed++
    sample = response.slice(0, 2_000)
  }
  if (done + failed === load.requests) report()
}

function finish(why: string): void {
  if (done + failed === load.requests || load.hold === true) return
  failed = load.requests - done
  sample ||= why
  report()
}

function report(): void {
  const result: ModelLoadResult = { done, failed, sample, opened }
  process.stdout.write(`${JSON.stringify(result)}\n`, () => {
    if (load.hold !== true) process.exit(0)
  })
}

if (load.hold === true) process.stdin.resume().on('end', () => process.exit(0))
