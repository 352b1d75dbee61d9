import assert from 'node:assert/strict'
import type { Running } from '../proxy/running.ts'

/** The flag of a process whose memory `liveMemoryOf` reads. */
export const INSPECTED = '--inspect=127.0.0.1:0'

export interface LiveMemory {
  /** Bytes that are left after a collection, in V8's heap and in buffers outside of it. */
  readonly bytes: () => Promise<number>
  readonly close: () => void
}

/** The memory of a process that was started with INSPECTED. */
export async function liveMemoryOf({ out }: Running): Promise<LiveMemory> {
  const [url] = /ws:\/\/127\.0\.0\.1:\d+\/\S+/.exec(out()) ?? []
  assert.ok(url !== undefined, 'the process is not inspected')
  const socket = new WebSocket(url)
  const pending = new Map<number, (result: unknown) => void>()
  let requestCount = 0
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data))
    pending.get(id)?.(result)
    pending.delete(id)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  const send = (method: string, params: object = {}) =>
    new Promise((resolve) => {
      const id = ++requestCount
      pending.set(id, resolve)
      socket.send(JSON.stringify({ id, method, params }))
    })
  return {
    bytes: async () => {
      await send('HeapProfiler.collectGarbage')
      const expression = 'const { heapUsed, external } = process.memoryUsage(); heapUsed + external'
      const reply = await send('Runtime.evaluate', { expression: `{ ${expression} }` })
      const { result } = reply as { readonly result: { readonly value: number } }
      assert.equal(typeof result.value, 'number')
      return result.value
    },
    close: () => socket.close(),
  }
}
