import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, it } from 'node:test'
import { AnyMethodServer } from './any-method.ts'

describe('the stand-in server for a backend', () => {
  const seen: string[] = []
  const server = new AnyMethodServer(async (method, request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    seen.push(`${method} ${request.url} ${body}`)
    response.end('ok')
  })
  const listening = server.listen()
  after(() => server.close())

  /** Sends the pieces one by one. */
  async function ask(...pieces: readonly string[]): Promise<string> {
    const socket = connect(await listening, '127.0.0.1')
    socket.setNoDelay(true)
    const closed = once(socket, 'close')
    let text = ''
    socket.on('data', (bytes) => {
      text += String(bytes)
    })
    for (const piece of pieces) {
      socket.write(piece)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await closed
    return text.slice(0, text.indexOf('\r\n'))
  }

  for (const method of ['GET', 'PURGE', 'PROXY', 'FOO', 'a-B_c'])
    for (const at of [0, 1, method.length, method.length + 3])
      it(`takes ${method}, cut after ${at} bytes`, async () => {
        const text = `${method} /x HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody`
        assert.equal(await ask(text.slice(0, at), text.slice(at)), 'HTTP/1.1 200 OK')
        assert.equal(seen.at(-1), `${method} /x body`)
      })

  it('reads chunked bodies of methods that Node does not know', async () => {
    const head = 'FOO /y HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'
    assert.equal(await ask(head, '2\r\nab\r\n', '0\r\n\r\n'), 'HTTP/1.1 200 OK')
    assert.equal(seen.at(-1), 'FOO /y ab')
  })
})
