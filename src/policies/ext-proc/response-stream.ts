import type { BodyFlow, BodyTransformer } from '../../exchange/body-part.ts'
import { immediateReply } from './changes.ts'
import type { Reply } from './messages.ts'
import type { Processing } from './processing.ts'

/** Bytes without a reply from the service beyond which reading the response pauses. */
const MAX_BEHIND = 16 << 20

/** Sends the body of a response through a service, chunk by chunk. */
export function responseStream(processing: Processing, flow: BodyFlow): BodyTransformer {
  const { session, timeout } = processing
  /** Chunks that the service received and has not replied to. */
  let sent: Uint8Array[] = []
  let behind = 0
  let isPaused = false
  let hasEnded = false
  /** Continue without the service. */
  let isOpen = false
  let isOver = false
  let timer: NodeJS.Timeout | undefined

  const finish = () => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    session?.end()
    flow.end()
  }

  const fail = (detail: string) => {
    if (isOver || isOpen) return
    clearTimeout(timer)
    const rejected = processing.failed(detail)
    if (rejected !== undefined) {
      isOver = true
      flow.fail(rejected)
      return
    }
    isOpen = true
    const kept = sent
    sent = []
    for (const bytes of kept) if (bytes.length > 0) flow.write(bytes)
    if (hasEnded) finish()
    else proceed()
  }

  // A service may read the whole body before it replies.
  const wait = () => {
    clearTimeout(timer)
    if (hasEnded) timer = setTimeout(() => fail('timeout'), timeout)
  }

  const proceed = () => {
    if (!isPaused || (behind > MAX_BEHIND && !isOpen)) return
    isPaused = false
    flow.drained()
  }

  const receive = (said: Reply) => {
    if (isOver || isOpen) return
    if (said.kind === 'failed') return fail(said.detail)
    if (said.kind === 'immediate') {
      isOver = true
      clearTimeout(timer)
      processing.stop()
      flow.fail(immediateReply(said))
      return
    }
    if (said.phase !== 'responseBody')
      return fail(`unexpected ${said.phase}, expected responseBody`)
    const { body } = said
    const [own = new Uint8Array()] = sent.splice(0, 1)
    behind -= own.length
    const bytes = body === undefined ? own : body.bytes
    if (bytes.length > 0) flow.write(bytes)
    // A streamed reply marks its own end; otherwise there is one reply per chunk.
    if (body?.isPiece === true ? body.endOfStream : hasEnded && sent.length === 0) finish()
    else {
      wait()
      proceed()
    }
  }

  session?.listen(receive)

  const send = (bytes: Uint8Array, endOfStream: boolean) => {
    sent.push(bytes)
    behind += bytes.length
    session?.send({ phase: 'responseBody', body: bytes, endOfStream })
    if (endOfStream) wait()
  }

  return {
    write(bytes) {
      if (isOver) return true
      if (isOpen) return flow.write(bytes)
      send(Buffer.from(bytes), false)
      isPaused = behind > MAX_BEHIND
      return !isPaused
    },
    end() {
      hasEnded = true
      if (isOpen) finish()
      else if (!isOver) send(new Uint8Array(), true)
    },
    resume() {
      if (isOpen) flow.drained()
    },
    abort() {
      isOver = true
      clearTimeout(timer)
      processing.stop()
    },
  }
}
