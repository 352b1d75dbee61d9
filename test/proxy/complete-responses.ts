/** Whether the text contains a complete response to each request, and the connection stays open. */
export function haveResponses(requests: string, text: string): boolean {
  const methods = [...requests.matchAll(/^([A-Z]+) \S+ HTTP\/1\.[01]\r$/gm)].map(([, own]) => own)
  let at = 0
  let head = ''
  for (const method of methods) {
    do {
      const end = text.indexOf('\r\n\r\n', at)
      if (end < 0) return false
      head = text.slice(at, end).toLowerCase()
      at = end + 4
    } while (/^http\/1\.1 1(?!01)/.test(head))
    at = endOfBody(head, method === 'HEAD', text, at)
    if (at < 0) return false
  }
  return methods.length > 0 && !/\r\nconnection: close/.test(head)
}

/** Where the body ends that begins at `at`; -1: not yet, or only with the connection. */
function endOfBody(head: string, isHead: boolean, text: string, at: number): number {
  const status = head.slice(9, 12)
  if (status === '101') return -1
  if (isHead || status === '204' || status === '304') return at
  if (head.includes('\r\ntransfer-encoding: chunked')) return endOfChunks(text, at)
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
  const end = length === undefined ? Number.POSITIVE_INFINITY : at + Number(length)
  return end <= text.length ? end : -1
}

function endOfChunks(text: string, begin: number): number {
  for (let at = begin; ; ) {
    const line = text.indexOf('\r\n', at)
    const size = line < 0 ? Number.NaN : Number.parseInt(text.slice(at, line), 16)
    if (Number.isNaN(size)) return -1
    if (size === 0) {
      const end = text.indexOf('\r\n\r\n', line)
      return end < 0 ? -1 : end + 4
    }
    at = line + 2 + size + 2
  }
}
