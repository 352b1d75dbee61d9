import type { Http2Stream } from 'node:http2'

/** What came of a stream, as it came: node:http2 tells of it only when somebody reads. */
export interface Arrival {
  /** Whether the peer said that this is all. A reset ends the stream for readers too. */
  isWhole: boolean
}

/**
 * Watches what is put into a stream. The end that END_STREAM makes comes while the stream is open;
 * the one that a reset makes, whatever its code, comes when it is closed. What came before anybody
 * was told of the stream is in it already.
 */
export function watchArrival(stream: Http2Stream, came: (octets: number) => void): Arrival {
  const arrival: Arrival = { isWhole: !stream.pending && stream.state.remoteClose === 1 }
  if (stream.readableLength > 0) came(stream.readableLength)
  const push = stream.push.bind(stream)
  stream.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (chunk !== null) came(chunk.length)
    else if (!stream.closed && !stream.destroyed) arrival.isWhole = true
    return push(chunk, encoding)
  }
  return arrival
}
