import { createServer } from 'node:net'

/*
 * The backend if nginx is not installed: responds by path to each head that ends a segment. This
 * is enough for the bench, whose requests are never split and have no body.
 */

const END = '\r\n\r\n'
const responses = new Map<string, Buffer>()

createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes) => {
    const heads = bytes.toString('latin1').split(END).slice(0, -1)
    for (const head of heads) socket.write(responseTo(head.split(' ', 2)[1] ?? '/'))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')

function responseTo(path: string): Buffer {
  const known = responses.get(path)
  if (known !== undefined) return known
  const size = /^\/body\/(\d{1,8})$/.exec(path)?.[1]
  const body = size === undefined ? 'ok' : 'x'.repeat(Number(size))
  const made = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}${END}${body}`)
  if (responses.size < 16) responses.set(path, made)
  return made
}
