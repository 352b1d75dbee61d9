import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { after, describe, it } from 'node:test'
import { acceptingPort, free, httpListener, programOf } from '../../test/proxy/accepting.ts'
import { exchange, listen } from '../../test/proxy/harness.ts'

const GET = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
const opened: { close: () => unknown }[] = []
after(() => Promise.all(opened.map((own) => own.close())))

async function start(options: Parameters<typeof acceptingPort>[0] = {}) {
  const own = await acceptingPort(options)
  opened.push(own)
  return own
}

describe('ports', () => {
  it('serve on IPv4 and IPv6', async () => {
    const { listeners, upstream } = await start()
    const port = await free()
    assert.deepEqual(await listeners.swap(programOf([httpListener(port, upstream)])), [])
    assert.match(await exchange(port, GET, 'hello'), /^HTTP\/1.1 200/)
    const socket = connect(port, '::1')
    await once(socket, 'connect')
    socket.destroy()
  })

  it('keep connections of unchanged ports in a swap and close the others', async () => {
    const { listeners, upstream } = await start()
    const [one, two, three] = [await free(), await free(), await free()]
    await listeners.swap(programOf([httpListener(one, upstream), httpListener(two, upstream)]))
    const stays = connect(one, '127.0.0.1')
    const goes = connect(two, '127.0.0.1')
    await Promise.all([responded(stays), responded(goes)])
    const gone = once(goes, 'close')
    goes.resume()
    await listeners.swap(programOf([httpListener(one, upstream), httpListener(three, upstream)]))
    await gone
    await responded(stays)
    stays.destroy()
    assert.match(await exchange(three, GET, 'hello'), /^HTTP\/1.1 200/)
    await assert.rejects(once(connect(two, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
  })

  it('report a port in use with its place, and change nothing', async () => {
    const { listeners, upstream } = await start()
    const other = createServer()
    const taken = await listen(other)
    opened.push({ close: () => other.close() })
    const [before, port] = await Promise.all([free(), free()])
    await listeners.swap(programOf([httpListener(before, upstream)]))
    const swap = programOf([httpListener(taken, upstream), httpListener(port, upstream)])
    const [failure, ...rest] = await listeners.swap(swap)
    assert.equal(rest.length, 0)
    assert.equal(failure?.word, 'EADDRINUSE')
    assert.equal(failure?.message, `port ${taken} is already in use`)
    assert.equal(failure?.origin.kind, 'part')
    await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
    assert.match(await exchange(before, GET, 'hello'), /^HTTP\/1.1 200/)
    other.close()
    assert.deepEqual(await listeners.swap(swap), [])
    assert.match(await exchange(port, GET, 'hello'), /^HTTP\/1.1 200/)
    assert.match(await exchange(taken, GET, 'hello'), /^HTTP\/1.1 200/)
  })

  it('treat a port in use on IPv6 only as in use', async () => {
    const { listeners, upstream } = await start()
    const other = createServer()
    const port = await free()
    await new Promise<void>((done) => {
      other.listen({ port, host: '::', ipv6Only: true }, done)
    })
    const [failure] = await listeners.swap(programOf([httpListener(port, upstream)]))
    assert.equal(failure?.word, 'EADDRINUSE')
    await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
    await new Promise((closed) => other.close(closed))
    assert.deepEqual(await listeners.swap(programOf([httpListener(port, upstream)])), [])
    assert.match(await exchange(port, GET, 'hello'), /^HTTP\/1.1 200/)
  })

  it('draining closes idle connections and waits for active requests', async () => {
    const { listeners, upstream, hold } = await start({ grace: 5_000 })
    const port = await free()
    await listeners.swap(programOf([httpListener(port, upstream)]))
    const idle = connect(port, '127.0.0.1')
    await responded(idle)
    const release = hold()
    const busy = connect(port, '127.0.0.1')
    let text = ''
    busy.on('data', (data) => (text += data))
    busy.write(GET)
    await release.asked
    const closed = once(idle, 'close')
    idle.resume()
    const drained = listeners.drain(2_000)
    await closed
    release()
    assert.equal(await drained, 0)
    assert.match(text, /connection: close/)
    assert.match(text, /hello$/)
  })

  it('draining responds to a request that arrives on an idle connection at that moment', async () => {
    const { listeners, upstream } = await start()
    const port = await free()
    await listeners.swap(programOf([httpListener(port, upstream)]))
    const idle = connect(port, '127.0.0.1')
    await responded(idle)
    let text = ''
    idle.on('data', (data) => (text += data))
    const closed = once(idle, 'close')
    const drained = listeners.drain(2_000)
    idle.write(GET)
    await closed
    assert.equal(await drained, 0)
    assert.match(text, /^HTTP\/1.1 200.*connection: close.*hello$/s)
  })

  it('connections left at the deadline are closed', async () => {
    const { listeners, upstream, hold, counts } = await start()
    const port = await free()
    await listeners.swap(programOf([httpListener(port, upstream)]))
    const release = hold()
    const busy = connect(port, '127.0.0.1')
    busy.on('error', () => {})
    const closed = once(busy, 'close')
    busy.resume()
    busy.write(GET)
    await release.asked
    assert.equal(await listeners.drain(100), 1)
    await closed
    release()
    assert.equal(counts.total, 0)
  })
})

async function responded(socket: ReturnType<typeof connect>): Promise<void> {
  socket.write(GET)
  let text = ''
  await new Promise<void>((resolve) => {
    const read = (data: Buffer) => {
      text += data
      if (!text.endsWith('hello')) return
      socket.off('data', read)
      resolve()
    }
    socket.on('data', read)
  })
}
