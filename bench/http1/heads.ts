/** Typical heads: of a load generator, of a browser, and with tokens, in 16 variants each. */
export const REQUESTS: ReadonlyMap<string, readonly Buffer[]> = new Map(
  (
    [
      ['small', [], 0],
      [
        'browser',
        [
          'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
          'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
          'Accept-Language: en-US,en;q=0.5',
          'Accept-Encoding: gzip, deflate, br, zstd',
          'Referer: https://api.example.com/items/overview',
          'Cookie: session=0123456789abcdef0123456789abcdef; theme=dark',
          'Sec-Fetch-Dest: document',
          'Sec-Fetch-Mode: navigate',
          'Sec-Fetch-Site: same-origin',
          'Connection: keep-alive',
        ],
        0,
      ],
      ['token', ['User-Agent: client/1.0', 'Accept: application/json'], 900],
    ] as const
  ).map(([name, lines, token]) => {
    const heads = Array.from({ length: 16 }, (_, i) => requestHead(i, lines, token))
    return [`${name}, ${heads[0]?.length} bytes`, heads]
  }),
)

function requestHead(i: number, lines: readonly string[], token: number): Buffer {
  const authorization =
    token === 0 ? [] : [`Authorization: Bearer ${'eyJhbGci0iJS'.repeat(token / 12)}`]
  const all = [
    `GET /api/v1/items/${1000 + i * 37}?page=${i} HTTP/1.1`,
    'Host: api.example.com',
    ...lines,
    ...authorization,
    'X-Env: prod',
  ]
  return Buffer.from(`${all.join('\r\n')}\r\n\r\n`, 'latin1')
}

export const RESPONSES: readonly Buffer[] = Array.from({ length: 16 }, (_, i) => {
  const lines = [
    'HTTP/1.1 200 OK',
    'Server: upstream',
    'Date: Sun, 06 Nov 1994 08:49:37 GMT',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${100 + i}`,
    'Connection: keep-alive',
    'ETag: "0123456789abcdef"',
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
})
