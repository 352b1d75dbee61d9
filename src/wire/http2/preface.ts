/** RFC 9113 §3.4: what a client that knows of HTTP/2 sends first. */
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Whether a connection begins with HTTP/2; undefined where that needs more of it. */
export function isPreface(bytes: Buffer): boolean | undefined {
  const length = Math.min(bytes.length, PREFACE.length)
  if (PREFACE.compare(bytes, 0, length, 0, length) !== 0) return false
  return length === PREFACE.length ? true : undefined
}
