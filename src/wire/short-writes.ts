// HOT PATH: writes heads and short bodies to peers, two writes for each request. Guarded by
// bench/proxy.ts. Liberties: one Node request object serves all writes that complete synchronously.

import { Socket } from 'node:net'
import { getSystemErrorName } from 'node:util'

/*
 * A stream needs state, a callback and a tick for each write, which is more than a short plaintext
 * write needs: the kernel nearly always accepts it at once. So such writes go to the handle of the
 * socket. If any of its methods is missing, as it may be in another version of Node, or if the
 * socket is not plain TCP, has unsent data or is corked, the write goes through the stream, as all
 * others do.
 */

/** Node's object for a write in progress. */
interface WriteRequest {
  oncomplete?: (status: number) => void
  /** Keeps the bytes from being garbage-collected. */
  bytes?: Buffer | string
}

interface Handle {
  writeLatin1String(request: WriteRequest, text: string): number
  writeBuffer(request: WriteRequest, bytes: Buffer): number
}

interface StreamBinding {
  readonly WriteWrap: new () => WriteRequest
  readonly streamBaseState: Int32Array
  readonly kLastWriteWasAsync: number
}

interface TcpBinding {
  readonly TCP: new () => Handle
}

interface Capability {
  readonly stream: StreamBinding
  readonly tcp: TcpBinding
}

const CAPABILITY = capabilityOf(process)

function capabilityOf(own: object): Capability | undefined {
  const { binding } = own as { readonly binding?: (name: string) => unknown }
  if (typeof binding !== 'function') return undefined
  try {
    const stream = binding.call(own, 'stream_wrap') as StreamBinding
    const tcp = binding.call(own, 'tcp_wrap') as TcpBinding
    const { prototype } = tcp.TCP
    const isWhole =
      typeof stream.WriteWrap === 'function' &&
      stream.streamBaseState instanceof Int32Array &&
      stream.kLastWriteWasAsync < stream.streamBaseState.length &&
      typeof prototype.writeLatin1String === 'function' &&
      typeof prototype.writeBuffer === 'function'
    return isWhole ? { stream, tcp } : undefined
  } catch {
    return undefined
  }
}

let spare: WriteRequest | undefined

/** Short writes of one socket. */
export class ShortWrites {
  readonly #socket: Socket
  readonly #handle: Handle | undefined
  /** The kernel did not accept a write at once; later writes go through the stream. */
  #isUnderWay = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#handle = handleOf(socket)
  }

  /** Whether strings are sent without first being copied to a buffer, as TLS requires. */
  get takesText(): boolean {
    return this.#handle !== undefined
  }

  /** Whether everything that was written, here or to the socket, has been sent. */
  get isWritten(): boolean {
    return !this.#isUnderWay && this.#socket.writableLength === 0
  }

  /** Writes a latin1 string or bytes. False: wait for drain. Bytes are needed until `isWritten`. */
  write(bytes: Buffer | string): boolean {
    const handle = this.#handle
    if (handle !== undefined && !this.#isUnderWay && isFree(this.#socket))
      return this.#writeDirectly(handle, bytes)
    const socket = this.#socket
    return typeof bytes === 'string' ? socket.write(bytes, 'latin1') : socket.write(bytes)
  }

  #writeDirectly(handle: Handle, bytes: Buffer | string): boolean {
    const { stream } = CAPABILITY as Capability
    const request = spare ?? new stream.WriteWrap()
    spare = undefined
    const error =
      typeof bytes === 'string'
        ? handle.writeLatin1String(request, bytes)
        : handle.writeBuffer(request, bytes)
    if (error !== 0) this.#fail(error)
    else if (stream.streamBaseState[stream.kLastWriteWasAsync] === 0) spare = request
    else {
      this.#isUnderWay = true
      request.bytes = bytes
      request.oncomplete = this.#completed
    }
    return error === 0
  }

  readonly #completed = (status: number): void => {
    this.#isUnderWay = false
    if (status < 0) this.#fail(status)
  }

  #fail(status: number): void {
    if (this.#socket.destroyed) return
    const code = getSystemErrorName(status)
    this.#socket.destroy(Object.assign(new Error(`write ${code}`), { code, syscall: 'write' }))
  }
}

function handleOf(socket: Socket): Handle | undefined {
  const { _handle: handle } = socket as { readonly _handle?: unknown }
  if (CAPABILITY === undefined || socket.constructor !== Socket) return undefined
  return handle instanceof CAPABILITY.tcp.TCP ? handle : undefined
}

/** Whether the stream has no pending data or state that a direct write would bypass. */
function isFree(socket: Socket): boolean {
  return (
    socket.writableLength === 0 &&
    socket.writableCorked === 0 &&
    !socket.destroyed &&
    !socket.writableEnded &&
    !socket.connecting
  )
}
