/** RFC 9113 §3.4: the first bytes of an HTTP/2 client. */
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Whether a connection begins with HTTP/2; undefined if more bytes are needed. */
export function isPreface(bytes: Buffer): boolean | undefined {
  const length = Math.min(bytes.length, PREFACE.length)
  if (PREFACE.compare(bytes, 0, length, 0, length) !== 0) return false
  return length === PREFACE.length ? true : undefined
}
