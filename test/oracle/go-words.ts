/** Go exposes trailers only if they were announced, and does not preserve the order of names. */
export function requestAsGo(text: string): string {
  const [method, path, host, lines, cookie, body] = JSON.parse(text)
  const fields = lines.filter((line: string) => line !== 'content-length: 0')
  if (cookie !== '') fields.push(`cookie: ${cookie}`)
  return JSON.stringify([method, path, host, fields.toSorted(), body])
}

/** A request as Go saw it, without its trailers. */
export const goRequest = (text: string): string => JSON.stringify(JSON.parse(text).slice(0, 5))
